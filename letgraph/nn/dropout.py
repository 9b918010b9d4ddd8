"""Dropout over the nodes of a batch of pairs."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

DropoutMode = Literal["element", "pair"]


class PairDropout(nn.Module):
    """Inverted dropout: x ⊙ mask / (1 - p) in training, x otherwise.

    mode ``element`` draws a mask value for every entry. ``pair`` draws one for every pair and feature and shares it
    between both sentences and all their nodes, so that equal nodes of the two sentences stay equal (the authors'
    program).
    """

    def __init__(self, p: float, mode: DropoutMode = "element") -> None:
        super().__init__()
        self.p, self.mode = p, mode

    def forward(self, x: Tensor, pair: Tensor | None = None) -> Tensor:
        """x (N, D); pair (N,): the pair of each row (needed in mode ``pair``)."""
        if not self.training or self.p == 0:
            return x
        if self.mode == "element" or pair is None:
            return nn.functional.dropout(x, self.p)
        pairs = int(pair[-1]) + 1 if len(pair) else 0
        mask = torch.empty(pairs, x.shape[-1], dtype=x.dtype, device=x.device).bernoulli_(1 - self.p)
        return x * (mask / (1 - self.p)).index_select(0, pair)

    def extra_repr(self) -> str:
        return f"p={self.p}, mode={self.mode!r}"
