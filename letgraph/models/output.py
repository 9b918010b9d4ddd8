"""What every model of sentence pairs returns, and its loss."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from transformers.utils import ModelOutput


@dataclass
class PairOutput(ModelOutput):
    """``logits`` (B,): log-odds that a pair matches. ``loss``: mean over the batch, when labels are given."""

    loss: Tensor | None = None
    logits: Tensor | None = None


def pair_output(odds: Tensor, labels: Tensor | None) -> PairOutput:
    """Log-odds ``odds`` (B,) and, given ``labels`` (B,) of 0 and 1, their binary cross-entropy."""
    if labels is None:
        return PairOutput(logits=odds)
    loss = nn.functional.binary_cross_entropy_with_logits(odds, labels.to(odds.dtype))
    return PairOutput(loss=loss, logits=odds)
