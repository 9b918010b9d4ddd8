"""The matching layer compares what a character hears from its own and from the other sentence."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from letgraph import schema
from letgraph.data.collate import Collator
from letgraph.nn.matching import Matching, MultiPerspectiveCosine
from tests.helpers import VOCABULARY, random_pairs, to_table


def batch(sentences):
    return Collator(VOCABULARY)(to_table(sentences))


@settings(max_examples=30)
@given(st.integers(0, 1000))
def test_perspectives_are_cosines_of_weighted_vectors(seed):
    torch.manual_seed(seed)
    compare = MultiPerspectiveCosine(6, 4)
    x, y = torch.randn(5, 6), torch.randn(5, 6)

    expected = torch.stack([torch.cosine_similarity(w * x, w * y, dim=-1) for w in compare.weight], -1)

    torch.testing.assert_close(compare(x, y), expected, rtol=1e-5, atol=1e-5)


def test_distance_is_one_minus_similarity_and_zero_vectors_have_similarity_zero():
    compare, distance = MultiPerspectiveCosine(6, 4), MultiPerspectiveCosine(6, 4, "distance")
    distance.load_state_dict(compare.state_dict())
    x = torch.randn(5, 6)
    zero = torch.zeros(5, 6, requires_grad=True)

    torch.testing.assert_close(compare(x, 3 * x), torch.ones(5, 4))
    torch.testing.assert_close(compare(x, -x), -torch.ones(5, 4))
    torch.testing.assert_close(distance(x, x), torch.zeros(5, 4), atol=1e-6, rtol=0)
    assert torch.equal(compare(zero, zero), torch.zeros(5, 4))
    compare(zero, x).sum().backward()
    assert bool(zero.grad.isfinite().all())


@pytest.mark.parametrize("heads", [1, 4])
def test_equal_sentences_hear_the_same_from_each_other(heads):
    layer = Matching(8, 3, heads)
    sentences = [sentence for sentence in random_pairs(0) for _ in range(2)]  # every pair is (a, a)
    edges = batch(sentences).edges
    y = torch.cat([torch.randn(len(a.text), 8).repeat(2, 1) for a in sentences[::2]])

    m_self, m_cross = layer.messages(edges[schema.SELF], edges[schema.CROSS], y)

    torch.testing.assert_close(m_self, m_cross, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(layer.compare(m_self, m_cross), torch.ones(len(y), 3), rtol=1e-5, atol=1e-5)


def test_messages_come_from_the_own_and_from_the_other_sentence():
    layer = Matching(8, 3)
    sentences = random_pairs(1, pairs=1)
    edges = batch(sentences).edges
    length = len(sentences[0].text)
    y = torch.randn(length + len(sentences[1].text), 8)
    changed = y.clone()
    changed[length:] += 1

    before = layer.messages(edges[schema.SELF], edges[schema.CROSS], y)
    after = layer.messages(edges[schema.SELF], edges[schema.CROSS], changed)

    torch.testing.assert_close(before[0][:length], after[0][:length])
    assert not torch.allclose(before[1][:length], after[1][:length], atol=1e-3)


@pytest.mark.parametrize("residual", [False, True])
def test_the_output_is_the_network_of_message_and_perspectives(residual):
    layer = Matching(8, 3, residual=residual)
    edges = batch(random_pairs(2, pairs=2)).edges
    y = torch.randn(len(edges[schema.SELF].src.place), 8)
    m_self, m_cross = layer.messages(edges[schema.SELF], edges[schema.CROSS], y)

    out = layer(edges[schema.SELF], edges[schema.CROSS], y)

    hidden = torch.relu(layer.ffn[0](torch.cat([m_self, layer.compare(m_self, m_cross)], -1)))
    expected = layer.ffn[-1](hidden)
    if residual:
        expected = torch.nn.functional.layer_norm(y + expected, (8,))
    torch.testing.assert_close(out, expected)


def test_dropped_characters_reach_the_messages_but_not_the_residual():
    layer = Matching(8, 3, residual=True)
    edges = batch(random_pairs(2, pairs=2)).edges
    own, other = edges[schema.SELF], edges[schema.CROSS]
    y = torch.randn(len(own.src.place), 8)
    dropped = torch.nn.functional.dropout(y, 0.5)
    m_self, m_cross = layer.messages(own, other, dropped)

    expected = layer.norm(y + layer.ffn(torch.cat([m_self, layer.compare(m_self, m_cross)], -1)))

    torch.testing.assert_close(layer(own, other, y, dropped), expected)


@pytest.mark.parametrize("cosine", ["similarity", "distance"])
def test_pairwise_cosines_are_those_of_every_two_rows(cosine):
    compare = MultiPerspectiveCosine(8, 3, cosine)
    x, y = torch.randn(2, 4, 8), torch.randn(2, 5, 8)

    pairs = compare.pairwise(x, y)

    assert pairs.shape == (2, 4, 5, 3)
    for g, i, j in ((0, 0, 0), (0, 3, 1), (1, 2, 4)):
        torch.testing.assert_close(pairs[g, i, j], compare(x[g, i], y[g, j]))
