"""Attention-weighted sums over dense blocks: two matrix products a bucket forward, four backward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from letgraph.blocks import Neighbourhood, NodeBlocks

Term = tuple[int, slice, Tensor, Tensor]
"""The bucket of a product, its places inside every block, its left and its right matrices."""


def block_sums(
    neighbourhood: Neighbourhood, q: Tensor | None, k: Tensor | None, x: Tensor, clip: float | None = None
) -> Tensor:
    r"""For each destination i and head the sum over its in-neighbours j

    .. math::
        \sum_j a_{ij} x_j, \qquad a_{ij} = e^{s_{ij}} / \sum_j e^{s_{ij}}, \qquad s_{ij} = q_i \cdot k_j / \sqrt d,

    or a = 1 without q and k, or a = exp(min(s, clip)) with ``clip``. The denominator of a counts as a constant in the
    gradient: the result serves in ratios, where it cancels.

    Shapes: q (N_dst, heads, d), k (N_src, heads, d), x (N_src, heads, features) -> (N_dst, heads, features).
    """
    return _BlockSums.apply(q, k, x, neighbourhood, clip)


class _BlockSums(torch.autograd.Function):
    # In blocks all tensors are (G_b * heads, N_b, features): one matrix product serves all heads of a bucket, or of a
    # tile of it. What stands in an empty place never matters, because its weights are zero.

    @staticmethod
    def forward(
        ctx: Any, q: Tensor | None, k: Tensor | None, x: Tensor, neighbourhood: Neighbourhood, clip: float | None
    ) -> Tensor:
        n, heads = neighbourhood, x.shape[1]
        ctx.neighbourhood, ctx.scored = n, q is not None and k is not None
        ctx.x = _to_blocks(n.src, x)
        if q is not None and k is not None:
            ctx.scale = k.shape[-1] ** -0.5
            ctx.q, ctx.k = _to_blocks(n.dst, q), _to_blocks(n.src, k)
            scores = [torch.bmm(ctx.q[b][:, i], ctx.k[b][:, j].mT).mul_(ctx.scale) for b, i, j in n.tiles]
            weights = _softmax(n, scores, heads) if clip is None else _clipped(n, scores, heads, clip)
            ctx.weights, ctx.slopes = zip(*weights, strict=True)
        else:
            ctx.weights = [_every_head(n.masks[b][:, i, j], heads).to(x.dtype) for b, i, j in n.tiles]
        return _to_destinations(n, ctx.weights, ctx.x, heads)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor, None, None]:
        n, heads = ctx.neighbourhood, grad.shape[1]
        grads = _to_blocks(n.dst, grad)
        of_x = _to_sources(n, ctx.weights, grads, heads)
        if not ctx.scored:
            return None, None, of_x, None, None
        of_s = [
            torch.bmm(grads[b][:, i], ctx.x[b][:, j].mT).mul_(slope).mul_(ctx.scale)
            for (b, i, j), slope in zip(n.tiles, ctx.slopes, strict=True)
        ]
        of_q = _to_destinations(n, of_s, ctx.k, heads)
        of_k = _to_sources(n, of_s, ctx.q, heads)
        return of_q, of_k, of_x, None, None


def _softmax(n: Neighbourhood, scores: Sequence[Tensor], heads: int) -> Iterator[tuple[Tensor, Tensor]]:
    """For every tile a and da/ds, which are the same."""
    for (b, i, j), s in zip(n.tiles, scores, strict=True):
        s.unflatten(0, (-1, heads)).add_(n.penalties[b][:, None, i, j])
        a = torch.softmax(s, -1)
        a.unflatten(0, (-1, heads)).mul_(n.reached[b][:, None, i])
        yield a, a


def _clipped(n: Neighbourhood, scores: Sequence[Tensor], heads: int, clip: float) -> Iterator[tuple[Tensor, Tensor]]:
    """For every tile a and da/ds."""
    for (b, i, j), s in zip(n.tiles, scores, strict=True):
        a = s.clamp(max=clip).exp_().mul_(_every_head(n.masks[b][:, i, j], heads))
        yield a, a * (s <= clip)


def _every_head(mask: Tensor, heads: int) -> Tensor:
    return mask.repeat_interleave(heads, 0) if heads > 1 else mask


def _to_blocks(blocks: NodeBlocks, features: Tensor) -> list[Tensor]:
    """(nodes, heads, d) -> (G_b * heads, N_b, d) for every bucket."""
    return [view.transpose(1, 2).flatten(0, 1) for view in blocks.views(blocks.pad(features))]


def _to_destinations(n: Neighbourhood, weights: Sequence[Tensor], y: Sequence[Tensor], heads: int) -> Tensor:
    """Σ_j w_ij y_j of weights by tile and sources y in blocks: (N_dst, heads, d)."""
    terms = [(b, i, w, y[b][:, j]) for (b, i, j), w in zip(n.tiles, weights, strict=True)]
    return _products(n.dst, terms, heads, y[0].shape[-1])


def _to_sources(n: Neighbourhood, weights: Sequence[Tensor], y: Sequence[Tensor], heads: int) -> Tensor:
    """Σ_i w_ij y_i of weights by tile and destinations y in blocks: (N_src, heads, d)."""
    terms = [(b, j, w.mT, y[b][:, i]) for (b, i, j), w in zip(n.tiles, weights, strict=True)]
    return _products(n.src, terms, heads, y[0].shape[-1])


def _products(blocks: NodeBlocks, terms: Sequence[Term], heads: int, d: int) -> Tensor:
    """The sum of left right over all terms, each at its places, as (nodes, heads, d): the inverse of `_to_blocks`."""
    # Products are written to where they are wanted, which saves one copy of them all.
    places = terms[0][2].new_empty(len(blocks.index) * heads, d)
    parts = places.split([size * width * heads for size, width in blocks.shapes])
    views = [part.view(size * heads, width, d) for part, (size, width) in zip(parts, blocks.shapes, strict=True)]
    tiles = Counter(b for b, *_ in terms)
    for b, several in tiles.items():
        if several > 1:
            views[b].zero_()
    for b, at, left, right in terms:
        if tiles[b] > 1:
            views[b][:, at].add_(torch.bmm(left, right))
        else:  # the only tile is all of every block
            torch.bmm(left, right, out=views[b])
    if heads == 1:
        return blocks.flatten(places.view(-1, 1, d))
    # Inside a bucket the heads stand before the places of a block; nodes want them behind.
    turned = [
        view.view(size, heads, width, d).transpose(1, 2).flatten(0, 1)
        for view, (size, width) in zip(views, blocks.shapes, strict=True)
    ]
    return blocks.flatten(torch.cat(turned))
