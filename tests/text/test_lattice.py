"""Adjacency and reachability of word lattices are exact."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letgraph.text.lattice import adjacency, build_lattice, fewest_words, forward_reach

Span = tuple[int, int]


@st.composite
def tilings(draw: st.DrawFn, length: int) -> list[Span]:
    """What one segmenter may say of a sentence: spans that cover it without overlap."""
    cuts = [0, *sorted(draw(st.sets(st.integers(1, length), max_size=length))), length]
    return [(start, end) for start, end in pairwise(cuts) if start < end]


@st.composite
def lattices(draw: st.DrawFn) -> tuple[int, list[Span]]:
    """Length and spans: up to three tilings and spans that fit nowhere, in any order, with repetitions."""
    length = draw(st.integers(1, 12))
    spans = [span for _ in range(draw(st.integers(1, 3))) for span in draw(tilings(length))]
    loose = st.tuples(st.integers(0, length - 1), st.integers(1, length)).filter(lambda span: span[0] < span[1])
    spans += draw(st.lists(loose, max_size=4))
    return length, draw(st.permutations(spans))


def graph_of(words: list[Span]) -> nx.DiGraph:
    """The definition: u is adjacent to v when u's last character is immediately before v's first."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(words)))
    for u, (_, end_u) in enumerate(words):
        graph.add_edges_from((u, v) for v, (start_v, _) in enumerate(words) if end_u == start_v and u != v)
    return graph


@given(lattices())
def test_nodes_are_begin_then_distinct_sorted_spans_then_end(lattice):
    length, spans = lattice

    words = build_lattice(length, spans)

    assert words[0] == (0, 0)
    assert words[1:-1] == sorted(set(spans))
    assert words[-1] == (length, length)


@given(lattices())
def test_adjacency_is_its_definition(lattice):
    words = build_lattice(*lattice)

    assert sorted(adjacency(words)) == sorted(graph_of(words).edges)


@given(lattices())
def test_reach_is_the_reflexive_transitive_closure(lattice):
    words = build_lattice(*lattice)
    closure = nx.transitive_closure_dag(graph_of(words))
    closure.add_edges_from((u, u) for u in closure)

    masks = forward_reach(words)

    reached = [(u, v) for u, mask in enumerate(masks) for v in range(mask.bit_length()) if mask >> v & 1]
    assert sorted(reached) == sorted(closure.edges)


@given(st.integers(1, 12).flatmap(lambda length: st.lists(tilings(length), min_size=1, max_size=3)))
def test_every_word_of_a_segmenter_lies_between_begin_and_end(cuts):
    length = cuts[0][-1][1]
    masks = forward_reach(build_lattice(length, [span for tiling in cuts for span in tiling]))

    assert masks[0] == (1 << len(masks)) - 1
    assert all(mask >> len(masks) - 1 for mask in masks)


@pytest.mark.parametrize(
    ("length", "spans", "problem"),
    [
        (3, [(0, 1), (2, 3)], "no word covers character 1"),
        (3, [(1, 3)], "no word covers character 0"),
        (3, [(0, 2)], "no word covers character 2"),
        (3, [], "no word covers character 0"),
        (3, [(0, 3), (1, 1)], r"span \(1, 1\) is empty"),
        (3, [(0, 4)], "outside a sentence of 3"),
        (3, [(-1, 3)], "outside a sentence of 3"),
    ],
)
def test_a_lattice_that_does_not_cover_its_sentence_is_refused(length, spans, problem):
    with pytest.raises(ValueError, match=problem):
        build_lattice(length, spans)


@given(lattices())
def test_the_path_of_fewest_words_tiles_the_sentence_and_none_is_shorter(lattice):
    length, spans = lattice
    steps = nx.DiGraph(spans)

    path = fewest_words(length, spans)

    assert [start for start, _ in path] == [0, *(end for _, end in path[:-1])] and path[-1][1] == length
    assert set(path) <= set(spans)  # each segmenter's own words lead through
    assert len(path) == nx.shortest_path_length(steps, 0, length)


def test_of_equally_short_paths_the_one_with_the_longest_first_words_is_taken():
    assert fewest_words(4, [(0, 0), (0, 1), (1, 4), (0, 3), (3, 4), (0, 2), (2, 4), (4, 4)]) == [(0, 3), (3, 4)]


def test_where_no_path_leads_through_single_characters_fill_the_gap():
    assert fewest_words(3, [(0, 2), (1, 3)]) == [(0, 2), (2, 3)]
    assert fewest_words(3, [(1, 3)]) == [(0, 1), (1, 3)]
    assert fewest_words(5, [(0, 2), (2, 4), (4, 5), (1, 5)]) == [(0, 2), (2, 4), (4, 5)]
