r"""Multi-dimensional attention: one definition, and the kernels that compute it fast.

For a destination i, its in-neighbours j and every feature d of head h:

.. math::
    \alpha_{ij}[d] = \operatorname{softmax}_j\,(s_{ij} + f_j[d]), \qquad
    s_{ij} = q_i^{(h)} \cdot k_j^{(h)} / \sqrt{d_{head}}, \qquad
    out_i[d] = \sum_j \alpha_{ij}[d]\, v_j[d]

Because f_j does not depend on i, the softmax factors: numerator and denominator of out_i are each a sum over
in-edges of the *scalar* exp(s_ij) times a *node* vector,

.. math::
    out_i = \frac{\sum_j e^{s_{ij}} (e^{f_j} \odot v_j)}{\sum_j e^{s_{ij}} e^{f_j}},

so no tensor of shape (edges, features) is needed. A destination without in-neighbours gets the zero vector.

Source: LET (AAAI 2021), equations for MD-softmax; Shen et al. 2018 (DiSAN) for the feature-wise attention.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import dgl
import dgl.function as fn
import torch
from dgl.nn.functional import edge_softmax
from torch import Tensor
from torch.autograd.function import once_differentiable

from letgraph.blocks import Neighbourhood
from letgraph.nn.block_sums import block_sums

Kernel = Literal["auto", "blocks", "edges", "scatter", "definition"]

# Below this share of the largest weight a sum in float32 may have lost terms that matter.
_UNDERFLOW = 1e-30


def md_attention(
    neighbourhood: Neighbourhood,
    q: Tensor | None,
    k: Tensor | None,
    f: Tensor,
    v: Tensor,
    *,
    clip: float | None = None,
    kernel: Kernel = "auto",
) -> Tensor:
    """Multi-dimensional attention by the chosen kernel; parameters and result as in `md_attention_edges`.

    ``blocks``: masked matrix products. ``edges``: DGL's sparse kernels. ``scatter``: torch's `index_add` over (edges,
    features). ``definition``: DGL user-defined message and reduce functions over (edges, features), unclipped.
    ``auto`` (default): ``edges`` where the neighbourhood has a DGL graph and is not dense, else ``blocks``.

    Scores, exp and sums are computed in float32 at least, under autocast too; the result has the dtype of v.
    """
    if torch.is_autocast_enabled(v.device.type) or v.dtype in (torch.bfloat16, torch.float16):
        wide_q, wide_k = (None if x is None else x.float() for x in (q, k))
        with torch.autocast(v.device.type, enabled=False):
            return _attend(neighbourhood, wide_q, wide_k, f.float(), v.float(), clip, kernel).to(v.dtype)
    return _attend(neighbourhood, q, k, f, v, clip, kernel)


def _attend(
    neighbourhood: Neighbourhood,
    q: Tensor | None,
    k: Tensor | None,
    f: Tensor,
    v: Tensor,
    clip: float | None,
    kernel: Kernel,
) -> Tensor:
    if kernel == "auto":
        kernel = "blocks" if neighbourhood.dense or neighbourhood.graph is None else "edges"
    if kernel == "blocks":
        return md_attention_blocks(neighbourhood, q, k, f, v, clip)
    if kernel == "edges":
        return md_attention_edges(neighbourhood.to_graph(), q, k, f, v, clip)
    if kernel == "scatter":
        return md_attention_scatter(neighbourhood, q, k, f, v, clip)
    if clip is not None:
        raise ValueError("the definition is not clipped: choose another kernel for a clipped attention")
    return md_attention_definition(neighbourhood.to_graph(), q, k, f, v)


def md_attention_definition(graph: dgl.DGLGraph, q: Tensor | None, k: Tensor | None, f: Tensor, v: Tensor) -> Tensor:
    """The definition, with DGL user-defined message and reduce functions: the oracle of the fast kernels.

    Shapes as in `md_attention_edges`. Messages are of shape (edges, heads, d_head).
    """
    with graph.local_scope():
        graph.srcdata.update({"f": f, "v": v})
        if q is not None and k is not None:
            graph.srcdata["k"] = k / k.shape[-1] ** 0.5
            graph.dstdata["q"] = q

        def message(edges: dgl.udf.EdgeBatch) -> dict[str, Tensor]:
            score = edges.src["f"]
            if q is not None:
                score = score + (edges.dst["q"] * edges.src["k"]).sum(-1, keepdim=True)
            return {"score": score, "value": edges.src["v"]}

        def reduce(nodes: dgl.udf.NodeBatch) -> dict[str, Tensor]:
            alpha = torch.softmax(nodes.mailbox["score"], dim=1)
            return {"out": (alpha * nodes.mailbox["value"]).sum(1)}

        graph.update_all(message, reduce)
        if "out" not in graph.dstdata:  # DGL calls no function where there is no edge
            return v.new_zeros(graph.num_dst_nodes(), *v.shape[1:])
        return graph.dstdata["out"]


def md_attention_edges(
    graph: dgl.DGLGraph, q: Tensor | None, k: Tensor | None, f: Tensor, v: Tensor, clip: float | None = None
) -> Tensor:
    """The factored form with DGL's sparse kernels: one scalar an edge and head.

    Parameters
    ----------
    graph: one edge type, sources to destinations.
    q: (N_dst, heads, d) and k: (N_src, heads, d); both None for s = 0 (attentive pooling).
    f, v: (N_src, heads, d_head).
    clip: None, or the upper bound of s and of f before exp (the authors' program; then nothing is shifted).

    Returns
    -------
    (N_dst, heads, d_head)
    """
    weights = _source_weights(f, v, clip)
    with graph.local_scope():
        if q is not None and k is not None:
            graph.srcdata["k"], graph.dstdata["q"] = k / k.shape[-1] ** 0.5, q
            graph.apply_edges(fn.v_dot_u("q", "k", "s"))
            score = graph.edata.pop("s")
            # Any weight common to the in-edges of a node cancels, so the scalar softmax serves as a safe exp.
            graph.edata["a"] = score.clamp(max=clip).exp() if clip is not None else edge_softmax(graph, score)
        else:
            graph.edata["a"] = weights.new_ones(graph.num_edges(), 1, 1)
        graph.srcdata["x"] = weights
        graph.update_all(fn.u_mul_e("x", "a", "m"), fn.sum("m", "out"))
        sums = graph.dstdata["out"]
    return _finish(sums, clip, q, k, f, v, graph.in_edges)


def md_attention_blocks(
    neighbourhood: Neighbourhood, q: Tensor | None, k: Tensor | None, f: Tensor, v: Tensor, clip: float | None = None
) -> Tensor:
    """The factored form as masked matrix products over dense blocks; parameters as in `md_attention_edges`.

    Needs no DGL kernel. Destinations for which float32 would lose the sum to underflow are computed feature by feature.
    """
    sums = block_sums(neighbourhood, q, k, _source_weights(f, v, clip), clip)
    return _finish(sums, clip, q, k, f, v, neighbourhood.edges_into)


def md_attention_scatter(
    neighbourhood: Neighbourhood, q: Tensor | None, k: Tensor | None, f: Tensor, v: Tensor, clip: float | None = None
) -> Tensor:
    """The factored form over edge lists by torch alone; parameters as in `md_attention_edges`.

    Needs no DGL kernel, and unlike `md_attention_blocks` no place where there is no edge, but vectors an edge.
    """
    sources, destinations = neighbourhood.edges
    messages = _source_weights(f, v, clip)[sources]
    if q is not None and k is not None:
        score = (q[destinations] * k[sources]).sum(-1) / k.shape[-1] ** 0.5
        if clip is not None:
            score = score.clamp(max=clip)
        else:
            top = score.new_full(q.shape[:2], -torch.inf)
            index = destinations.unsqueeze(1).expand_as(score)
            score = score - top.scatter_reduce(0, index, score.detach(), "amax")[destinations]
        messages = score.exp().unsqueeze(-1) * messages
    count = len(neighbourhood.dst.place)
    sums = messages.new_zeros(count, *messages.shape[1:]).index_add(0, destinations, messages)
    return _finish(sums, clip, q, k, f, v, neighbourhood.edges_into)


class _SourceWeights(torch.autograd.Function):
    """f, v -> [e^(f - c) v, e^(f - c)]; keeps one buffer for the backward pass. The shift c counts as a constant."""

    @staticmethod
    def forward(ctx: Any, f: Tensor, v: Tensor, shift: Tensor | None) -> Tensor:
        weights = f.new_empty(*f.shape[:-1], 2 * f.shape[-1])
        weighted, e = weights.chunk(2, -1)
        if shift is None:
            torch.exp(f, out=e)
        else:
            torch.sub(f, shift, out=e).exp_()
        torch.mul(e, v, out=weighted)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        weighted, e = ctx.saved_tensors[0].chunk(2, -1)
        of_weighted, of_e = grad.chunk(2, -1)
        return torch.mul(of_weighted, weighted).addcmul_(of_e, e), of_weighted * e, None


def _source_weights(f: Tensor, v: Tensor, clip: float | None) -> Tensor:
    """[e^f v, e^f] per source; f is shifted by its maximum per feature, which cancels in the ratio."""
    if clip is not None:
        return _SourceWeights.apply(f.clamp(max=clip), v, None)
    return _SourceWeights.apply(f, v, f.detach().amax(0) if len(f) else None)


class _Ratio(torch.autograd.Function):
    """[numerator, denominator] -> numerator / denominator, but 0 in ``lost`` rows where the denominator is below
    `_UNDERFLOW`.

    There it is 0 for want of neighbours, or its row is computed again (`_lost_rows`) and this result not used; the
    reciprocal of a subnormal number would be infinite, and 0 times that no number in the gradient.

    Written out because it touches every feature of every destination: the gradient of both halves is formed in one
    buffer instead of by a chain of temporaries.
    """

    @staticmethod
    def forward(ctx: Any, sums: Tensor, lost: Tensor) -> Tensor:
        numerator, denominator = sums.chunk(2, dim=-1)
        inverse = denominator.reciprocal()
        if len(lost):
            inverse[lost] = inverse[lost].masked_fill(denominator[lost] < _UNDERFLOW, 0)
        out = numerator * inverse
        ctx.save_for_backward(inverse, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        inverse, out = ctx.saved_tensors
        both = grad.new_empty(*grad.shape[:-1], 2 * grad.shape[-1])
        of_numerator, of_denominator = both.chunk(2, -1)
        torch.mul(grad, inverse, out=of_numerator)
        torch.mul(of_numerator, out, out=of_denominator).neg_()
        return both, None


def _finish(
    sums: Tensor,
    clip: float | None,
    q: Tensor | None,
    k: Tensor | None,
    f: Tensor,
    v: Tensor,
    edges_into: Callable[[Tensor], tuple[Tensor, Tensor]],
) -> Tensor:
    """[numerator, denominator] -> their ratio; rows that float32 has lost are computed feature by feature.

    ``edges_into(rows)``: sources and destinations of the edges into ``rows``, sorted by destination.
    """
    if clip is not None:
        numerator, denominator = sums.chunk(2, dim=-1)
        return numerator / (denominator + 1e-12)
    lost = _lost_rows(sums)
    out = _Ratio.apply(sums, lost)
    if len(lost):
        sources, destinations = edges_into(lost)
        rows = destinations.unique_consecutive()  # the others have no neighbours
        if len(rows):
            out = out.index_copy(0, rows, _rows_by_softmax(rows, sources, destinations, q, k, f, v))
    return out


def _lost_rows(sums: Tensor) -> Tensor:
    """The destinations with a denominator so small that terms of it may have underflowed, or without a neighbour."""
    smallest = sums.detach().chunk(2, dim=-1)[1].flatten(1).amin(-1)
    return (smallest < _UNDERFLOW).nonzero().squeeze(1)


def _rows_by_softmax(
    rows: Tensor, sources: Tensor, destinations: Tensor, q: Tensor | None, k: Tensor | None, f: Tensor, v: Tensor
) -> Tensor:
    """The plain feature-wise softmax for the sorted destinations ``rows``, given all their in-edges."""
    logits = f[sources]
    if q is not None and k is not None:
        logits = logits + (q[destinations] * k[sources]).sum(-1, keepdim=True) / k.shape[-1] ** 0.5
    group = torch.searchsorted(rows, destinations)
    shape = (len(rows), *f.shape[1:])
    index = group.view(-1, 1, 1).expand_as(logits)
    top = logits.new_full(shape, -torch.inf).scatter_reduce(0, index, logits.detach(), "amax")
    weights = (logits - top[group]).exp()
    total = weights.new_zeros(shape).index_add(0, group, weights)
    return weights.new_zeros(shape).index_add(0, group, weights * v[sources]) / total
