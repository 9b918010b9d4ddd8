"""A trained model with everything that a prediction needs: weights, vocabulary, lexicon and how text was prepared.

config.json, model.safetensors   the model (`transformers` format)
vocabulary.json                  the characters of the encoder
lexicon.tsv                      the words, senses and sememes (only for models with senses)
preparation.json                 segmenters with their versions, what happens to blanks and to long sentences
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self, get_args

import torch
from transformers import PretrainedConfig, PreTrainedModel
from transformers.utils import logging

from letgraph.data.collate import Collator
from letgraph.errors import DataError, LetgraphError
from letgraph.models import MODELS
from letgraph.text.clean import DEFAULT_MAX_CHARACTERS, Blanks
from letgraph.text.lexicon import Lexicon, load_lexicon
from letgraph.text.segment import load_segmenter
from letgraph.text.sememes import SememeVectors, vectors_for
from letgraph.text.vocabulary import CharVocabulary

_MEND = "give a folder that letgraph.train wrote, or train again"


@dataclass(frozen=True)
class Preparation:
    """How sentences become graphs: segmenters and their versions, what happens to blanks, and after how many characters
    sentences are cut off."""

    segmenters: tuple[str, ...]
    blanks: Blanks = "collapse"
    versions: dict[str, str] = field(default_factory=dict)
    max_characters: int = DEFAULT_MAX_CHARACTERS

    @classmethod
    def current(cls, segmenters: tuple[str, ...]) -> Self:
        """With the segmenters that are installed here."""
        return cls(segmenters, versions={name: load_segmenter(name).version for name in segmenters})

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Of what `save` has written. Raises TypeError for anything else."""
        preparation = cls(**values)
        names, versions = preparation.segmenters, preparation.versions
        if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
            raise TypeError("no names of segmenters")
        if not isinstance(versions, dict) or not all(isinstance(version, str) for version in versions.values()):
            raise TypeError("no versions of segmenters")
        if preparation.blanks not in get_args(Blanks):
            raise TypeError(f"blanks {preparation.blanks!r}")
        if not isinstance(preparation.max_characters, int) or preparation.max_characters < 1:
            raise TypeError(f"max_characters {preparation.max_characters!r}")
        return replace(preparation, segmenters=tuple(names))

    def check_versions(self) -> None:
        """Warn on stderr about segmenters that are not the ones the model was trained with."""
        for name, version in self.versions.items():
            here = load_segmenter(name).version
            if here != version:
                print(
                    f"warning: segmenter {name} is {here} here; the model was trained with {version}", file=sys.stderr
                )


