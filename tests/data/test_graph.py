"""The graph of a batch: worked by hand, built slowly from the definitions, and batched by DGL."""

from __future__ import annotations

from collections import Counter

import dgl
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from letgraph import schema
from letgraph.data.graph import GraphArrays, build_arrays, to_dgl
from letgraph.ragged import Ragged
from tests.helpers import SENSE_SEMEMES, Sentence, pair_lists, to_table

options = st.sampled_from(
    [
        {"senses": senses, "sense_sememes": sememes, "sememe_context": context, "boundary_chars": boundary}
        for boundary in (False, True)
        for senses, sememes, context in (
            (True, None, "sense"),
            (True, SENSE_SEMEMES, "sense"),
            (True, SENSE_SEMEMES, "sentence"),
            (False, None, "sense"),
        )
    ]
)

# 存款: words 存, 款, 存款; 存款 has senses 0 and 2. 利: sense 1.
PAIR = [
    Sentence("存款", ((0, 1), (0, 2), (1, 2)), ((), (0, 2), ())),
    Sentence("利", ((0, 1),), ((1,),)),
]
# Words of a: begin 0, 存 1, 存款 2, 款 3, end 4; of b: begin 5, 利 6, end 7. Characters 存 0, 款 1, 利 2.


def edges(arrays: GraphArrays) -> dict[str, set[tuple[int, int]]]:
    return {
        f"{source} -{name}-> {destination}": set(zip(*map(np.ndarray.tolist, pair), strict=True))
        for (source, name, destination), pair in arrays.edges.items()
    }


