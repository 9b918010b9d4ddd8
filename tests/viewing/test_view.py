"""The view of a pair: what is in the sentences, the segmenters and the lexicon is in its nodes and edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from letgraph import schema
from letgraph.errors import LetgraphError
from letgraph.matcher import Matcher
from letgraph.nn.attention_record import record_attention
from letgraph.text.lexicon import Lexicon
from letgraph.text.segment import load_segmenter
from letgraph.viewing.view import look, look_by_segmenter, view_of
from tests.helpers import batch_for, random_pairs, tiny_let
from tests.tiny import tiny_checkpoint


class Fixed:
    """A segmenter that cuts at the blanks of the sentence it was made with."""

    version = "1"

    def __init__(self, name: str, *cuts: str) -> None:
        self.name, self._cuts = name, {cut.replace(" ", ""): cut.split() for cut in cuts}

    def cut(self, sentence: str) -> list[str]:
        return self._cuts[sentence]


BRIDGE = (
    Fixed("jieba", "南京市 长江大桥", "还 款"),
    Fixed("thulac", "南京 市长 江大桥", "还款"),
)
LEXICON = Lexicon.from_senses(
    [("市长", ["human|人", "official|官"]), ("还款", ["还"]), ("还", ["return|还"]), ("还", ["仍"])], "a test"
)


def test_nodes_have_names_spans_segmenters_and_senses():
    view = look("南京市长江大桥", "还款", BRIDGE, LEXICON)
    words = {node["name"]: node for node in view.nodes[schema.WORD]}
    assert set(words) == {
        *("a:begin", "a:南京[0:2]", "a:南京市[0:3]", "a:市长[2:4]", "a:长江大桥[3:7]", "a:江大桥[4:7]", "a:end"),
        *("b:begin", "b:还[0:1]", "b:还款[0:2]", "b:款[1:2]", "b:end"),
    }
    assert words["a:南京市[0:3]"]["segmenters"] == "jieba"
    assert words["b:还款[0:2]"] == {
        **{"type": "word", "sentence": "b", "name": "b:还款[0:2]", "label": "还款", "text": "还款"},
        **{"span_start": 0, "span_end": 2, "segmenters": "thulac"},
    }
    senses = {node["name"]: node for node in view.nodes[schema.SENSE]}
    assert set(senses) == {"a:市长[2:4]#1", "b:还[0:1]#1", "b:还[0:1]#2", "b:还款[0:2]#1"}
    assert senses["a:市长[2:4]#1"]["sememes"] == "人 官"
    assert senses["a:市长[2:4]#1"]["sememes_english"] == "human official"
    assert "sememes_english" not in senses["b:还[0:1]#2"]
    assert [node["text"] for node in view.nodes[schema.CHAR]] == list("南京市长江大桥还款")
    assert sorted(node["text"] for node in view.nodes[schema.SEMEME]) == sorted(["人", "官", "还", "还", "仍"])


def test_edges_join_what_the_schema_says():
    view = look("南京市长江大桥", "还款", BRIDGE, LEXICON)
    assert set(view.edges) == set(schema.edge_types())
    forward = {
        (view.nodes["word"][word]["name"], view.nodes["sense"][sense]["name"])
        for word, sense in zip(*(ends.tolist() for ends in view.edges[schema.FORWARD]), strict=True)
    }
    assert {word for word, sense in forward if sense == "a:市长[2:4]#1"} == {"a:市长[2:4]", "a:江大桥[4:7]", "a:end"}
    for (source, _, destination), (sources, destinations) in view.edges.items():
        assert sources.max() < len(view.nodes[source]) and destinations.max() < len(view.nodes[destination])


def test_a_model_adds_probability_and_weights_that_sum_to_one():
    checkpoint = tiny_checkpoint()
    matcher = Matcher(checkpoint, "cpu")
    view = look("花呗怎么还款", "我的银行卡丢了", [load_segmenter("jieba")], None, checkpoint)
    assert view.probability == pytest.approx(matcher.predict([("花呗怎么还款", "我的银行卡丢了")])[0], rel=1e-5)
    assert set(view.attention[schema.SENSE_OF]) == {1, 2}
    for etype, layers in view.attention.items():
        for alpha in layers.values():
            _, destinations = view.edges[etype]
            total = np.zeros((len(view.nodes[etype[2]]), alpha.shape[1]))
            np.add.at(total, destinations, alpha)
            np.testing.assert_allclose(total[np.unique(destinations)], 1, rtol=1e-4)
    for side in "ab":
        shares = [node["share"] for node in view.nodes[schema.CHAR] if node["sentence"] == side]
        assert sum(shares) == pytest.approx(1, rel=1e-4)
    assert any(view.matched())


@pytest.mark.parametrize("preset", ["paper", "reference"])
def test_a_pair_of_a_batch_looks_as_it_does_alone(preset):
    model = tiny_let(preset)
    pairs = random_pairs(5, pairs=3)
    views = []
    for sentences, index in ((pairs, 1), (pairs[2:4], 0)):
        batch = batch_for(model, sentences)
        with torch.no_grad(), record_attention(model) as records:
            model(batch)
            views.append(view_of(batch, index, records=records))
    inside, alone = views
    assert inside.texts == alone.texts == (pairs[2].text, pairs[3].text)
    for ntype in alone.nodes:
        for one, other in zip(inside.nodes[ntype], alone.nodes[ntype], strict=True):
            shares = one.pop("share", 0), other.pop("share", 0)
            assert one == other and shares[0] == pytest.approx(shares[1], rel=1e-4)
    for etype, ends in alone.edges.items():
        assert all(np.array_equal(*both) for both in zip(inside.edges[etype], ends, strict=True))
        for layer, alpha in alone.attention.get(etype, {}).items():
            np.testing.assert_allclose(inside.attention[etype][layer], alpha, rtol=1e-4, atol=1e-6)


def test_names_are_unique_whatever_the_preset():
    for preset in ("paper", "reference"):
        model = tiny_let(preset)
        view = view_of(batch_for(model, random_pairs(7, pairs=1)))
        names = [node["name"] for nodes in view.nodes.values() for node in nodes]
        assert len(set(names)) == len(names)


def test_what_cannot_be_looked_at_is_said():
    with pytest.raises(LetgraphError, match="sentence b is empty after cleaning"):
        look("还款", " \n", BRIDGE)
    with pytest.raises(IndexError):
        view_of(batch_for(tiny_let(), random_pairs(1, pairs=2)), 2)


def test_a_pair_too_long_for_the_encoder_is_cut_off_and_said():
    checkpoint = tiny_checkpoint()
    checkpoint = replace(checkpoint, preparation=replace(checkpoint.preparation, max_tokens=10))
    pair = "花呗怎么还款", "怎么还花呗"
    views = look_by_segmenter(*pair, [load_segmenter("jieba"), load_segmenter("thulac")], None, checkpoint)
    (warning,) = {view.warning for view in views.values()}
    assert "4 characters at the ends of sentences were cut off" in warning
    assert {view.texts for view in views.values()} == {("花呗怎么", "怎么还")}
    assert look(pair[0][:4], pair[1][:3], [load_segmenter("jieba")], None, checkpoint).warning is None
