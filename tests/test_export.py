"""Exported graphs: complete, readable by other programs, and the same after a way through a file."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from letgraph import schema
from letgraph.errors import LetgraphError
from letgraph.export import FORMATS, to_networkx, write_graph
from letgraph.text.lexicon import Lexicon
from letgraph.text.segment import load_segmenter
from letgraph.viewing.view import look
from tests.helpers import batch_for, random_pairs, tiny_let
from tests.tiny import tiny_checkpoint


class Characters:
    """Every character a word."""

    name, version = "jieba", "1"

    def cut(self, sentence: str) -> list[str]:
        return list(sentence)


LEXICON = Lexicon.from_senses([("卡", ["card|卡", "tool|用具"]), ("卡", ["阻"]), ("\\", ["<记号>"])], "a test")
# What may be in a cleaned sentence, with all that XML and DOT treat specially.
TEXTS = st.text(st.sampled_from("卡还&<>\"\\'{}[]; ->#\u0378\U0001f600"), min_size=1).filter(str.strip)
SHORT = TEXTS.map(lambda text: text.strip()[:3])  # pydot's parser is slow


@pytest.fixture(scope="module")
def with_model() -> nx.MultiDiGraph:
    view = look("花呗怎么还款", "怎么还花呗", [load_segmenter("jieba")], None, tiny_checkpoint())
    return to_networkx(view, vectors=True)


def same(graph: nx.MultiDiGraph, other: nx.MultiDiGraph, *, graph_attributes: bool = True) -> None:
    assert dict(graph.nodes(data=True)) == dict(other.nodes(data=True))
    edges = [{(u, v, key): data for u, v, key, data in g.edges(keys=True, data=True)} for g in (graph, other)]
    assert edges[0] == edges[1]
    if graph_attributes:
        assert graph.graph == {key: value for key, value in other.graph.items() if not key.endswith("_default")}


@settings(max_examples=30)
@given(TEXTS, TEXTS)
def test_graphml_loses_nothing_whatever_the_characters(tmp_path_factory, a, b):
    path = tmp_path_factory.mktemp("graph") / "pair.graphml"
    graph = to_networkx(look(a, b, [Characters()], LEXICON))
    write_graph(graph, path)
    same(graph, nx.read_graphml(path, force_multigraph=True))


def test_graphml_keeps_weights_and_vectors(with_model, tmp_path):
    write_graph(with_model, tmp_path / "pair.graphml")
    same(with_model, nx.read_graphml(tmp_path / "pair.graphml"))
    ids = [key for _, _, key in with_model.edges(keys=True)]
    assert len(set(ids)) == len(ids), "GraphML wants an id of its own for every edge"


def test_json_keeps_everything(with_model, tmp_path):
    write_graph(with_model, tmp_path / "pair.json")
    content = json.loads((tmp_path / "pair.json").read_text(encoding="utf-8"))
    same(with_model, nx.node_link_graph(content, edges="edges"))


def test_gexf_keeps_nodes_and_edges(with_model, tmp_path):
    write_graph(with_model, tmp_path / "pair.gexf")
    read = nx.read_gexf(tmp_path / "pair.gexf")
    assert {name: data["label"] for name, data in read.nodes(data=True)} == dict(with_model.nodes(data="label"))
    relations = sorted((u, v, data["relation"]) for u, v, data in with_model.edges(data=True))
    assert sorted((u, v, data["relation"]) for u, v, data in read.edges(data=True)) == relations


@pytest.mark.filterwarnings("ignore:.*deprecated")
@settings(max_examples=10)
@given(SHORT, SHORT)
def test_dot_is_read_by_another_program(tmp_path_factory, a, b):
    pydot = pytest.importorskip("pydot")
    path = tmp_path_factory.mktemp("graph") / "pair.dot"
    graph = to_networkx(look(a, b, [Characters()], LEXICON))
    write_graph(graph, path)
    (read,) = pydot.graph_from_dot_data(path.read_text(encoding="utf-8"))
    names = {node.get_name()[1:-1].replace('\\"', '"').replace("\\\\", "\\") for node in read.get_nodes()}
    assert names == set(graph.nodes)
    assert len(read.get_edges()) == graph.number_of_edges()


def test_edges_carry_relation_weights_and_vectors(with_model):
    by_relation: dict[str, list[dict]] = {}
    for _, _, data in with_model.edges(data=True):
        by_relation.setdefault(data["relation"], []).append(data)
    assert set(by_relation) == {relation for _, relation, _ in schema.edge_types()}
    (first, *_), cross = by_relation["fw"], by_relation["cross"]
    assert first["weight"] == first["weight_2"]
    for layer in ("1", "2"):
        vector = np.array(first[f"alpha_{layer}"].split(), float)
        assert len(vector) == 16 and vector.mean() == pytest.approx(first[f"weight_{layer}"], rel=1e-5)
    assert any(data["matched"] for data in cross)
    assert 0 < with_model.graph["probability"] < 1


def test_a_pair_of_a_batch_can_be_exported():
    model = tiny_let("reference")
    pairs = random_pairs(2, pairs=2)
    batch = batch_for(model, pairs)
    graph = to_networkx(batch, 1)
    assert graph.graph["text_a"] == pairs[2].text
    for ntype in batch.graph.ntypes:
        count = sum(data["type"] == ntype for _, data in graph.nodes(data=True))
        assert count == int((batch.pair[ntype] == 1).sum())
    assert all(type(value) in (str, int, float, bool) for _, data in graph.nodes(data=True) for value in data.values())


def test_every_format_is_written_whole_or_refused(tmp_path):
    graph = to_networkx(look("卡", "还\uffff", [Characters()], LEXICON))
    for suffix in (".graphml", ".gexf"):
        with pytest.raises(LetgraphError, match="U\\+FFFF, which XML cannot hold"):
            write_graph(graph, tmp_path / f"pair{suffix}")
    with pytest.raises(LetgraphError, match=f"one of {', '.join(FORMATS)}"):
        write_graph(graph, tmp_path / "pair.png")
    assert list(tmp_path.iterdir()) == []