@dataclass(frozen=True)
class Checkpoint:
    model: PreTrainedModel
    vocabulary: CharVocabulary
    lexicon: Lexicon | None
    preparation: Preparation

    @classmethod
    def create(
        cls,
        config: PretrainedConfig,
        vocabulary: CharVocabulary,
        lexicon: Lexicon | None,
        vectors: SememeVectors | None,
        preparation: Preparation,
    ) -> Self:
        """A new model, its weights drawn from torch's global generator; the sizes in ``config`` that follow from the
        vocabulary, the lexicon and its vectors are set here. Raises `LetgraphError` where the encoder has too few
        positions for the longest sentences of ``preparation``."""
        _check_positions(config.max_positions, preparation)
        config.vocab_size = len(vocabulary)
        if lexicon is not None:
            matched = vectors_for(lexicon, vectors) if vectors else None
            config.num_senses, config.num_sememes = lexicon.num_senses, lexicon.num_sememes
            config.num_links = len(lexicon.sense_sememes.values)
            config.lexicon_hash = lexicon.hash
            if matched is not None:
                config.num_known_sememes, config.sememe_size = int(matched[1].sum()), matched[0].shape[1]
        model: Any = MODELS[config.model_type](config)
        if lexicon is not None:
            model.senses.load_lexicon(
                torch.from_numpy(lexicon.sense_sememes.offsets), torch.from_numpy(lexicon.sense_sememes.values)
            )
            if matched is not None:
                model.senses.sememes.load_vectors(torch.from_numpy(matched[0]), torch.from_numpy(matched[1]))
        return cls(model, vocabulary, lexicon, preparation)

    @property
    def collator(self) -> Collator:
        """What builds this model's batches."""
        config = self.model.config
        sememes = self.lexicon.sense_sememes if config.needs_sememe_nodes and self.lexicon else None
        return Collator(self.vocabulary, sense_sememes=sememes, **config.graph_options)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write all files into ``folder``; each appears whole or not at all."""
        folder = Path(folder)
        unfinished = folder / ".unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        self.vocabulary.save(unfinished / "vocabulary.json")
        if self.lexicon is not None:
            self.lexicon.save(unfinished / "lexicon.tsv")
        text = json.dumps(asdict(self.preparation), ensure_ascii=False, indent=1)
        (unfinished / "preparation.json").write_text(text, encoding="utf-8")
        self.model.save_pretrained(unfinished)
        # safetensors lets nobody but the owner read what it writes, whatever the umask.
        (unfinished / "model.safetensors").chmod((unfinished / "preparation.json").stat().st_mode)
        for path in sorted(unfinished.iterdir()):
            os.replace(path, folder / path.name)
        unfinished.rmdir()

    @classmethod
    def load(cls, folder: str | os.PathLike[str], lexicon: Lexicon | None = None) -> Self:
        """Read what `save` wrote; the model is in evaluation mode.

        ``lexicon``: only checked against the one that the model was trained with. Raises `LetgraphError`, one line, for
        a folder that is something else, a truncated file, or another lexicon.
        """
        folder = Path(folder)
        kind = _read_json(folder / "config.json").get("model_type")
        if not isinstance(kind, str) or kind not in MODELS:
            known = ", ".join(MODELS)
            raise DataError(folder / "config.json", None, f"model type {kind!r} is not one of ours ({known})", _MEND)
        try:
            preparation = Preparation.from_json(_read_json(folder / "preparation.json"))
        except TypeError as error:
            raise DataError(folder / "preparation.json", None, f"not what we write ({error})", _MEND) from None
        model = _load_model(folder, MODELS[kind])
        _check_positions(model.config.max_positions, preparation)
        trained_with = model.config.lexicon_hash
        if lexicon is not None and trained_with is None:
            raise LetgraphError(f"{folder} was trained without senses; leave out --hownet")
        if lexicon is not None and lexicon.hash != trained_with:
            raise LetgraphError(
                f"{folder} was trained with lexicon {str(trained_with)[:12]}, not with {lexicon.source} "
                f"({lexicon.hash[:12]}); leave out --hownet to use its own copy, or train with the other lexicon"
            )
        if trained_with is not None:
            lexicon = _load_lexicon(folder / "lexicon.tsv")
            if lexicon.hash != trained_with:
                raise DataError(folder / "lexicon.tsv", None, "not the lexicon the model was trained with", _MEND)
        vocabulary = CharVocabulary.load(folder / "vocabulary.json")
        if len(vocabulary) != model.config.vocab_size:
            raise DataError(folder / "vocabulary.json", None, "not the vocabulary the model was trained with", _MEND)
        return cls(model, vocabulary, lexicon, preparation)


def _check_positions(max_positions: int | None, preparation: Preparation) -> None:
    needed = preparation.max_characters + 2
    if max_positions is not None and max_positions < needed:
        raise LetgraphError(
            f"max_positions {max_positions}: sentences have up to {preparation.max_characters} characters and "
            f"two special tokens; it has to be {needed} or more"
        )


def _load_lexicon(path: Path) -> Lexicon:
    if not path.is_file():
        raise DataError(path, None, "no such file", _MEND)
    return load_lexicon(path)


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


def _read_json(path: Path) -> dict:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(path, None, f"cannot be read ({error.strerror})", _MEND) from None
    except ValueError as error:
        raise DataError(path, None, f"not JSON ({error})", _MEND) from None
    if not isinstance(value, dict):
        raise DataError(path, None, "not a JSON object", _MEND)
    return value
