"""A model small enough to be made in a test: its scores mean nothing, but everything a trained one has is there."""

from __future__ import annotations

import torch

from letgraph.checkpoint import Checkpoint
from letgraph.models import LETConfig
from letgraph.preparation import Preparation
from letgraph.text.lexicon import load_lexicon
from letgraph.text.vocabulary import CharVocabulary

CHARACTERS = "花呗怎么还款银行卡我的丢了办理能用吗"


def tiny_checkpoint(seed: int = 0, **settings: object) -> Checkpoint:
    """A LET with random weights, the demo lexicon (unless ``senses=False``) and the segmenter jieba."""
    torch.manual_seed(seed)
    sizes = {"hidden_size": 16, "encoder_size": 16, "encoder_layers": 1, "encoder_intermediate_size": 32}
    config = LETConfig(**{**sizes, **settings})
    lexicon = load_lexicon("demo") if config.senses else None
    checkpoint = Checkpoint.create(
        config, CharVocabulary(list(CHARACTERS)), lexicon, None, Preparation.current(("jieba",))
    )
    checkpoint.model.eval()
    return checkpoint
