"""MD-GAT: graph attention with a feature-wise softmax."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from letgraph.blocks import Neighbourhood
from letgraph.nn.feed_forward import feed_forward
from letgraph.nn.md_attention import Kernel, md_attention
from letgraph.nn.projections import projections

ACTIVATIONS: dict[str, type[nn.Module]] = {"none": nn.Identity, "relu": nn.ReLU, "elu": nn.ELU, "tanh": nn.Tanh}

Attention = Literal["multi-dimensional", "scalar"]


class MDGAT(nn.Module):
    r"""Multi-dimensional graph attention from the nodes j of one type to the nodes i of another.

    .. math::
        s_{ij} &= (W_q h_i)^\top (W_k h_j) / \sqrt{d_{head}} \\
        f_j &= W_2 \operatorname{relu}(W_1 h_j + b_1) + b_2 \\
        \alpha_{ij}[d] &= \operatorname{softmax}_{j \in \mathcal{N}(i)}(s_{ij} + f_j[d]) \\
        h'_i &= \sigma\Big(\sum_j \alpha_{ij} \odot W_v h_j\Big)

    Parameters
    ----------
    in_features: size of h_i and h_j.
    out_features: size of h'_i, divisible by ``num_heads``; head h attends over its own slice of features.
    activation: σ, one of `ACTIVATIONS`.
    clip: None, or the bound on s and f before exp in the authors' program.
    attention: "scalar" leaves f out, so that all features share the weights softmax_j(s_ij) of a vanilla GAT.
    kernel: how the sums are computed, see `letgraph.nn.md_attention`.

    Shapes
    ------
    ``forward(neighbourhood, destinations (N_dst, in), sources (N_src, in)) -> (N_dst, out)``. A destination without
    neighbours gets σ(0).

    Source: LET (AAAI 2021), section "Graph attention networks", equations for MD-softmax and MD-GAT.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        num_heads: int = 1,
        *,
        activation: str = "none",
        clip: float | None = None,
        attention: Attention = "multi-dimensional",
        kernel: Kernel = "auto",
    ) -> None:
        super().__init__()
        if out_features % num_heads:
            raise ValueError(f"{out_features} features cannot be split over {num_heads} heads")
        self.num_heads, self.clip, self.kernel = num_heads, clip, kernel
        self.query = nn.Linear(in_features, out_features, bias=False)
        self.key = nn.Linear(in_features, out_features, bias=False)
        self.value = nn.Linear(in_features, out_features, bias=False)
        self.score = feed_forward(in_features, out_features, out_features) if attention != "scalar" else None
        self.activation = ACTIVATIONS[activation]()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def forward(self, neighbourhood: Neighbourhood, destinations: Tensor, sources: Tensor) -> Tensor:
        return self.attend(neighbourhood, *self.project(destinations, sources))

    def project(self, destinations: Tensor, sources: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """q (N_dst, heads, d), k (N_src, heads, d), f and v (N_src, heads, d_head), with s_ij = q_i · k_j / sqrt(d).

        NOTE: with one head q and k are not W_q h_i and W_k h_j. s_ij = h_i^T (W_q^T W_k) h_j / sqrt(d_head) needs one
        product with W_q^T W_k for the nodes of the smaller side only; the other side serves as it is, so d = in.
        """
        if self.score is None:
            v = self._split(self.value(sources))
            return self._split(self.query(destinations)), self._split(self.key(sources)), v.new_zeros(v.shape), v
        value = self.value.weight
        q, k = destinations, sources
        if self.num_heads > 1:
            q = self.query(destinations)
            k, v, f = projections(sources, [self.key.weight, value], self.score)
        else:
            form = self.query.weight.t() @ self.key.weight * (self.query.in_features / len(value)) ** 0.5
            if len(sources) <= len(destinations):
                k, v, f = projections(sources, [form, value], self.score)
            else:
                q = nn.functional.linear(destinations, form.t())
                v, f = projections(sources, [value], self.score)
        return self._split(q), self._split(k), self._split(f), self._split(v)

    def attend(self, neighbourhood: Neighbourhood, q: Tensor, k: Tensor, f: Tensor, v: Tensor) -> Tensor:
        """Aggregate projected nodes, so that projections can serve several neighbourhoods: (N_dst, out)."""
        return self.activation(md_attention(neighbourhood, q, k, f, v, clip=self.clip, kernel=self.kernel).flatten(1))

    def _split(self, x: Tensor) -> Tensor:
        return x.view(len(x), self.num_heads, x.shape[-1] // self.num_heads)  # -1 would be ambiguous without rows
