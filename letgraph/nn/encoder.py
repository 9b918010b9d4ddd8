"""Transformer encoders of `transformers` over the tokens of sentence pairs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor
from transformers import AutoModel, PretrainedConfig, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from letgraph.nn.attention import additive_mask, use_fast_attention
from letgraph.nn.dropout import use_fast_dropout

if TYPE_CHECKING:
    from letgraph.data.collate import PairBatch

Context = Literal["sentence", "pair"]
ClsVector = Literal["token", "pooled"]


def build_encoder(config: Mapping[str, Any], pooler: bool) -> PreTrainedModel:
    """An encoder with random weights. ``config``: its configuration as a dictionary, ``model_type`` included;
    ``pooler``: whether it has tanh(W c_CLS + b), where its kind can."""
    return new_encoder(CONFIG_MAPPING[config["model_type"]].from_dict(dict(config)), pooler)


def new_encoder(config: PretrainedConfig, pooler: bool) -> PreTrainedModel:
    """`build_encoder` of a configuration object."""
    kind: Any = AutoModel._model_mapping[type(config)]
    accepted = inspect.signature(kind.__init__).parameters
    encoder = kind(config, **({"add_pooling_layer": pooler} if "add_pooling_layer" in accepted else {}))
    use_fast_dropout(encoder)
    use_fast_attention(encoder)
    return encoder


def encode(
    encoder: PreTrainedModel,
    batch: PairBatch,
    context: Context = "pair",
    positions: Tensor | None = None,
    visible: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Contextual vectors (B, L, E) of the tokens of ``[CLS] a [SEP] b [SEP]``, and the encoder's pooled c_CLS (B, E),
    None where it has no pooler.

    ``context``: "pair", tokens attend to all of their pair and token types tell a from b; "sentence", they attend
    inside their sentence, [CLS] to both, and nothing tells a from b. ``positions`` (B, L): counted from 0; None: the
    encoder's own. ``visible`` (B, L, L): where row i may attend to column j, in place of the context's choice.
    """
    types, mask = batch.token_type_ids, batch.attention_mask
    if context == "sentence":
        # Equal sentences get equal vectors. [CLS] alone sees both.
        visible = types.unsqueeze(2) == types.unsqueeze(1)
        visible[:, 1:, 0] = False
        visible[:, 0] = True
        types = torch.zeros_like(types)
    if visible is not None:
        mask = (visible & mask.unsqueeze(1)).unsqueeze(1)
        if encoder.config._attn_implementation == "eager":
            mask = additive_mask(mask, encoder.dtype)  # a mask of four dimensions is added to the scores as it is
    if positions is not None:
        positions = positions + first_position(encoder)
    inputs = {"input_ids": batch.input_ids, "attention_mask": mask, "position_ids": positions}
    if getattr(encoder.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = types
    encoded = encoder(**{name: value for name, value in inputs.items() if value is not None})
    return encoded.last_hidden_state, getattr(encoded, "pooler_output", None)


def first_position(encoder: PreTrainedModel) -> int:
    """The number that the encoder gives the first position: RoBERTa counts from behind the padding's."""
    padding = getattr(getattr(encoder, "embeddings", None), "padding_idx", None)
    return 0 if padding is None else int(padding) + 1
