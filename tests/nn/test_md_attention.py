"""Every kernel of multi-dimensional attention gives the value and the gradients of the formula."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from letgraph.blocks import Neighbourhood, NodeBlocks
from letgraph.nn.md_attention import md_attention
from tests.helpers import edge_set, neighbourhoods, random_neighbourhood

KERNELS = ["blocks", "edges", "scatter", "definition", "auto"]
FAST = ["blocks", "edges", "scatter"]
EXTREME = [-1e4, -300.0, -104.0, -95.0, -88.0, -70.0, -30.0, 0.0, 30.0, 88.0, 104.0, 300.0, 1e4]


def by_formula(neighbourhood: Neighbourhood, q: Tensor | None, k: Tensor | None, f: Tensor, v: Tensor) -> Tensor:
    """The softmax of every feature of every destination, one after another, in float64."""
    q, k, f, v = (None if x is None else x.double() for x in (q, k, f, v))
    out = f.new_zeros(len(neighbourhood.dst.place), *v.shape[1:])
    edges = edge_set(neighbourhood)
    rows = []
    for i in range(len(out)):
        sources = [source for source, destination in edges if destination == i]
        if not sources:
            rows.append(out[i])
            continue
        scores = f[sources]
        if q is not None and k is not None:
            scores = scores + (q[i] * k[sources]).sum(-1, keepdim=True) / math.sqrt(k.shape[-1])
        rows.append((torch.softmax(scores, 0) * v[sources]).sum(0))
    return torch.stack(rows) if rows else out


def random_inputs(
    neighbourhood: Neighbourhood, heads: int, seed: int = 0, dtype: torch.dtype = torch.float32, scale: float = 1.0
) -> list[Tensor]:
    """q, k, f, v of three features a head."""
    random = torch.Generator().manual_seed(seed)
    sources, destinations = len(neighbourhood.src.place), len(neighbourhood.dst.place)
    return [
        (torch.randn(size, heads, 3, generator=random, dtype=torch.float64) * scale).to(dtype)
        for size in (destinations, sources, sources, sources)
    ]


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=30)
@given(neighbourhoods(), st.integers(1, 3), st.booleans(), st.booleans())
def test_every_kernel_gives_the_formula(kernel, neighbourhood, heads, scored, with_graph):
    q, k, f, v = random_inputs(neighbourhood, heads)
    if not scored:
        q = k = None
    if with_graph:
        neighbourhood = replace(neighbourhood, graph=neighbourhood.to_graph())

    out = md_attention(neighbourhood, q, k, f, v, kernel=kernel)

    assert out.shape == (len(neighbourhood.dst.place), heads, 3)
    torch.testing.assert_close(out.double(), by_formula(neighbourhood, q, k, f, v), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3))
def test_complete_neighbourhoods_give_the_formula(kernel, sizes):
    sources, destinations = (NodeBlocks.from_counts(np.array(counts)) for counts in zip(*sizes, strict=True))
    neighbourhood = Neighbourhood.between(sources, destinations)
    inputs = random_inputs(neighbourhood, 2)

    out = md_attention(neighbourhood, *inputs, kernel=kernel)

    torch.testing.assert_close(out.double(), by_formula(neighbourhood, *inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_destination_without_neighbours_gets_zeros_and_gives_no_gradient(kernel):
    nodes = NodeBlocks.from_counts(np.array([2]))
    neighbourhood = Neighbourhood.from_edges(nodes, nodes, np.array([0]), np.array([1]))
    inputs = [x.requires_grad_() for x in random_inputs(neighbourhood, 1)]

    out = md_attention(neighbourhood, *inputs, kernel=kernel)
    out.sum().backward()

    assert torch.equal(out[0], torch.zeros(1, 3))
    assert torch.allclose(out[1], inputs[3][0])
    assert all(x.grad is None or bool(x.grad.isfinite().all()) for x in inputs)
    assert torch.equal(inputs[0].grad[0], torch.zeros(1, 3))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("sources", "destinations"), [([0, 0], [2, 1]), ([2, 1], [0, 0]), ([2, 1], [2, 1]), ([0], [0])]
)
def test_no_edge_at_all_gives_zeros(kernel, sources, destinations):
    neighbourhood = random_neighbourhood(np.random.default_rng(0), sources, destinations, density=0)
    inputs = random_inputs(neighbourhood, 2)

    out = md_attention(neighbourhood, *inputs, kernel=kernel)

    assert torch.equal(out, torch.zeros(sum(destinations), 2, 3))


@pytest.mark.parametrize("scored", [True, False])
@pytest.mark.parametrize("kernel", FAST)
def test_gradients_pass_gradcheck(kernel, scored):
    neighbourhood = random_neighbourhood(np.random.default_rng(1), [3, 0, 2], [2, 2, 3], density=0.6)
    q, k, f, v = (x.requires_grad_() for x in random_inputs(neighbourhood, 2, dtype=torch.float64))

    def attend(f, v, *scores):
        return md_attention(neighbourhood, *(scores or (None, None)), f, v, kernel=kernel)

    # The shift by a maximum is detached: it cancels in the value, and so in the derivative.
    assert torch.autograd.gradcheck(attend, (f, v, q, k) if scored else (f, v))


@pytest.mark.parametrize("kernel", FAST)
@settings(max_examples=30)
@given(neighbourhoods(), st.integers(1, 2), st.sampled_from([1.0, 10.0]))
def test_gradients_are_those_of_the_formula(kernel, neighbourhood, heads, scale):
    inputs = [x.requires_grad_() for x in random_inputs(neighbourhood, heads, dtype=torch.float64, scale=scale)]
    weights = random_inputs(neighbourhood, heads, seed=1, dtype=torch.float64)[0]

    found = gradients(md_attention(neighbourhood, *inputs, kernel=kernel), inputs, weights)
    expected = gradients(by_formula(neighbourhood, *inputs), inputs, weights)

    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kernel", FAST)
def test_gradients_are_those_of_the_definition(kernel):
    neighbourhood = random_neighbourhood(np.random.default_rng(2), [4, 3], [3, 4])
    inputs = [x.requires_grad_() for x in random_inputs(neighbourhood, 2, dtype=torch.float64)]
    weights = random_inputs(neighbourhood, 2, seed=1, dtype=torch.float64)[0]

    found = gradients(md_attention(neighbourhood, *inputs, kernel=kernel), inputs, weights)
    expected = gradients(md_attention(neighbourhood, *inputs, kernel="definition"), inputs, weights)

    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def gradients(out: Tensor, inputs: list[Tensor], weights: Tensor) -> list[Tensor]:
    """Zeros for what the result does not depend on."""
    loss = (out * weights.to(out.dtype)).sum() + sum(0 * x.sum() for x in inputs)
    return list(torch.autograd.grad(loss, inputs))


def check_extreme(neighbourhood: Neighbourhood, inputs: list[Tensor], kernel: str, atol: float) -> None:
    """Values and gradients in float32 against the formula in float64."""
    weights = torch.ones_like(inputs[0])
    singles = [x.clone().requires_grad_() for x in inputs]
    doubles = [x.double().requires_grad_() for x in inputs]

    out = md_attention(neighbourhood, *singles, kernel=kernel)
    expected = by_formula(neighbourhood, *doubles)

    torch.testing.assert_close(out.double(), expected, rtol=1e-4, atol=atol)
    found = gradients(out, singles, weights)
    assert all(bool(g.isfinite().all()) for g in found)
    # f_j of 1e4 plus a score has an error of 1e-3 in float32, whatever the kernel.
    torch.testing.assert_close(found[3].double(), gradients(expected, doubles, weights)[3], rtol=1e-4, atol=atol)


@pytest.mark.parametrize("kernel", FAST)
@pytest.mark.parametrize("gap", [-60.0, -69.0, -75.0, -88.0, -95.0, -102.0, -104.0, -300.0, -1e4])
def test_a_neighbourhood_far_below_the_rest_keeps_its_softmax(kernel, gap):
    """Below about -69 the factored sum is lost, below -88 the reciprocal of its denominator overflows."""
    neighbourhood = random_neighbourhood(np.random.default_rng(0), [3, 3], [2, 2], density=1)
    q, k, f, v = random_inputs(neighbourhood, 2)
    f[:3] += gap

    check_extreme(neighbourhood, [q, k, f, v], kernel, atol=2e-3 if gap == -1e4 else 1e-4)


@pytest.mark.parametrize("kernel", FAST)
@pytest.mark.parametrize("spread", [100.0, 300.0, 1e4])
def test_scores_of_one_neighbourhood_may_differ_by_hundreds(kernel, spread):
    neighbourhood = random_neighbourhood(np.random.default_rng(0), [4, 2], [3, 3], density=0.7)
    q, k, f, v = random_inputs(neighbourhood, 1)

    check_extreme(neighbourhood, [q, k, f * spread, v], kernel, atol=1e-4)
    check_extreme(neighbourhood, [q * spread, k, f, v], kernel, atol=1e-2)
    check_extreme(neighbourhood, [q * spread, k, f * spread, v], kernel, atol=1e-2)


@pytest.mark.parametrize("kernel", FAST)
def test_a_score_and_a_feature_that_cancel_keep_both_neighbours(kernel):
    """s = (0, -200) and f = (0, 200): each factor alone would hide one of two equal neighbours."""
    nodes = NodeBlocks.from_counts(np.array([2]))
    neighbourhood = Neighbourhood.between(nodes, nodes)
    q = torch.tensor([[[1.0]], [[1.0]]])
    k = torch.tensor([[[0.0]], [[-200.0]]])
    f = torch.tensor([[[0.0]], [[200.0]]])
    v = torch.tensor([[[1.0]], [[3.0]]])

    torch.testing.assert_close(md_attention(neighbourhood, q, k, f, v, kernel=kernel), torch.full((2, 1, 1), 2.0))
    check_extreme(neighbourhood, [q, k, f, v], kernel, atol=1e-4)


@pytest.mark.parametrize("kernel", FAST)
@settings(max_examples=30)
@given(st.data())
def test_any_mixture_of_extreme_scores_stays_right(kernel, data):
    neighbourhood = data.draw(neighbourhoods())
    sources = len(neighbourhood.src.place)
    q, k, _, v = random_inputs(neighbourhood, 1)
    drawn = data.draw(st.lists(st.sampled_from(EXTREME), min_size=3 * sources, max_size=3 * sources))
    f = torch.tensor(drawn).view(sources, 1, 3)

    # The score is rounded when it is added to 1e4, in the formula's float32 as well: 1e-3 of error.
    check_extreme(neighbourhood, [q, k, f, v], kernel, atol=4e-3)


@pytest.mark.parametrize("kernel", FAST)
@settings(max_examples=30)
@given(neighbourhoods(), st.sampled_from([1.0, 20.0, 1e4]))
def test_the_clipped_variant_gives_its_own_formula(kernel, neighbourhood, scale):
    q, k, f, v = random_inputs(neighbourhood, 2, scale=scale)
    v = v / scale
    clip = 10.0

    out = md_attention(neighbourhood, q, k, f, v, clip=clip, kernel=kernel).double()

    for i in range(len(neighbourhood.dst.place)):
        numerator = denominator = torch.zeros(2, 3, dtype=torch.float64)
        for j in [source for source, destination in edge_set(neighbourhood) if destination == i]:
            s = (q[i].double() * k[j].double()).sum(-1, keepdim=True) / math.sqrt(3)
            weight = s.clamp(max=clip).exp() * f[j].double().clamp(max=clip).exp()
            numerator = numerator + weight * v[j].double()
            denominator = denominator + weight
        # The authors' 1e-12 decides where all weights are tiny; float32 resolves them to about 1e-3 there.
        torch.testing.assert_close(out[i], numerator / (denominator + 1e-12), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kernel", FAST)
def test_the_clipped_variant_has_right_gradients(kernel):
    neighbourhood = random_neighbourhood(np.random.default_rng(1), [3, 2], [2, 2], density=0.7)
    inputs = [x.requires_grad_() for x in random_inputs(neighbourhood, 1, dtype=torch.float64)]

    def attend(*inputs):
        return md_attention(neighbourhood, *inputs, clip=0.5, kernel=kernel)

    assert torch.autograd.gradcheck(attend, inputs)


@pytest.mark.parametrize("kernel", FAST)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@settings(max_examples=20)
@given(neighbourhoods())
def test_half_precision_inputs_are_summed_in_float32(kernel, dtype, neighbourhood):
    """In bfloat16 sums and exp would be off by a percent; here only inputs and result are rounded."""
    inputs = [x.to(dtype).requires_grad_() for x in random_inputs(neighbourhood, 2, scale=3.0)]

    with torch.autocast("cpu", dtype=dtype):
        out = md_attention(neighbourhood, *inputs, kernel=kernel)
    out.float().sum().backward()

    assert out.dtype == dtype
    exact = md_attention(neighbourhood, *(x.detach().float() for x in inputs), kernel=kernel)
    assert torch.equal(out, exact.to(dtype))
    assert all(x.grad is None or bool(x.grad.isfinite().all()) for x in inputs)


@pytest.mark.parametrize("kernel", FAST)
def test_bfloat16_keeps_extreme_scores_right(kernel):
    neighbourhood = random_neighbourhood(np.random.default_rng(0), [4, 2], [3, 3], density=0.7)
    q, k, f, v = random_inputs(neighbourhood, 1)
    inputs = [x.bfloat16() for x in (q, k, f * 300, v)]

    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = md_attention(neighbourhood, *inputs, kernel=kernel)

    torch.testing.assert_close(out.double(), by_formula(neighbourhood, *inputs), rtol=1e-2, atol=1e-2)


def test_the_definition_refuses_to_be_clipped():
    neighbourhood = random_neighbourhood(np.random.default_rng(0), [2], [2])

    with pytest.raises(ValueError, match="clip"):
        md_attention(neighbourhood, *random_inputs(neighbourhood, 1), clip=10.0, kernel="definition")


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=30)
@given(st.integers(0, 1000))
def test_renumbering_nodes_changes_nothing(kernel, seed):
    random = np.random.default_rng(seed)
    neighbourhood = random_neighbourhood(random, [4, 3], [3, 4])
    q, k, f, v = random_inputs(neighbourhood, 2, seed)
    # New number -> old number, inside each block.
    new_src = np.concatenate([random.permutation(4), 4 + random.permutation(3)])
    new_dst = np.concatenate([random.permutation(3), 3 + random.permutation(4)])
    edges = np.array(edge_set(neighbourhood), np.int64).reshape(-1, 2)
    renumbered = Neighbourhood.from_edges(
        neighbourhood.src, neighbourhood.dst, np.argsort(new_src)[edges[:, 0]], np.argsort(new_dst)[edges[:, 1]]
    )

    out = md_attention(neighbourhood, q, k, f, v, kernel=kernel)
    permuted = md_attention(renumbered, q[new_dst], k[new_src], f[new_src], v[new_src], kernel=kernel)

    torch.testing.assert_close(permuted, out[new_dst], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_other_blocks_of_a_batch_change_nothing(kernel):
    random = np.random.default_rng(3)
    whole = random_neighbourhood(random, [3, 4, 2], [2, 3, 4], density=0.6)
    inputs = random_inputs(whole, 2)
    out = md_attention(whole, *inputs, kernel=kernel)

    for (first, last), (start, end) in zip(pairwise([0, 3, 7, 9]), pairwise([0, 2, 5, 9]), strict=True):
        edges = np.array([(u - first, v - start) for u, v in edge_set(whole) if first <= u < last], np.int64)
        src, dst = NodeBlocks.from_counts(np.array([last - first])), NodeBlocks.from_counts(np.array([end - start]))
        alone = Neighbourhood.from_edges(src, dst, edges[:, 0], edges[:, 1])
        q, k, f, v = inputs
        parts = md_attention(alone, q[start:end], k[first:last], f[first:last], v[first:last], kernel=kernel)
        torch.testing.assert_close(parts, out[start:end], rtol=1e-5, atol=1e-6)
