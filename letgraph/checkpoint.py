"""A trained model with everything that a prediction needs: weights, vocabulary, lexicon and how text was prepared.

config.json, model.safetensors   the model (`transformers` format)
vocabulary.json                  the characters, or the word pieces, of the encoder, or its tokenizer
lexicon.tsv                      the words, senses and sememes (only for models that read them)
preparation.json                 segmenters with their versions, and what happens to text: see `Preparation`
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from transformers import PretrainedConfig, PreTrainedModel
from transformers.utils import logging

from letgraph.data.collate import Collator
from letgraph.errors import DataError, LetgraphError
from letgraph.models import MODELS
from letgraph.preparation import Preparation
from letgraph.text.clean import Width
from letgraph.text.lexicon import Lexicon, load_lexicon
from letgraph.text.sememes import SememeVectors, vectors_for
from letgraph.text.triples import Triples
from letgraph.text.vocabulary import Vocabulary, load_vocabulary

_MEND = "give a folder that letgraph.train wrote, or letgraph.convert with --vocab and --hownet; or train again"


@dataclass(frozen=True)
class Checkpoint:
    model: PreTrainedModel
    vocabulary: Vocabulary
    lexicon: Lexicon | None
    preparation: Preparation

    @classmethod
    def create(
        cls,
        config: PretrainedConfig,
        vocabulary: Vocabulary,
        lexicon: Lexicon | None,
        sememe_vectors: SememeVectors | None,
        preparation: Preparation,
    ) -> Self:
        """A new model, its weights drawn from torch's global generator; the sizes in ``config`` that follow from the
        vocabulary, the lexicon and its vectors are set here. Raises `LetgraphError` where the encoder has too few
        positions for the longest sentences of ``preparation``."""
        config.vocab_size, config.pad_token_id = len(vocabulary), vocabulary.pad
        if lexicon is not None:
            config.lexicon_hash = lexicon.hash
        if lexicon is not None and config.senses:
            matched = vectors_for(lexicon, sememe_vectors) if sememe_vectors else None
            dummies = config.num_dummies
            config.num_senses, config.num_sememes = lexicon.num_senses, lexicon.num_sememes + dummies
            config.num_links = len(lexicon.sense_sememes.values)
            if matched is not None:
                config.num_known_sememes, config.sememe_size = int(matched[1].sum()), matched[0].shape[1]
        model: Any = MODELS[config.model_type](config)
        if lexicon is not None and config.senses:
            model.senses.load_lexicon(
                torch.from_numpy(lexicon.sense_sememes.offsets), torch.from_numpy(lexicon.sense_sememes.values)
            )
            if matched is not None:
                # The dummy, sememe 0, has no pre-trained vector.
                vectors, known = (np.concatenate([np.zeros_like(part[:dummies]), part]) for part in matched)
                model.senses.sememes.load_vectors(torch.from_numpy(vectors), torch.from_numpy(known))
        checkpoint = cls(model, vocabulary, lexicon, preparation)
        checkpoint.check_positions()
        return checkpoint

    @property
    def collator(self) -> Collator:
        """What builds this model's batches."""
        config = self.model.config
        sememes = self.lexicon.sense_sememes if config.needs_sememe_nodes and self.lexicon else None
        return Collator(
            self.vocabulary,
            sense_sememes=sememes,
            triples=self._triples,
            max_tokens=self.preparation.max_tokens,
            **config.graph_options,
        )

    @cached_property
    def _triples(self) -> Triples | None:
        """What the model injects into sentences, where it does."""
        config = self.model.config
        if self.lexicon is None or not config.graph_options.get("max_triples"):
            return None
        lexicon = self.lexicon
        return Triples.of(lexicon.sense_sememes, lexicon.sememes, self.vocabulary, config.predicate)

    def check_positions(self) -> None:
        """Raises `LetgraphError` where the encoder has too few positions for what `preparation` lets through."""
        config = self.model.config
        branch = self._triples.longest if self._triples else 0
        self.preparation.check_positions(config.max_positions, config.positions, branch)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write all files into ``folder``; each appears whole or not at all."""
        with _whole_files(Path(folder)) as unfinished:
            self.vocabulary.save(unfinished / "vocabulary.json")
            if self.lexicon is not None:
                self.lexicon.save(unfinished / "lexicon.tsv")
            text = json.dumps(asdict(self.preparation), ensure_ascii=False, indent=1)
            (unfinished / "preparation.json").write_text(text, encoding="utf-8")
            self.model.save_pretrained(unfinished)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], lexicon: Lexicon | None = None) -> Self:
        """Read what `save` wrote; the model is in evaluation mode.

        ``lexicon``: only checked against the one that the model was trained with. Raises `LetgraphError`, one line, for
        a folder that is something else, a truncated file, or another lexicon.
        """
        folder = Path(folder)
        kind = read_json(folder / "config.json").get("model_type")
        if not isinstance(kind, str) or kind not in MODELS:
            known = ", ".join(MODELS)
            raise DataError(folder / "config.json", None, f"model type {kind!r} is not one of ours ({known})", _MEND)
        try:
            preparation = Preparation.from_json(read_json(folder / "preparation.json"))
        except TypeError as error:
            raise DataError(folder / "preparation.json", None, f"not what we write ({error})", _MEND) from None
        model = _load_model(folder, MODELS[kind])
        trained_with, own = model.config.lexicon_hash, None
        if trained_with is not None:
            own = _load_lexicon(folder / "lexicon.tsv", preparation.width)
            if own.hash != trained_with:
                raise DataError(folder / "lexicon.tsv", None, "not the lexicon the model was trained with", _MEND)
        vocabulary = load_vocabulary(folder / "vocabulary.json")
        if len(vocabulary) != model.config.vocab_size:
            raise DataError(folder / "vocabulary.json", None, "not the vocabulary the model was trained with", _MEND)
        checkpoint = cls(model, vocabulary, own, preparation)
        checkpoint.check_positions()
        checkpoint.check_lexicon(lexicon, folder)
        return checkpoint

    def check_lexicon(self, lexicon: Lexicon | None, folder: str | os.PathLike[str]) -> None:
        """Raises `LetgraphError` where ``lexicon`` is another one than the model in ``folder`` was trained with."""
        trained_with = self.model.config.lexicon_hash
        if lexicon is not None and trained_with is None:
            raise LetgraphError(f"{folder} was trained without senses; leave out --hownet")
        if lexicon is not None and lexicon.hash != trained_with:
            raise LetgraphError(
                f"{folder} was trained with lexicon {str(trained_with)[:12]}, not with {lexicon.source} "
                f"({lexicon.hash[:12]}); leave out --hownet to use its own copy, or train with the other lexicon"
            )


def save_model(model: PreTrainedModel, folder: str | os.PathLike[str]) -> None:
    """Write config.json and model.safetensors only, for `from_pretrained` and not for `Checkpoint.load`."""
    with _whole_files(Path(folder)) as unfinished:
        model.save_pretrained(unfinished)


@contextmanager
def _whole_files(folder: Path) -> Iterator[Path]:
    """A place to write files that appear in ``folder``, each whole, when all are written."""
    unfinished = folder / ".unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    yield unfinished
    # safetensors lets nobody but the owner read what it writes, whatever the umask.
    (unfinished / "model.safetensors").chmod((unfinished / "config.json").stat().st_mode)
    for path in sorted(unfinished.iterdir()):
        os.replace(path, folder / path.name)
    unfinished.rmdir()


def _load_lexicon(path: Path, width: Width) -> Lexicon:
    if not path.is_file():
        raise DataError(path, None, "no such file", _MEND)
    return load_lexicon(path, width=width)


def _load_model(folder: Path, model_class: type[PreTrainedModel]) -> PreTrainedModel:
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise DataError(weights, None, "no such file", _MEND)
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        loaded: Any = model_class.from_pretrained(folder, output_loading_info=True, local_files_only=True)
    except Exception as error:  # a foreign configuration can make any part of the model fail, each in its own way
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise DataError(weights, None, f"cannot be read ({reason})", _MEND) from error
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
    model, report = loaded
    wrong = {what: report[what] for what in ("missing_keys", "unexpected_keys", "mismatched_keys") if report[what]}
    if wrong:
        raise DataError(weights, None, f"does not fit config.json ({', '.join(wrong)})", _MEND)
    return model.eval()


def read_json(path: Path, mend: str = _MEND) -> dict[str, Any]:
    """The JSON object of a file. Raises `DataError`, with ``mend``, for anything else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(path, None, f"cannot be read ({error.strerror})", mend) from None
    except ValueError as error:
        raise DataError(path, None, f"not JSON ({error})", mend) from None
    if not isinstance(value, dict):
        raise DataError(path, None, "not a JSON object", mend)
    return value
