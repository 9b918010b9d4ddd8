"""Several linear maps and a feature score of the same nodes, as one operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


def projections(h: Tensor, maps: Sequence[Tensor], score: nn.Sequential) -> tuple[Tensor, ...]:
    r"""W h for every W of ``maps``, then f = W_2 relu(W_1 h + b_1) + b_2, the score network of `feed_forward`.

    Everything that reads h is one matrix product, and its gradients are written side by side into one buffer, which
    saves a copy of them all.

    Shapes: h (N, in), W (out, in) -> (N, out) each.
    """
    first, second = score[0], score[-1]
    assert isinstance(first, nn.Linear) and isinstance(second, nn.Linear)
    return _Projections.apply(h, first.weight, first.bias, second.weight, second.bias, *maps)


class _Projections(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, *maps: Tensor) -> tuple[Any, ...]:
        weight = torch.cat([*maps, w1])
        if torch.is_autocast_enabled(h.device.type):  # in the backward pass there is no autocast to bring them together
            dtype = torch.get_autocast_dtype(h.device.type)
            h, weight, w2 = h.to(dtype), weight.to(dtype), w2.to(dtype)
        ctx.sizes = [len(each) for each in (*maps, w1)]
        *mapped, hidden = nn.functional.linear(h, weight).split(ctx.sizes, -1)
        hidden.add_(b1).relu_()
        ctx.save_for_backward(h, weight, hidden, w2)
        return *mapped, nn.functional.linear(hidden, w2, b2.to(w2.dtype))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        h, weight, hidden, w2 = ctx.saved_tensors
        *of_mapped, of_f = grads
        both = h.new_empty(len(h), len(weight))
        *parts, of_hidden = both.split(ctx.sizes, -1)
        for part, grad in zip(parts, of_mapped, strict=True):
            part.copy_(grad)
        torch.mm(of_f, w2, out=of_hidden).mul_(hidden.sign())  # much faster than `masked_fill_`
        of_h = both @ weight if ctx.needs_input_grad[0] else None
        *of_maps, of_w1 = (both.t() @ h).split(ctx.sizes)
        return of_h, of_w1, of_hidden.sum(0), of_f.t() @ hidden, of_f.sum(0), *of_maps
