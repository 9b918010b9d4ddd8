"""MD-GAT is its formula, for any number of heads."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from letgraph.nn.mdgat import ACTIVATIONS, MDGAT
from tests.helpers import edge_set, neighbourhoods, random_neighbourhood


def by_formula(layer: MDGAT, neighbourhood, h_dst, h_src):
    """One destination, head and feature after another, straight from the docstring."""
    first, second = layer.score[0], layer.score[-1]
    heads = layer.num_heads
    size = layer.value.out_features // heads
    rows = []
    for i in range(len(h_dst)):
        sources = [u for u, v in edge_set(neighbourhood) if v == i]
        row = torch.zeros(heads * size, dtype=h_dst.dtype)
        for head in range(heads if sources else 0):
            part = slice(head * size, (head + 1) * size)
            query = layer.query.weight[part] @ h_dst[i]
            scores = []
            for j in sources:
                s = query @ (layer.key.weight[part] @ h_src[j]) / math.sqrt(size)
                f = second.weight @ torch.relu(first.weight @ h_src[j] + first.bias) + second.bias
                scores.append(s + f[part])
            alpha = torch.softmax(torch.stack(scores), 0)
            row[part] = sum(alpha[n] * (layer.value.weight[part] @ h_src[j]) for n, j in enumerate(sources))
        rows.append(row)
    return layer.activation(torch.stack(rows)) if rows else h_dst.new_zeros(0, heads * size)


@pytest.mark.parametrize("kernel", ["blocks", "edges", "scatter", "definition", "auto"])
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@settings(max_examples=30)
@given(neighbourhoods(), st.sampled_from([1, 2, 3]))
def test_the_layer_is_its_formula(kernel, activation, neighbourhood, heads):
    torch.manual_seed(0)
    layer = MDGAT(5, 6, heads, activation=activation, kernel=kernel).double()
    nn.init.normal_(layer.score[0].bias)
    nn.init.normal_(layer.score[-1].bias)
    h_dst = torch.randn(len(neighbourhood.dst.place), 5, dtype=torch.float64)
    h_src = torch.randn(len(neighbourhood.src.place), 5, dtype=torch.float64)

    with torch.no_grad():
        torch.testing.assert_close(
            layer(neighbourhood, h_dst, h_src), by_formula(layer, neighbourhood, h_dst, h_src), rtol=1e-8, atol=1e-9
        )


@pytest.mark.parametrize("kernel", ["blocks", "edges", "scatter", "definition"])
def test_gradients_of_parameters_and_nodes_pass_gradcheck(kernel):
    torch.manual_seed(0)
    layer = MDGAT(3, 4, 2, kernel=kernel, activation="tanh").double()
    neighbourhood = random_neighbourhood(np.random.default_rng(4), [3, 1], [2, 2], density=0.7)
    names = [name for name, _ in layer.named_parameters()]
    h_dst, h_src = (torch.randn(4, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def call(h_dst, h_src, *parameters):
        return torch.func.functional_call(
            layer, dict(zip(names, parameters, strict=True)), (neighbourhood, h_dst, h_src)
        )

    assert torch.autograd.gradcheck(call, (h_dst, h_src, *layer.parameters()))


def test_projections_serve_several_neighbourhoods():
    layer = MDGAT(5, 6, 2)
    random = np.random.default_rng(0)
    one, other = (random_neighbourhood(random, [3, 2], [3, 2]) for _ in range(2))
    h = torch.randn(5, 5)
    projected = layer.project(h, h)

    assert torch.equal(layer.attend(one, *projected), layer(one, h, h))
    assert torch.equal(layer.attend(other, *projected), layer(other, h, h))


def test_the_clipped_layer_differs_only_where_a_bound_is_reached():
    torch.manual_seed(0)
    plain, clipped = MDGAT(5, 6), MDGAT(5, 6, clip=10.0)
    clipped.load_state_dict(plain.state_dict())
    neighbourhood = random_neighbourhood(np.random.default_rng(0), [3, 2], [3, 2])
    h = torch.randn(5, 5)

    torch.testing.assert_close(clipped(neighbourhood, h, h), plain(neighbourhood, h, h), rtol=1e-5, atol=1e-6)
    assert not torch.allclose(clipped(neighbourhood, 50 * h, h), plain(neighbourhood, 50 * h, h), atol=1e-3)


def test_features_that_heads_cannot_share_are_refused():
    with pytest.raises(ValueError, match="7 features"):
        MDGAT(4, 7, 2)


@pytest.mark.parametrize("heads", [1, 2])
def test_scalar_attention_weighs_all_features_of_a_head_alike(heads):
    """Vanilla GAT: softmax over the scores of queries and keys alone."""
    torch.manual_seed(0)
    neighbourhood = random_neighbourhood(np.random.default_rng(0), [3, 4], [2, 3], 0.6)
    layer = MDGAT(6, 4, heads, attention="scalar", activation="tanh")
    h_dst, h_src = torch.randn(5, 6), torch.randn(7, 6)

    out = layer(neighbourhood, h_dst, h_src)

    size = 4 // heads
    for i in range(5):
        sources = [u for u, v in edge_set(neighbourhood) if v == i]
        expected = torch.zeros(4)
        for head in range(heads if sources else 0):
            part = slice(head * size, (head + 1) * size)
            query = layer.query.weight[part] @ h_dst[i]
            scores = [query @ (layer.key.weight[part] @ h_src[j]) / math.sqrt(size) for j in sources]
            alpha = torch.softmax(torch.stack(scores), 0)
            expected[part] = sum(a * (layer.value.weight[part] @ h_src[j]) for a, j in zip(alpha, sources, strict=True))
        torch.testing.assert_close(out[i], torch.tanh(expected), rtol=1e-5, atol=1e-6)
    assert not any(name.startswith("score") for name, _ in layer.named_parameters())
