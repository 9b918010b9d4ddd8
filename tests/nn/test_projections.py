"""Maps and score of the same nodes at once are what they are one by one."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import linear

from letgraph.nn.feed_forward import feed_forward
from letgraph.nn.projections import projections


def inputs(nodes=7, maps=2, dtype=torch.float64):
    torch.manual_seed(0)
    score = feed_forward(5, 6, 4).to(dtype)
    return torch.randn(nodes, 5, dtype=dtype), [torch.randn(size, 5, dtype=dtype) for size in (4, 3)[:maps]], score


@pytest.mark.parametrize("maps", [0, 1, 2])
@pytest.mark.parametrize("nodes", [0, 1, 7])
def test_values_and_gradients_are_those_of_the_plain_layers(nodes, maps):
    h, weights, score = inputs(nodes, maps)
    leaves = [h, *weights, *score.parameters()]
    for leaf in leaves:
        leaf.requires_grad_()

    fused = projections(h, weights, score)
    plain = [*(linear(h, weight) for weight in weights), score(h)]

    assert len(fused) == maps + 1
    outer = [torch.randn_like(part) for part in plain]
    of_fused = torch.autograd.grad(fused, leaves, outer)
    of_plain = torch.autograd.grad(plain, leaves, outer)
    for one, other in zip([*fused, *of_fused], [*plain, *of_plain], strict=True):
        torch.testing.assert_close(one, other)


def test_gradients_are_those_of_finite_differences():
    h, weights, score = inputs()
    leaves = [x.detach().requires_grad_() for x in (h, *weights, *score.parameters())]

    def function(h, first, second, *parameters):
        state = dict(zip((name for name, _ in score.named_parameters()), parameters, strict=True))
        with torch.nn.utils.stateless._reparametrize_module(score, state):
            return projections(h, [first, second], score)

    assert torch.autograd.gradcheck(function, leaves)


def test_what_is_not_used_gets_no_gradient_from_it():
    h, weights, score = inputs()
    weights[1].requires_grad_()

    _, second, _ = projections(h, weights, score)
    second.sum().backward()

    torch.testing.assert_close(weights[1].grad, h.sum(0).expand(3, 5))
    assert not score[0].weight.grad.any() and not score[-1].bias.grad.any()


def test_autocast_gives_half_precision_and_gradients_of_the_weights_own_type():
    h, weights, score = inputs(dtype=torch.float32)
    h.requires_grad_()
    weights[0].requires_grad_()

    with torch.autocast("cpu", dtype=torch.bfloat16):
        first, second, f = projections(h, weights, score)
    (first.sum() + second.sum() + f.sum()).backward()

    assert first.dtype == second.dtype == f.dtype == torch.bfloat16
    assert h.grad.dtype == weights[0].grad.dtype == score[0].weight.grad.dtype == torch.float32
    torch.testing.assert_close(f.float(), score(h), rtol=0.05, atol=0.05)
    torch.testing.assert_close(weights[0].grad, h.detach().sum(0).expand(4, 5), rtol=0.05, atol=0.05)
