"""Attentive pooling is the feature-wise weighted mean of a set."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from letgraph.nn.pooling import AttentivePooling
from tests.helpers import edge_set, neighbourhoods, random_neighbourhood


def linear(layer, x):
    return x @ layer.weight.T + (0 if layer.bias is None else layer.bias)


@pytest.mark.parametrize("sizes", [(4, 4), (5, 3)])
@pytest.mark.parametrize("score", ["ffn", "centred"])
@settings(max_examples=30)
@given(neighbourhoods())
def test_every_pool_is_the_formula(score, sizes, neighbourhood):
    torch.manual_seed(0)
    pooling = AttentivePooling(*sizes, score=score).double()
    x = torch.randn(len(neighbourhood.src.place), sizes[0], dtype=torch.float64)

    with torch.no_grad():
        pools = pooling(neighbourhood, x)
        scores = linear(pooling.score[-1], torch.relu(linear(pooling.score[0], x)))
        if score == "centred":
            assert scores.shape == (len(x), 1)
            vector = linear(pooling.offset, x)
            scores = scores + vector - vector.mean(1, keepdim=True)
        values = x if score == "ffn" and sizes[0] == sizes[1] else x @ pooling.value.weight.T
        for i, pool in enumerate(pools):
            members = [u for u, v in edge_set(neighbourhood) if v == i]
            expected = (torch.softmax(scores[members], 0) * values[members]).sum(0)
            torch.testing.assert_close(pool, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("score", ["ffn", "centred"])
def test_a_pool_of_one_is_its_value_and_an_empty_pool_is_zero(score):
    pooling = AttentivePooling(4, 4, score=score)
    neighbourhood = random_neighbourhood(np.random.default_rng(0), [1, 0], [1, 1], density=1)
    x = torch.randn(1, 4)

    one, empty = pooling(neighbourhood, x)

    torch.testing.assert_close(one, pooling.value(x[0]))
    assert torch.equal(empty, torch.zeros(4))


def test_a_pool_lies_between_the_least_and_the_greatest_member():
    pooling = AttentivePooling(4, 4)
    neighbourhood = random_neighbourhood(np.random.default_rng(0), [5], [1], density=1)
    x = 10 * torch.randn(5, 4)

    pool = pooling(neighbourhood, x)[0]

    assert bool((pool <= x.amax(0) + 1e-5).all() and (pool >= x.amin(0) - 1e-5).all())


@pytest.mark.parametrize("score", ["ffn", "centred"])
@pytest.mark.parametrize("clip", [None, 10.0])
def test_gradients_pass_gradcheck(score, clip):
    torch.manual_seed(0)
    pooling = AttentivePooling(3, 3, score=score, clip=clip).double()
    neighbourhood = random_neighbourhood(np.random.default_rng(0), [3, 2], [2, 1], density=0.8)
    x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(lambda x: pooling(neighbourhood, x), x)
