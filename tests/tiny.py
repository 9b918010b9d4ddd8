"""A model small enough to be made in a test: its scores mean nothing, but everything a trained one has is there."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import BertConfig, BertModel, BertTokenizer

import letgraph
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


PIECES = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *dict.fromkeys(CHARACTERS + "信用注销如何查询余额帮开通短通知，。？"),
    *("e", "wifi", "app", "12", "##3", "1"),
]
"""Word pieces of a tiny BERT."""


def demo_pieces() -> list[str]:
    """Word pieces with all characters of the demo corpus's training split."""
    text = (Path(letgraph.__file__).parent / "demo" / "train.tsv").read_text(encoding="utf-8")
    return [*PIECES, *sorted(set(text) - set(PIECES))]


def save_tiny_encoder(folder: Path, pieces: list[str] = PIECES, **settings: object) -> Path:
    """A BERT with random weights and its tokenizer, as `transformers` keeps them; returns ``folder``."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(**{"vocab_size": len(pieces), **sizes, **settings})).save_pretrained(folder)
    BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)}).save_pretrained(folder)
    return folder
