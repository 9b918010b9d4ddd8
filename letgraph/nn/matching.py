"""The matching layer: characters compare what their own and the other sentence tell them."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from letgraph.blocks import Neighbourhood
from letgraph.nn.feed_forward import feed_forward
from letgraph.nn.md_attention import Kernel
from letgraph.nn.mdgat import MDGAT

Cosine = Literal["similarity", "distance"]


class MultiPerspectiveCosine(nn.Module):
    r"""d_k = cos(w_k ⊙ x, w_k ⊙ y) for k = 1..P, or 1 - that ("distance").

    With w² outside the sums the P perspectives are three matrix products:
    :math:`x·y` weighted is :math:`(x ⊙ y) (w_k^2)`.

    Shapes: x, y (..., D) -> (..., P). Source: Wang, Hamza and Florian 2017 (BiMPM).
    """

    def __init__(self, features: int, perspectives: int, cosine: Cosine = "similarity", eps: float = 1e-12) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(perspectives, features))
        self.cosine, self.eps = cosine, eps
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        square = (self.weight**2).t()
        norms = ((x * x) @ square + self.eps).sqrt() * ((y * y) @ square + self.eps).sqrt()
        similarity = ((x * y) @ square) / norms
        return similarity if self.cosine == "similarity" else 1 - similarity

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        """Every x_i with every y_j of the same group: x (G, S, D), y (G, T, D) -> (G, S, T, P)."""
        square = (self.weight**2).t()
        products = (x.unsqueeze(1) * square.t().unsqueeze(1)) @ y.unsqueeze(1).transpose(2, 3)  # (G, P, S, T)
        norm_x, norm_y = (((each * each) @ square + self.eps).sqrt() for each in (x, y))
        similarity = products.permute(0, 2, 3, 1) / (norm_x.unsqueeze(2) * norm_y.unsqueeze(1))
        return similarity if self.cosine == "similarity" else 1 - similarity


class Matching(nn.Module):
    r"""Every character t of both sentences:

    .. math::
        m^{self}_t &= \text{MD-GAT}(y_t, \text{own sentence}), \qquad
        m^{cross}_t = \text{MD-GAT}(y_t, \text{other sentence}) \\
        d_k &= \cos(w_k \odot m^{self}_t, w_k \odot m^{cross}_t) \\
        \hat y_t &= \text{FFN}([m^{self}_t; d])

    The two MD-GATs share their parameters, so that equal sentences give m_self = m_cross. With ``residual``,
    ŷ = LayerNorm(y + FFN(·)) (the authors' program).

    Shapes: ``forward(self_edges, cross_edges, y (N, D)) -> (N, D)``.
    Source: LET (AAAI 2021), section "Sentence matching layer".
    """

    def __init__(
        self,
        features: int,
        perspectives: int = 20,
        num_heads: int = 1,
        *,
        cosine: Cosine = "similarity",
        residual: bool = False,
        activation: str = "none",
        dropout: float = 0.0,
        clip: float | None = None,
        kernel: Kernel = "auto",
    ) -> None:
        super().__init__()
        self.attention = MDGAT(features, features, num_heads, activation=activation, clip=clip, kernel=kernel)
        self.compare = MultiPerspectiveCosine(features, perspectives, cosine)
        self.ffn = feed_forward(features + perspectives, 2 * features, features, dropout)
        self.norm = nn.LayerNorm(features) if residual else None

    def messages(self, own: Neighbourhood, other: Neighbourhood, y: Tensor) -> tuple[Tensor, Tensor]:
        """m_self and m_cross, (N, D) each."""
        projected = self.attention.project(y, y)
        return self.attention.attend(own, *projected), self.attention.attend(other, *projected)

    def forward(self, own: Neighbourhood, other: Neighbourhood, y: Tensor, dropped: Tensor | None = None) -> Tensor:
        m_self, m_cross = self.messages(own, other, y if dropped is None else dropped)
        out = self.ffn(torch.cat([m_self, self.compare(m_self, m_cross)], -1))
        return out if self.norm is None else self.norm(y + out)
