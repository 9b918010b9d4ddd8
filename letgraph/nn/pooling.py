"""Attentive pooling: the feature-wise weighted mean of a set of vectors."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from letgraph.blocks import Neighbourhood
from letgraph.nn.feed_forward import feed_forward
from letgraph.nn.md_attention import Kernel, md_attention

PoolingScore = Literal["ffn", "centred"]


class AttentivePooling(nn.Module):
    r"""For each destination i the pool of its in-neighbours j.

    .. math::
        \alpha_{ij}[d] = \operatorname{softmax}_{j \in \mathcal{N}(i)}(f_j[d]), \qquad
        p_i = \sum_j \alpha_{ij} \odot v_j

    With ``score="ffn"`` (LET, AAAI 2021, "attentive pooling"), f_j = W_2 relu(W_1 x_j + b_1) + b_2, and v_j = x_j
    where sizes agree, else W x_j. With ``score="centred"`` (the authors' program), f_j = (w_2 · relu(W_1 x_j + b_1) +
    b_2) + u_j - mean(u_j) with u_j = U x_j + c, and always v_j = W x_j.

    Shapes: ``forward(neighbourhood, x (N_src, in)) -> (N_dst, out)``; an empty set gives zeros.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        score: PoolingScore = "ffn",
        clip: float | None = None,
        kernel: Kernel = "auto",
    ) -> None:
        super().__init__()
        self.clip, self.kernel = clip, kernel
        if score == "ffn":
            self.score = feed_forward(in_features, out_features, out_features)
            self.offset = None
        else:
            self.score = feed_forward(in_features, in_features, 1)
            self.offset = nn.Linear(in_features, out_features)
        same = score == "ffn" and in_features == out_features
        self.value = nn.Identity() if same else nn.Linear(in_features, out_features, bias=False)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Scores f and values v, each (N_src, out)."""
        score = self.score(x)
        if self.offset is not None:
            offset = self.offset(x)
            score = score + offset - offset.mean(-1, keepdim=True)
        return score, self.value(x)

    def forward(self, neighbourhood: Neighbourhood, x: Tensor) -> Tensor:
        f, v = (part.unsqueeze(1) for part in self.project(x))
        return md_attention(neighbourhood, None, None, f, v, clip=self.clip, kernel=self.kernel).flatten(1)
