"""Dense blocks hold the same nodes and edges as the flat graph."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from letgraph.blocks import Neighbourhood, NodeBlocks
from tests.helpers import edge_set, neighbourhoods

counts = st.lists(st.integers(0, 4), min_size=1, max_size=5).map(np.array)


@settings(max_examples=30)
@given(counts)
def test_block_g_holds_the_nodes_of_sentence_g_in_their_order(counts):
    blocks = NodeBlocks.from_counts(counts)
    nodes = np.split(np.arange(counts.sum()), np.cumsum(counts)[:-1])

    assert [row[valid].tolist() for row, valid in zip(blocks.index, blocks.valid, strict=True)] == [
        part.tolist() for part in nodes
    ]


@settings(max_examples=30)
@given(counts)
def test_flatten_undoes_pad(counts):
    blocks = NodeBlocks.from_counts(counts)
    features = torch.randn(int(counts.sum()), 2, 3)

    padded = blocks.pad(features)

    assert padded.shape == (*blocks.index.shape, 2, 3)
    assert torch.equal(blocks.flatten(padded), features)
    for g, i in blocks.valid.nonzero().tolist():
        assert torch.equal(padded[g, i], features[blocks.index[g, i]])


@settings(max_examples=30)
@given(counts.filter(np.any))
def test_padding_takes_and_gives_no_gradient(counts):
    blocks = NodeBlocks.from_counts(counts)
    features = torch.randn(int(counts.sum()), 2, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(*blocks.index.shape, 2, dtype=torch.float64)

    masked = blocks.pad(features) * weights * blocks.valid[..., None]
    (gradient,) = torch.autograd.grad(masked.sum(), features)

    assert torch.equal(gradient, weights[blocks.valid])
    flat = blocks.flatten(weights.requires_grad_())
    (gradient,) = torch.autograd.grad(flat.sum(), weights)
    assert torch.equal(gradient, blocks.valid[..., None].expand_as(weights).double())


def test_pad_and_flatten_have_right_first_and_second_derivatives():
    blocks = NodeBlocks.from_counts(np.array([2, 0, 3]))
    features = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    padded = torch.randn(3, 3, 2, dtype=torch.float64, requires_grad=True)

    def pad(x):
        return (blocks.pad(x) * blocks.valid[..., None]) ** 2

    def flatten(x):
        return blocks.flatten(x) ** 2

    assert torch.autograd.gradcheck(pad, features)
    assert torch.autograd.gradcheck(flatten, padded)
    assert torch.autograd.gradgradcheck(pad, features)
    assert torch.autograd.gradgradcheck(flatten, padded)


def test_partners_exchange_the_sentences_of_a_pair():
    blocks = NodeBlocks.from_counts(np.array([1, 2, 3, 0]))
    partners = blocks.partners()

    assert [row[valid].tolist() for row, valid in zip(partners.index, partners.valid, strict=True)] == [
        [1, 2],
        [0],
        [],
        [3, 4, 5],
    ]
    features = torch.randn(6, 2)
    assert torch.equal(partners.flatten(partners.pad(features)), features)
    assert torch.equal(partners.partners().index, blocks.index)
    assert torch.equal(partners.partners().place, blocks.place)


@settings(max_examples=30)
@given(neighbourhoods())
def test_the_graph_of_a_neighbourhood_has_its_edges_and_nodes(neighbourhood):
    graph = neighbourhood.to_graph()
    sources, destinations = graph.edges()

    assert sorted(zip(sources.tolist(), destinations.tolist(), strict=True)) == edge_set(neighbourhood)
    assert graph.num_nodes("source") == len(neighbourhood.src.place)
    assert graph.num_nodes("destination") == len(neighbourhood.dst.place)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3))
def test_a_complete_neighbourhood_has_all_edges_inside_blocks_and_no_other(sizes):
    sources, destinations = map(np.array, zip(*sizes, strict=True))
    complete = Neighbourhood.between(NodeBlocks.from_counts(sources), NodeBlocks.from_counts(destinations))
    block_of_source = np.repeat(np.arange(len(sizes)), sources)
    block_of_destination = np.repeat(np.arange(len(sizes)), destinations)

    assert complete.complete
    assert edge_set(complete) == [
        (u, v) for u, g in enumerate(block_of_source) for v, h in enumerate(block_of_destination) if g == h
    ]


@settings(max_examples=30)
@given(neighbourhoods())
def test_moving_keeps_every_tensor(neighbourhood):
    moved = neighbourhood.to("cpu")

    assert edge_set(moved) == edge_set(neighbourhood)
    assert moved.complete == neighbourhood.complete
    assert moved.to("meta").mask.device.type == moved.to("meta").src.index.device.type == "meta"
