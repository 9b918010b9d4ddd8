"""Attention of pre-trained encoders with dropout on a CPU, where torch's own spends most of its time on the mask."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from letgraph.nn.dropout import drop

NAME = "sdpa_fast_dropout"


def use_fast_attention(encoder: PreTrainedModel) -> None:
    """Let ``encoder`` attend by `attend`, where its kind attends by `torch.nn.functional.scaled_dot_product_attention`
    (sdpa) now."""
    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    if encoder.config._attn_implementation == "sdpa":
        encoder.config._attn_implementation = NAME


def additive_mask(visible: Tensor, dtype: torch.dtype) -> Tensor:
    """What to add to scores of ``dtype``: 0 where ``visible`` is True, else the least number."""
    hidden = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return hidden.masked_fill_(~visible, torch.finfo(dtype).min)


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    r"""An attention function of `transformers`: Dropout(softmax(scaling · Q K^T, where mask)) V.

    query, key, value: (B, heads, L, d); attention_mask: True where a query may see a key, broadcast to
    (B, heads, L, L).
    Returns (B, L, heads, d). sdpa itself wherever nothing is dropped, or not on a CPU.
    """
    causal = kwargs.get("is_causal")
    if causal is None:
        causal = getattr(module, "is_causal", True)  # as sdpa reads it; it counts where there is no mask
    plain = query.shape[1] == key.shape[1] and kwargs.get("position_bias") is None
    plain = plain and not (causal and attention_mask is None)
    if dropout == 0 or query.device.type != "cpu" or not plain:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = torch.matmul(query * scaling, key.transpose(2, 3))
    if attention_mask is not None:
        if attention_mask.dtype == torch.bool:
            attention_mask = additive_mask(attention_mask, scores.dtype)
        scores += attention_mask  # several times as fast as `masked_fill_` over all heads
    weights = drop(scores.softmax(-1), dropout)
    return torch.matmul(weights.to(value.dtype), value).transpose(1, 2).contiguous(), None
