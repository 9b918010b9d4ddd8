"""LET's configuration: every choice is one named setting, and a preset is a set of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from transformers import PretrainedConfig

from letgraph.errors import LetgraphError, require_choice
from letgraph.nn.dropout import DropoutMode
from letgraph.nn.matching import Cosine
from letgraph.nn.md_attention import Kernel
from letgraph.nn.mdgat import ACTIVATIONS, Attention
from letgraph.nn.pooling import PoolingScore
from letgraph.nn.sagt import Directions
from letgraph.schema import Positions, SememeContext

CHOICES: Mapping[str, tuple[str, ...]] = {
    "encoder_context": ("sentence", "pair"),
    "positions": get_args(Positions),
    "cls_vector": ("token", "pooled"),
    "pooling": get_args(PoolingScore),
    "sememe_context": get_args(SememeContext),
    "directions": get_args(Directions),
    "activation": tuple(ACTIVATIONS),
    "attention": get_args(Attention),
    "fusion": ("norm", "linear"),
    "cosine": get_args(Cosine),
    "output": ("sigmoid", "softmax"),
    "dropout_mode": get_args(DropoutMode),
    "kernel": get_args(Kernel),
}
"""The values of the settings that are a choice of names."""

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "reference": {
        "encoder_context": "pair",
        "positions": "running",
        "cls_vector": "pooled",
        "boundary_chars": True,
        "pooling": "centred",
        "sememe_context": "sentence",
        "dummy_sememe": True,
        "sememe_heads": 4,
        "sememe_ffn": True,
        "trainable_sememe_vectors": True,
        "directions": "heads",
        "word_ffn": True,
        "fusion": "linear",
        "matching_heads": 4,
        "cosine": "distance",
        "matching_residual": True,
        "output": "softmax",
        "clip": 10.0,
    },
}

AS_PRETRAINED: Mapping[str, Any] = {"encoder_context": "pair", "positions": "running"}
"""How encoders are pre-trained on pairs: in one pass, with positions that run on."""


class LETConfig(PretrainedConfig):
    """Configuration of `letgraph.models.LET`.

    Sizes: ``vocab_size`` characters; ``hidden_size`` D of words, senses and matching; ``encoder_size``,
    ``encoder_layers``, ``encoder_heads``, ``encoder_intermediate_size`` and ``max_positions`` of the character
    encoder, and ``pad_token_id`` of its padding; ``num_layers`` L of SaGT; ``perspectives`` P; ``num_senses``,
    ``num_links`` and ``num_sememes`` of the lexicon (the dummy, sememe 0, is one of them), ``num_known_sememes`` of
    which have a pre-trained vector, ``sememe_size`` long; ``classifier_sizes`` of the two hidden layers.

    A pre-trained encoder: ``encoder_config``, its configuration; ``freeze_encoder``: it is not trained and has no
    dropout. Its own configuration decides on its dropout and on all sizes of the encoder.

    Both presets: ``activation`` σ of MD-GAT ("none", "relu", "elu", "tanh"); ``dropout``, and ``dropout_mode``: "pair"
    draws one mask a pair and feature, "element" one an entry; ``kernel`` of MD-GAT, see `letgraph.nn.md_attention`.

    Ablations: ``senses`` and ``gru`` on or off, ``num_layers``; ``attention`` of SaGT, "multi-dimensional", or "scalar"
    (vanilla GAT: one weight for all features).

    Settings in which preset ``paper`` (the defaults) and preset ``reference`` (the authors' program) differ:

    ========================= ===================== ========================================================
    setting                   paper | reference     meaning
    ========================= ===================== ========================================================
    encoder_context           "sentence" | "pair"   characters attend inside their sentence, and [CLS] to both; or all
                                                    tokens of the pair attend to each other, with token types
    positions                 "restart" | "running" positions count from [CLS] and again from the first [SEP], or on
    cls_vector                "token" | "pooled"    c_CLS is the encoder's vector of [CLS], or tanh(W of it + b)
    boundary_chars            False | True          begin and end words cover a character node each ([CLS],
                                                    [SEP]); else each has a trained vector
    pooling                   "ffn" | "centred"     score of attentive pooling
    sememe_context            "sense" | "sentence"  which sememes attend to each other
    dummy_sememe              False | True          whether a sentence's context has one more sememe, of no sense
    sememe_heads              1 | 4                 heads of that attention
    sememe_ffn                False | True          feed-forward network behind it
    trainable_sememe_vectors  False | True          whether pre-trained sememe vectors are trained on
    directions                "separate" | "heads"  two MD-GATs for the sense update, or one with two heads
    word_ffn                  False | True          feed-forward network behind the word update
    fusion                    "norm" | "linear"     LayerNorm(c + ĉ), or ĉ + W c
    matching_heads            1 | 4                 heads of the matching attention
    cosine                    "similarity" |        what the perspectives measure
                              "distance"
    matching_residual         False | True          ŷ = FFN(·), or LayerNorm(y + FFN(·))
    output                    "sigmoid" | "softmax" one logit and binary cross-entropy, or two and cross-entropy
    clip                      None | 10             bound on attention scores before exp
    ========================= ===================== ========================================================
    """

    model_type = "let"

    def __init__(
        self,
        vocab_size: int = 4,
        hidden_size: int = 128,
        encoder_config: dict[str, Any] | None = None,
        freeze_encoder: bool = False,
        encoder_size: int = 128,
        encoder_layers: int = 2,
        encoder_heads: int = 4,
        encoder_intermediate_size: int = 512,
        max_positions: int = 512,
        pad_token_id: int = 0,
        num_layers: int = 2,
        perspectives: int = 20,
        classifier_sizes: tuple[int, int] = (256, 128),
        senses: bool = True,
        gru: bool = True,
        num_senses: int = 0,
        num_links: int = 0,
        num_sememes: int = 0,
        num_known_sememes: int = 0,
        sememe_size: int = 200,
        lexicon_hash: str | None = None,
        encoder_context: str = "sentence",
        positions: str = "restart",
        cls_vector: str = "token",
        boundary_chars: bool = False,
        pooling: str = "ffn",
        sememe_context: str = "sense",
        dummy_sememe: bool = False,
        sememe_heads: int = 1,
        sememe_ffn: bool = False,
        trainable_sememe_vectors: bool = False,
        directions: str = "separate",
        word_ffn: bool = False,
        activation: str = "none",
        attention: str = "multi-dimensional",
        fusion: str = "norm",
        matching_heads: int = 1,
        cosine: str = "similarity",
        matching_residual: bool = False,
        output: str = "sigmoid",
        clip: float | None = None,
        dropout: float = 0.2,
        dropout_mode: str = "pair",
        kernel: str = "auto",
        **kwargs: Any,
    ) -> None:
        settings = {name: value for name, value in locals().items() if name not in ("self", "kwargs", "__class__")}
        for name, value in settings.items():
            if name in CHOICES:
                require_choice(name, value, CHOICES[name])
            setattr(self, name, value)
        super().__init__(**kwargs)

    @classmethod
    def from_preset(cls, preset: str, **overrides: Any) -> LETConfig:
        """The preset's settings, for a pre-trained encoder those it was trained with, then ``overrides``.

        Raises `LetgraphError` for an unknown preset.
        """
        if preset not in PRESETS:
            raise LetgraphError(f"no preset {preset!r}; presets are {', '.join(PRESETS)}")
        pretrained = AS_PRETRAINED if overrides.get("encoder_config") else {}
        return cls(**{**PRESETS[preset], **pretrained, **overrides})

    @property
    def graph_options(self) -> dict[str, Any]:
        """What a `letgraph.data.collate.Collator` must build for this model (besides the sememes themselves)."""
        return {
            "senses": self.senses,
            "sememe_context": self.sememe_context,
            "dummy_sememe": self.num_dummies > 0,
            "boundary_chars": self.boundary_chars,
            "positions": self.positions,
        }

    @property
    def needs_lexicon(self) -> bool:
        """Whether the model reads senses or sememes of a lexicon."""
        return self.senses

    @property
    def num_dummies(self) -> int:
        """How many of the sememes are none of the lexicon's; they come first."""
        return int(self.dummy_sememe and self.needs_sememe_nodes)

    @property
    def needs_sememe_nodes(self) -> bool:
        """Whether senses are embedded from sememe nodes of the graph rather than once per distinct sense."""
        return self.senses and self.sememe_context == "sentence"
