"""Pre-trained encoders by path or by name on the Hugging Face hub: their tokenizers, configurations and weights."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from torch import Tensor
from transformers import AutoConfig, AutoModel, AutoTokenizer, PretrainedConfig, PreTrainedModel
from transformers.utils import logging

from letgraph.errors import LetgraphError
from letgraph.nn.encoder import first_position
from letgraph.ragged import Ragged
from letgraph.text.tokenizer import TokenizerVocabulary

MOST_UNKNOWN = 1 / 3
"""A tokenizer that knows less of a corpus has no Chinese."""

_MEND = "give a folder with config.json, model.safetensors and tokenizer.json, or a name on the hub"


@dataclass(frozen=True)
class PretrainedEncoder:
    """``name`` as the user gave it; ``vocabulary``: its tokenizer; ``config``: of `transformers`; ``weights`` by name;
    ``first_position``: the number of the first of its positions."""

    name: str
    vocabulary: TokenizerVocabulary
    config: PretrainedConfig
    weights: Mapping[str, Tensor]
    first_position: int

    @property
    def settings(self) -> dict[str, Any]:
        """What a model's configuration has to know of it."""
        return {
            "encoder_config": self.config.to_dict(),
            "encoder_size": self.config.hidden_size,
            "max_positions": self.config.max_position_embeddings - self.first_position,
        }

    def load_into(self, encoder: PreTrainedModel) -> list[str]:
        """Copy the weights into an encoder of the same configuration; returns the names of what stays as it is, which
        can only be a pooler."""
        report = encoder.load_state_dict(self.weights, strict=False)
        lacking = [name for name in report.missing_keys if not name.startswith("pooler.")]
        if lacking:
            raise LetgraphError(f"encoder {self.name} lacks {len(lacking)} of its weights, {lacking[0]} first; {_MEND}")
        return report.missing_keys

    def check_chinese(self, chars: Ragged, most: int = 10_000) -> None:
        """Raises `LetgraphError` where the tokenizer knows too little of the first ``most`` sentences."""
        tokens = self.vocabulary.tokens(chars.take(np.arange(min(len(chars), most))))
        ids, characters = tokens.ids.values, len(tokens.of_char.values)
        unknown = 0.0 if self.vocabulary.knows_every_text else float((ids == self.vocabulary.unk).mean())
        if unknown > MOST_UNKNOWN:
            problem = f"{unknown:.0%} of the corpus's tokens are [UNK]"
        elif len(ids) > 1.5 * characters:
            problem = f"it makes {len(ids) / characters:.1f} tokens of a character"
        else:
            return
        raise LetgraphError(f"encoder {self.name}: its vocabulary has no Chinese ({problem}); choose a Chinese encoder")


def open_encoder(name: str) -> PretrainedEncoder:
    """Tokenizer, configuration and weights of an encoder: a folder, or a name on the hub, from which it is downloaded
    at the first time.

    Raises `LetgraphError` where it is missing, is no encoder, has no safetensors, or has a tokenizer without offsets.
    """
    folder = name if Path(name).is_dir() else _from_hub(name)
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        vocabulary = _vocabulary(name, folder)
        config, model, new = _model(name, folder)
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
    rows = getattr(config, "vocab_size", len(vocabulary))
    if len(vocabulary) > rows:
        raise LetgraphError(
            f"encoder {name}: its tokenizer has {len(vocabulary):,} tokens and its weights have vectors for {rows:,}; "
            "give a folder where both belong together"
        )
    weights = {key: value for key, value in model.state_dict().items() if key not in new}
    return PretrainedEncoder(name, vocabulary, config, weights, first_position(model))


def _from_hub(name: str) -> str:
    """The folder of a name's files in the hub's cache."""
    options: Any = {"allow_patterns": [*FILES, *TOKENIZER_FILES]}
    try:
        return snapshot_download(name, local_files_only=True, **options)
    except HFValidationError:
        raise LetgraphError(f"encoder {name}: no such folder, and no name on the hub either; {_MEND}") from None
    except OSError:
        print(f"encoder {name} is neither a folder nor in the cache; asking the Hugging Face hub", file=sys.stderr)
    try:
        return snapshot_download(name, **options)
    except (OSError, HfHubHTTPError) as error:
        raise LetgraphError(
            f"encoder {name}: there is no such folder, and the hub does not give it ({_line(error)}); check the name "
            "and the network, or bring its files and give their folder"
        ) from error


TOKENIZER_FILES = ("tokenizer.json", "vocab*", "*.model")
FILES = ("config.json", "model*.safetensors*", "tokenizer_config.json", "special_tokens_map.json", "merges.txt")
"""What an encoder is made of, and its tokenizer."""


def _vocabulary(name: str, folder: str) -> TokenizerVocabulary:
    # `transformers` makes a tokenizer of nothing where there are no files.
    if not any(path for pattern in TOKENIZER_FILES for path in Path(folder).glob(pattern)):
        raise LetgraphError(f"encoder {name}: it has no tokenizer (tokenizer.json or vocab.txt); {_MEND}")
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # each kind of tokenizer fails in its own way
        raise _cannot(name, "tokenizer", error) from error
    if not tokenizer.is_fast:
        raise LetgraphError(
            f"encoder {name}: {type(tokenizer).__name__} does not tell where its tokens lie in the text; "
            "give an encoder with a fast tokenizer (tokenizer.json)"
        )
    try:
        return TokenizerVocabulary(tokenizer.backend_tokenizer, tokenizer.pad_token_id or 0, tokenizer.unk_token_id)
    except ValueError as error:
        raise LetgraphError(f"encoder {name}: its tokenizer cannot be used: {error}; choose another encoder") from None


def _model(name: str, folder: str) -> tuple[PretrainedConfig, PreTrainedModel, set[str]]:
    """Configuration, model, and the names of weights that are not in the files."""
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        model, report = AutoModel.from_pretrained(
            folder, dtype=torch.float32, use_safetensors=True, local_files_only=True, output_loading_info=True
        )
    except Exception as error:  # see `_vocabulary`
        if any(Path(folder).glob("*.bin")) and not any(Path(folder).glob("*.safetensors")):
            raise LetgraphError(
                f"encoder {name}: its weights are pickled (pytorch_model.bin), and a pickle can carry anything; if you "
                "trust it, convert them to safetensors, by from_pretrained and save_pretrained of transformers, and "
                "give that folder"
            ) from None
        raise _cannot(name, "model", error) from error
    if config.is_encoder_decoder or getattr(config, "is_decoder", False):
        raise LetgraphError(f"encoder {name}: {config.model_type} is no encoder; choose BERT or one of its kind")
    try:
        _ = config.hidden_size, config.max_position_embeddings
    except AttributeError as error:
        raise LetgraphError(f"encoder {name}: {config.model_type} cannot be used ({error})") from None
    return config, model, set(report["missing_keys"])


def _cannot(name: str, part: str, error: Exception) -> LetgraphError:
    return LetgraphError(f"encoder {name}: its {part} cannot be loaded ({_line(error)}); {_MEND}")


def _line(error: Exception) -> str:
    """Its first line."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