def test_a_pair_worked_by_hand():
    arrays = build_arrays(to_table(PAIR), sense_sememes=SENSE_SEMEMES)

    assert {ntype: counts.tolist() for ntype, counts in arrays.counts.items()} == {
        "char": [2, 1],
        "word": [5, 3],
        "sense": [2, 1],
        "sememe": [5, 1],
    }
    assert edges(arrays) == {
        "char -in-> word": {(0, 1), (0, 2), (1, 2), (1, 3), (2, 6)},
        "word -covers-> char": {(1, 0), (2, 0), (2, 1), (3, 1), (6, 2)},
        "char -self-> char": {(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)},
        "char -cross-> char": {(0, 2), (1, 2), (2, 0), (2, 1)},
        # From 存款 the lattice goes on to itself and the end; 存 and 款 lie beside it.
        "word -fw-> sense": {(2, 0), (4, 0), (2, 1), (4, 1), (6, 2), (7, 2)},
        "word -bw-> sense": {(2, 0), (0, 0), (2, 1), (0, 1), (6, 2), (5, 2)},
        "sense -of-> word": {(0, 2), (1, 2), (2, 6)},
        # Sense 0 has sememes 0, 1; sense 2 has 1, 3, 0; sense 1 has 2.
        "sememe -of-> sense": {(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (5, 2)},
        "sememe -ctx-> sememe": {
            *((u, v) for u in (0, 1) for v in (0, 1)),
            *((u, v) for u in (2, 3, 4) for v in (2, 3, 4)),
            (5, 5),
        },
    }
    nodes = {ntype: {name: values.tolist() for name, values in data.items()} for ntype, data in arrays.nodes.items()}
    assert nodes == {
        "char": {"code": [ord("存"), ord("款"), ord("利")], "sentence": [0, 0, 1]},
        "word": {"start": [0, 0, 0, 1, 2, 0, 0, 1], "end": [0, 1, 2, 2, 2, 0, 1, 1], "sentence": [0] * 5 + [1] * 3},
        "sense": {"sense": [0, 2, 1], "sentence": [0, 0, 1]},
        "sememe": {"sememe": [0, 1, 1, 3, 0, 2], "sentence": [0] * 5 + [1]},
    }


def test_a_sentence_context_has_each_sememe_of_a_sentence_once():
    arrays = build_arrays(to_table(PAIR), sense_sememes=SENSE_SEMEMES, sememe_context="sentence")

    assert arrays.nodes["sememe"]["sememe"].tolist() == [0, 1, 3, 2]
    assert edges(arrays)["sememe -of-> sense"] == {(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (3, 2)}
    assert edges(arrays)["sememe -ctx-> sememe"] == {*((u, v) for u in range(3) for v in range(3)), (3, 3)}


def test_a_dummy_sememe_is_in_every_context_and_in_no_sense():
    nothing = [Sentence("利", ((0, 1),), ((),))] * 2

    arrays = build_arrays(
        to_table(PAIR + nothing), sense_sememes=SENSE_SEMEMES, sememe_context="sentence", dummy_sememe=True
    )

    assert arrays.nodes["sememe"]["sememe"].tolist() == [0, 1, 2, 4, 0, 3, 0, 0]
    assert arrays.nodes["sememe"]["sentence"].tolist() == [0, 0, 0, 0, 1, 1, 0, 1]
    assert arrays.counts["sememe"].tolist() == [4, 2, 1, 1]
    assert edges(arrays)["sememe -of-> sense"] == {(1, 0), (2, 0), (1, 1), (2, 1), (3, 1), (5, 2)}
    complete = [range(4), range(4, 6), [6], [7]]
    assert edges(arrays)["sememe -ctx-> sememe"] == {(u, v) for group in complete for u in group for v in group}


def test_boundary_words_cover_a_character_of_their_own():
    arrays = build_arrays(to_table(PAIR), boundary_chars=True)

    assert arrays.nodes["char"]["code"].tolist() == [-1, ord("存"), ord("款"), -1, -1, ord("利"), -1]
    assert edges(arrays)["char -in-> word"] == {
        (0, 0), (1, 1), (1, 2), (2, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7),
    }  # fmt: skip
    assert len(arrays.edges[schema.SELF][0]) == 4 * 4 + 3 * 3
    assert len(arrays.edges[schema.CROSS][0]) == 2 * 4 * 3


def test_without_senses_words_reach_words_in_both_directions():
    reach = edges(build_arrays(to_table(PAIR), senses=False))["word -reach-> word"]

    forward = {(0, 1), (0, 2), (0, 3), (0, 4), (1, 3), (1, 4), (2, 4), (3, 4), (5, 6), (5, 7), (6, 7)}
    assert reach == {(i, i) for i in range(8)} | forward | {(v, u) for u, v in forward}


@settings(max_examples=30)
@given(pair_lists(), options)
def test_edges_are_those_of_the_definitions(sentences, options):
    arrays = build_arrays(to_table(sentences), **options)
    expected = slow_edges(sentences, **options)

    assert set(arrays.edges) == set(expected)
    for etype, (sources, destinations) in arrays.edges.items():
        found = Counter(zip(sources.tolist(), destinations.tolist(), strict=True))
        assert found == Counter(expected[etype]), etype


@settings(max_examples=30)
@given(pair_lists(), options)
def test_types_are_those_of_the_schema(sentences, options):
    arrays = build_arrays(to_table(sentences), **options)
    sememes = options["sense_sememes"] is not None

    assert set(arrays.edges) == set(schema.edge_types(options["senses"], sememes))
    assert set(arrays.counts) == set(arrays.nodes) == set(schema.node_types(options["senses"], sememes))
    for ntype, counts in arrays.counts.items():
        assert all(len(values) == counts.sum() for values in arrays.nodes[ntype].values())


@settings(max_examples=30)
@given(pair_lists(), options)
def test_the_batched_graph_is_what_dgl_makes_of_single_graphs(sentences, options):
    table = to_table(sentences)
    batched = to_dgl(build_arrays(table, **options))
    rows = np.arange(len(sentences)).reshape(-1, 2)
    by_dgl = dgl.batch([to_dgl(build_arrays(table.take(pair), **options)) for pair in rows])

    assert set(batched.ntypes) == set(by_dgl.ntypes)
    assert set(batched.canonical_etypes) == set(by_dgl.canonical_etypes)
    assert batched.batch_size == by_dgl.batch_size == len(rows)
    for ntype in by_dgl.ntypes:
        assert batched.num_nodes(ntype) == by_dgl.num_nodes(ntype)
        assert torch.equal(batched.batch_num_nodes(ntype), by_dgl.batch_num_nodes(ntype))
        assert set(batched.nodes[ntype].data) == set(by_dgl.nodes[ntype].data)
        for name, values in by_dgl.nodes[ntype].data.items():
            assert torch.equal(batched.nodes[ntype].data[name], values), (ntype, name)
    for etype in by_dgl.canonical_etypes:
        assert torch.equal(batched.batch_num_edges(etype), by_dgl.batch_num_edges(etype)), etype
        assert edge_list(batched, etype) == edge_list(by_dgl, etype), etype


@settings(max_examples=30)
@given(pair_lists(), options)
def test_unbatching_gives_the_graph_of_each_pair(sentences, options):
    table = to_table(sentences)
    # DGL slices edges of a batch by their order, so edges must stand pair by pair.
    parts = dgl.unbatch(to_dgl(build_arrays(table, **options)))

    for pair, part in enumerate(parts):
        alone = to_dgl(build_arrays(table.take(np.array([2 * pair, 2 * pair + 1])), **options))
        for etype in alone.canonical_etypes:
            assert edge_list(part, etype) == edge_list(alone, etype), etype


@pytest.mark.parametrize("context", ["sense", "sentence"])
def test_a_batch_without_any_sense_has_the_types_but_no_nodes(context):
    sentences = [Sentence("存款", ((0, 2),), ((),)), Sentence("利", ((0, 1),), ((),))]

    graph = to_dgl(build_arrays(to_table(sentences), sense_sememes=SENSE_SEMEMES, sememe_context=context))

    assert graph.num_nodes("sense") == graph.num_nodes("sememe") == 0
    assert set(graph.canonical_etypes) == set(schema.edge_types())
    assert all(graph.num_edges(e) == 0 for e in graph.canonical_etypes if {"sense", "sememe"} & {e[0], e[2]})
    assert graph.batch_num_nodes("sememe").tolist() == [0]


@pytest.mark.parametrize("context", ["sense", "sentence"])
def test_a_sense_without_sememes_is_a_node_without_leaves(context):
    sememes = Ragged.from_lists([[], [3, 1]], np.int32)
    sentences = [Sentence("存款", ((0, 2),), ((0,),)), Sentence("利", ((0, 1),), ((0, 1),))]

    arrays = build_arrays(to_table(sentences), sense_sememes=sememes, sememe_context=context)

    assert arrays.counts["sense"].tolist() == [1, 2]
    assert arrays.counts["sememe"].tolist() == [0, 2]
    assert set(arrays.edges[schema.SEMEME_OF][1].tolist()) == {2}


def edge_list(graph: dgl.DGLGraph, etype: schema.EdgeType) -> list[tuple[int, int]]:
    sources, destinations = graph.edges(etype=etype)
    return sorted(zip(sources.tolist(), destinations.tolist(), strict=True))


def slow_edges(
    sentences: list[Sentence],
    *,
    senses: bool,
    sense_sememes: Ragged | None,
    sememe_context: str,
    boundary_chars: bool,
) -> dict[schema.EdgeType, list[tuple[int, int]]]:
    """The definitions of `letgraph.schema`, word for word. A node is named (sentence, ...) and numbered in order."""
    chars: list[tuple[int, int]] = []  # (sentence, place); the begin word's own character has place -1
    words: list[tuple[int, int]] = []  # (sentence, number)
    senses_: list[tuple[int, int, int]] = []  # (sentence, word, sense id)
    covers: dict[tuple[int, int], list[int]] = {}
    for s, sentence in enumerate(sentences):
        length = len(sentence.text)
        chars += [(s, place) for place in range(-boundary_chars, length + boundary_chars)]
        words += [(s, w) for w in range(len(sentence.nodes))]
        senses_ += [(s, w, i) for w, ids in enumerate(sentence.node_senses) for i in ids]
        covers.update({(s, w): list(range(*span)) for w, span in enumerate(sentence.nodes)})
        if boundary_chars:
            covers[s, 0], covers[s, len(sentence.nodes) - 1] = [-1], [length]
    reach = {(s, u, v) for s, sentence in enumerate(sentences) for u, v in sentence.reach()}

    def pairs(sources, destinations, holds):
        return [(u, v) for u, x in enumerate(sources) for v, y in enumerate(destinations) if holds(x, y)]

    edges = {
        schema.IN: pairs(chars, words, lambda c, w: c[0] == w[0] and c[1] in covers[w]),
        schema.COVERS: pairs(words, chars, lambda w, c: c[0] == w[0] and c[1] in covers[w]),
        schema.SELF: pairs(chars, chars, lambda x, y: x[0] == y[0]),
        schema.CROSS: pairs(chars, chars, lambda x, y: x[0] != y[0] and x[0] // 2 == y[0] // 2),
    }
    if not senses:
        edges[schema.REACH] = pairs(
            words,
            words,
            lambda u, v: u[0] == v[0] and ((u[0], u[1], v[1]) in reach or (u[0], v[1], u[1]) in reach),
        )
        return edges
    edges[schema.FORWARD] = pairs(words, senses_, lambda w, g: w[0] == g[0] and (w[0], g[1], w[1]) in reach)
    edges[schema.BACKWARD] = pairs(words, senses_, lambda w, g: w[0] == g[0] and (w[0], w[1], g[1]) in reach)
    edges[schema.SENSE_OF] = pairs(senses_, words, lambda g, w: g[:2] == w)
    if sense_sememes is None:
        return edges
    if sememe_context == "sense":
        # (sense number, sentence, sememe id)
        leaves = [(n, g[0], int(m)) for n, g in enumerate(senses_) for m in sense_sememes[g[2]]]
        edges[schema.SEMEME_OF] = [(leaf, n) for leaf, (n, _, _) in enumerate(leaves)]
        edges[schema.CONTEXT] = pairs(leaves, leaves, lambda x, y: x[0] == y[0])
    else:
        distinct = sorted({(g[0], int(m)) for g in senses_ for m in sense_sememes[g[2]]})
        edges[schema.SEMEME_OF] = pairs(
            distinct, senses_, lambda m, g: m[0] == g[0] and m[1] in sense_sememes[g[2]].tolist()
        )
        edges[schema.CONTEXT] = pairs(distinct, distinct, lambda x, y: x[0] == y[0])
    return edges
