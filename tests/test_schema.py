"""The schema names every type of every kind of graph, once."""

from __future__ import annotations

import pytest

from letgraph import schema


@pytest.mark.parametrize("senses", [True, False])
@pytest.mark.parametrize("sememes", [True, False])
def test_edge_types_are_distinct_and_join_node_types_of_the_same_graph(senses, sememes):
    nodes = schema.node_types(senses, sememes)
    edges = schema.edge_types(senses, sememes)

    assert len(set(edges)) == len(edges)
    assert {end for source, _, destination in edges for end in (source, destination)} == set(nodes)


def test_the_whole_schema_is_that_of_the_paper():
    assert schema.node_types() == ("char", "word", "sense", "sememe")
    assert set(schema.edge_types()) == {
        ("char", "in", "word"),
        ("word", "fw", "sense"),
        ("word", "bw", "sense"),
        ("sense", "of", "word"),
        ("word", "covers", "char"),
        ("char", "self", "char"),
        ("char", "cross", "char"),
        ("sememe", "of", "sense"),
        ("sememe", "ctx", "sememe"),
    }


def test_without_senses_words_reach_words_and_nothing_is_made_of_senses():
    assert schema.node_types(senses=False) == ("char", "word")
    assert ("word", "reach", "word") in schema.edge_types(senses=False)
    assert not any({"sense", "sememe"} & set(etype) for etype in schema.edge_types(senses=False))


def test_the_module_documents_every_edge_type():
    for source, name, destination in {*schema.edge_types(), *schema.edge_types(senses=False)}:
        assert f"{source} -{name}-> {destination}" in (schema.__doc__ or "")
