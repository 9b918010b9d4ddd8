"""Attention-weighted sums over dense blocks: two matrix products a bucket forward, four backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from letgraph.blocks import Neighbourhood, NodeBlocks


def block_sums(
    neighbourhood: Neighbourhood, q: Tensor | None, k: Tensor | None, x: Tensor, clip: float | None = None
) -> Tensor:
    r"""For each destination i and head the sum over its in-neighbours j

    .. math::
        \sum_j a_{ij} x_j, \qquad a_{ij} = \exp(s_{ij} - \max_j s_{ij}), \qquad s_{ij} = q_i \cdot k_j / \sqrt d,

    or a = 1 without q and k, or a = exp(min(s, clip)) with ``clip``. The maximum counts as a constant in the gradient:
    the result serves in ratios, where it cancels.

    Shapes: q (N_dst, heads, d), k (N_src, heads, d), x (N_src, heads, features) -> (N_dst, heads, features).
    """
    return _BlockSums.apply(q, k, x, neighbourhood, clip)


class _BlockSums(torch.autograd.Function):
    # In blocks all tensors are (G_b * heads, N_b, features): one matrix product serves all heads of a bucket.
    # What stands in an empty place never matters, because its weights are zero.

    @staticmethod
    def forward(
        ctx: Any, q: Tensor | None, k: Tensor | None, x: Tensor, neighbourhood: Neighbourhood, clip: float | None
    ) -> Tensor:
        src, dst, heads = neighbourhood.src, neighbourhood.dst, x.shape[1]
        masks = [mask.repeat_interleave(heads, 0) if heads > 1 else mask for mask in neighbourhood.masks]
        ctx.neighbourhood, ctx.scored = neighbourhood, q is not None and k is not None
        ctx.x = _to_blocks(src, x)
        if q is not None and k is not None:
            ctx.scale = k.shape[-1] ** -0.5
            ctx.q, ctx.k = _to_blocks(dst, q), _to_blocks(src, k)
            pairs = [_weights(*one, ctx.scale, clip) for one in zip(ctx.q, ctx.k, masks, strict=True)]
            ctx.weights, ctx.slopes = zip(*pairs, strict=True)
        else:
            ctx.weights = [mask.to(x.dtype) for mask in masks]
        return _products(dst, ctx.weights, ctx.x, heads)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor, None, None]:
        src, dst, heads = ctx.neighbourhood.src, ctx.neighbourhood.dst, grad.shape[1]
        grads = _to_blocks(dst, grad)
        of_x = _products(src, [a.transpose(1, 2) for a in ctx.weights], grads, heads)
        if not ctx.scored:
            return None, None, of_x, None, None
        of_s = [
            torch.bmm(g, x.transpose(1, 2)).mul_(slope).mul_(ctx.scale)
            for g, x, slope in zip(grads, ctx.x, ctx.slopes, strict=True)
        ]
        of_q = _products(dst, of_s, ctx.k, heads)
        of_k = _products(src, [s.transpose(1, 2) for s in of_s], ctx.q, heads)
        return of_q, of_k, of_x, None, None


def _weights(q: Tensor, k: Tensor, mask: Tensor, scale: float, clip: float | None) -> tuple[Tensor, Tensor]:
    """a and da/ds."""
    scores = torch.bmm(q, k.transpose(1, 2)).mul_(scale)
    if clip is not None:
        a = scores.clamp(max=clip).exp_().mul_(mask)
        return a, a * (scores <= clip)
    scores.masked_fill_(~mask, -torch.inf)
    if scores.shape[-1]:  # over no source there is no maximum
        scores.sub_(scores.amax(-1, keepdim=True).clamp_min_(torch.finfo(scores.dtype).min))
    a = scores.exp_()
    return a, a


def _to_blocks(blocks: NodeBlocks, features: Tensor) -> list[Tensor]:
    """(nodes, heads, d) -> (G_b * heads, N_b, d) for every bucket."""
    return [view.transpose(1, 2).flatten(0, 1) for view in blocks.views(blocks.pad(features))]


def _products(blocks: NodeBlocks, left: Sequence[Tensor], right: Sequence[Tensor], heads: int) -> Tensor:
    """left_b right_b of every bucket, (G_b * heads, N_b, d) each, as (nodes, heads, d): the inverse of `_to_blocks`."""
    d = right[0].shape[-1]
    # Products are written to where they are wanted, which saves one copy of them all.
    places = right[0].new_empty(len(blocks.index) * heads, d)
    parts = []
    for part, a, b in zip(
        places.split([size * width * heads for size, width in blocks.shapes]), left, right, strict=True
    ):
        torch.bmm(a, b, out=part.view(a.shape[0], a.shape[1], d))
        parts.append(part)
    if heads == 1:
        return blocks.flatten(places.view(-1, 1, d))
    # Inside a bucket the heads stand before the places of a block; nodes want them behind.
    turned = [
        part.view(size, heads, width, d).transpose(1, 2).flatten(0, 1)
        for part, (size, width) in zip(parts, blocks.shapes, strict=True)
    ]
    return blocks.flatten(torch.cat(turned))
