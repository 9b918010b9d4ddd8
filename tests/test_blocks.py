"""Dense blocks hold the same nodes and edges as the flat graph."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from letgraph.blocks import Neighbourhood, NodeBlocks, bucket_by_size, bucket_pairs
from tests.helpers import buckets_of, edge_set, neighbourhoods, random_edges


@st.composite
def bucketed_counts(draw):
    """Nodes of each sentence, and the sentences of each bucket."""
    counts = np.array(draw(st.lists(st.integers(0, 4), min_size=1, max_size=5)))
    return counts, draw(buckets_of(len(counts)))


@settings(max_examples=50)
@given(bucketed_counts())
def test_a_block_holds_the_nodes_of_its_sentence_in_their_order(drawn):
    counts, buckets = drawn
    blocks = NodeBlocks.from_counts(counts, buckets)
    nodes = np.split(np.arange(counts.sum()), np.cumsum(counts)[:-1])

    index, valid = blocks.views(blocks.index), blocks.views(blocks.valid)
    for sentences, bucket_index, bucket_valid in zip(buckets, index, valid, strict=True):
        assert bucket_index.shape == (len(sentences), max(counts[sentences].max(), 1))
        for sentence, row, holds in zip(sentences, bucket_index, bucket_valid, strict=True):
            assert row[holds].tolist() == nodes[sentence].tolist()
    assert blocks.column.tolist() == [column for count in counts for column in range(count)]


@settings(max_examples=50)
@given(bucketed_counts())
def test_flatten_undoes_pad(drawn):
    counts, buckets = drawn
    blocks = NodeBlocks.from_counts(counts, buckets)
    features = torch.randn(int(counts.sum()), 2, 3)

    padded = blocks.pad(features)

    assert padded.shape == (len(blocks.index), 2, 3)
    assert torch.equal(blocks.flatten(padded), features)
    assert torch.equal(padded[blocks.valid], features[blocks.index[blocks.valid]])


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=4))
def test_full_blocks_are_those_of_equal_counts(shapes):
    blocks = NodeBlocks.full(shapes, torch.device("cpu"))
    counts = np.repeat([width for _, width in shapes], [size for size, _ in shapes]).astype(int)

    assert bool(blocks.valid.all())
    assert torch.equal(blocks.index, torch.arange(counts.sum()))
    assert torch.equal(blocks.place, blocks.index)
    assert blocks.column.tolist() == [column for count in counts for column in range(count)]
    assert [tuple(view.shape) for view in blocks.views(blocks.index)] == (shapes or [(0, 1)])


def test_partners_exchange_the_sentences_of_a_pair():
    counts = np.array([1, 2, 3, 0, 2, 2])
    buckets = [np.array([2, 3]), np.array([4, 5, 0, 1])]
    blocks = NodeBlocks.from_counts(counts, buckets)
    partners = blocks.partners()

    held = [
        [row[holds].tolist() for row, holds in zip(index, valid, strict=True)]
        for index, valid in zip(partners.views(partners.index), partners.views(partners.valid), strict=True)
    ]
    assert held == [[[], [3, 4, 5]], [[8, 9], [6, 7], [1, 2], [0]]]
    features = torch.randn(10, 2)
    assert torch.equal(partners.flatten(partners.pad(features)), features)
    assert torch.equal(partners.partners().index, blocks.index)
    assert torch.equal(partners.partners().place, blocks.place)


@settings(max_examples=50)
@given(bucketed_counts(), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.4, 1.0]))
def test_a_neighbourhood_has_the_edges_it_was_made_from(drawn, seed, density):
    counts, buckets = drawn
    src, dst = NodeBlocks.from_counts(counts[::-1].copy(), buckets), NodeBlocks.from_counts(counts, buckets)
    sources, destinations = random_edges(np.random.default_rng(seed), counts[::-1], counts, density)

    neighbourhood = Neighbourhood.from_edges(src, dst, sources, destinations)
    graph = neighbourhood.to_graph()

    expected = sorted(zip(sources.tolist(), destinations.tolist(), strict=True))
    assert edge_set(neighbourhood) == expected
    assert sorted(zip(*(part.tolist() for part in graph.edges()), strict=True)) == expected
    assert graph.num_nodes("source") == graph.num_nodes("destination") == counts.sum()
    assert neighbourhood.has_source.tolist() == [node in destinations for node in range(counts.sum())]
    rows = torch.arange(0, int(counts.sum()), 2)
    into = list(zip(*(part.tolist() for part in neighbourhood.edges_into(rows)), strict=True))
    assert sorted(into) == [(u, v) for u, v in expected if v % 2 == 0]
    assert [v for _, v in into] == sorted(v for _, v in into)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3))
def test_a_complete_neighbourhood_has_all_edges_inside_blocks_and_no_other(sizes):
    sources, destinations = map(np.array, zip(*sizes, strict=True))
    complete = Neighbourhood.between(NodeBlocks.from_counts(sources), NodeBlocks.from_counts(destinations))
    block_of_source = np.repeat(np.arange(len(sizes)), sources)
    block_of_destination = np.repeat(np.arange(len(sizes)), destinations)

    assert complete.dense
    assert edge_set(complete) == [
        (u, v) for u, g in enumerate(block_of_source) for v, h in enumerate(block_of_destination) if g == h
    ]


@settings(max_examples=50)
@given(neighbourhoods())
def test_tiles_hold_every_edge_and_every_destination_once(neighbourhood):
    covered = [torch.zeros_like(mask, dtype=torch.int) for mask in neighbourhood.masks]
    rows = [torch.zeros(mask.shape[1], dtype=torch.int) for mask in neighbourhood.masks]
    for bucket, destinations, sources in neighbourhood.tiles:
        covered[bucket][:, destinations, sources] += 1
        rows[bucket][destinations] += 1

    assert all(bool((count == 1).all()) for count in rows)
    assert all(bool((count[mask] == 1).all()) for mask, count in zip(neighbourhood.masks, covered, strict=True))


def test_tiles_of_edges_from_behind_leave_out_what_lies_ahead():
    nodes = NodeBlocks.from_counts(np.array([6, 5]))
    sources, destinations = np.array([(u, v) for v in range(6) for u in range(v)]).T

    neighbourhood = Neighbourhood.from_edges(nodes, nodes, sources, destinations, tile=3)

    assert neighbourhood.tiles == ((0, slice(0, 3), slice(0, 2)), (0, slice(3, 6), slice(0, 5)))
    assert Neighbourhood.from_edges(nodes, nodes, sources, destinations, tile=4).tiles == (
        (0, slice(None), slice(None)),
    )


def test_few_edges_are_not_dense():
    nodes = NodeBlocks.from_counts(np.array([10]))
    loops = np.arange(10)

    assert not Neighbourhood.from_edges(nodes, nodes, loops, loops).dense
    assert Neighbourhood.from_edges(nodes, nodes, np.repeat(loops, 5), np.tile(loops, 5)).dense


@settings(max_examples=30)
@given(neighbourhoods())
def test_moving_keeps_every_tensor(neighbourhood):
    moved = neighbourhood.to("cpu")

    assert edge_set(moved) == edge_set(neighbourhood)
    assert moved.dense == neighbourhood.dense
    assert moved.to("meta").mask.device.type == moved.to("meta").src.index.device.type == "meta"


@settings(max_examples=50)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 5), st.integers(1, 4))
def test_buckets_hold_every_item_once_by_size(sizes, per_bucket, max_buckets):
    buckets = bucket_by_size(np.array(sizes), per_bucket, max_buckets)

    assert sorted(np.concatenate(buckets).tolist()) == list(range(len(sizes)))
    in_order = [sizes[item] for bucket in buckets for item in bucket]
    assert in_order == sorted(sizes)
    assert len(buckets) == min(max_buckets, -(-len(sizes) // per_bucket))


@pytest.mark.parametrize("pairs", [1, 7, 100])
def test_the_sentences_of_a_pair_stay_side_by_side(pairs):
    sizes = np.random.default_rng(0).integers(0, 50, 2 * pairs)
    buckets = bucket_pairs(sizes)

    sentences = np.concatenate(buckets).reshape(-1, 2)
    assert (sentences[:, 0] % 2 == 0).all()
    assert (sentences[:, 1] == sentences[:, 0] + 1).all()
    assert all(len(bucket) % 2 == 0 for bucket in buckets)
    assert sorted(sentences.ravel().tolist()) == list(range(2 * pairs))
