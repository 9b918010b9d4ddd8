"""A batch of pairs: tokens, blocks and edges agree with the sentences and with the graph."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from letgraph import schema
from letgraph.data.collate import Collator, interleave
from letgraph.text.vocabulary import CLS, PAD, SEP, PieceVocabulary
from tests.helpers import SENSE_SEMEMES, VOCABULARY, Sentence, edge_set, pair_lists, to_table

collators = st.sampled_from(
    [
        Collator(VOCABULARY),
        Collator(VOCABULARY, sense_sememes=SENSE_SEMEMES, sememe_context="sentence", boundary_chars=True),
        Collator(VOCABULARY, sense_sememes=SENSE_SEMEMES),
        Collator(VOCABULARY, senses=False),
    ]
)

# 存 4, 款 5, 利 6, 率 7, 银 8 and 行, which is unknown, 1.
PAIRS = [
    Sentence("存款", ((0, 2),), ((3, 5),)),
    Sentence("利率行", ((0, 2), (2, 3)), ((), (1,))),
    Sentence("银", ((0, 1),), ((),)),
    Sentence("款", ((0, 1),), ((),)),
]


def test_tokens_of_two_pairs_worked_by_hand():
    batch = Collator(VOCABULARY)(to_table(PAIRS), [1, 0])

    assert len(batch) == 2
    assert batch.input_ids.tolist() == [[CLS, 4, 5, SEP, 6, 7, 1, SEP], [CLS, 8, SEP, 5, SEP, PAD, PAD, PAD]]
    assert batch.token_type_ids.tolist() == [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0, 0]]
    assert batch.position_ids.tolist() == [[0, 1, 2, 3, 1, 2, 3, 4], [0, 1, 2, 1, 2, 0, 0, 0]]
    assert batch.attention_mask.int().tolist() == [[1] * 8, [1, 1, 1, 1, 1, 0, 0, 0]]
    assert batch.char_token.tolist() == [1, 2, 4, 5, 6, 9, 11]
    assert batch.senses.tolist() == [3, 5, 1]
    assert batch.labels is not None and batch.labels.tolist() == [1.0, 0.0]


def test_running_positions_count_on():
    batch = Collator(VOCABULARY, positions="running")(to_table(PAIRS))

    assert batch.position_ids.tolist() == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 0, 0, 0]]


def test_special_tokens_are_those_of_the_vocabulary():
    vocabulary = PieceVocabulary(["[UNK]", "[PAD]", "[CLS]", "[SEP]", "存款", "##款", "款", "存", "银", "利"])

    batch = Collator(vocabulary)(to_table(PAIRS))

    assert batch.input_ids.tolist() == [[2, 7, 6, 3, 9, 0, 0, 3], [2, 8, 3, 6, 3, 1, 1, 1]]


def test_pairs_that_are_too_long_are_cut():
    batch = Collator(VOCABULARY, max_tokens=6)(to_table(PAIRS))

    assert batch.input_ids.tolist() == [[CLS, 4, 5, SEP, 6, SEP], [CLS, 8, SEP, 5, SEP, PAD]]


def test_boundary_characters_stand_at_cls_and_separators():
    batch = Collator(VOCABULARY, boundary_chars=True)(to_table(PAIRS))

    tokens = batch.input_ids.flatten()[batch.char_token]
    assert tokens.tolist() == [CLS, 4, 5, SEP, SEP, 6, 7, 1, SEP, CLS, 8, SEP, SEP, 5, SEP]
    assert batch.labels is None


@settings(max_examples=30)
@given(pair_lists(), collators)
def test_every_character_node_stands_at_its_own_token(sentences, collator):
    batch = collator(to_table(sentences))
    codes = batch.graph.nodes["char"].data["code"]
    real = codes >= 0

    ids = VOCABULARY.encode(codes[real].numpy().astype(np.uint32))
    assert batch.input_ids.flatten()[batch.char_token[real]].tolist() == ids.tolist()
    sentence = batch.graph.nodes["char"].data["sentence"][real]
    assert torch.equal(batch.token_type_ids.flatten()[batch.char_token[real]], sentence)
    assert bool(batch.attention_mask.flatten()[batch.char_token].all())


@settings(max_examples=30)
@given(pair_lists(), collators)
def test_dense_blocks_hold_the_edges_of_the_graph(sentences, collator):
    batch = collator(to_table(sentences))

    assert set(batch.edges) == set(batch.graph.canonical_etypes)
    for etype, neighbourhood in batch.edges.items():
        sources, destinations = batch.graph.edges(etype=etype)
        assert edge_set(neighbourhood) == sorted(zip(sources.tolist(), destinations.tolist(), strict=True)), etype
        graph = neighbourhood.graph
        assert graph is not None and graph.num_edges() == len(sources)


@settings(max_examples=30)
@given(pair_lists(), collators)
def test_nodes_know_their_pair_and_sentences_their_first_and_last_word(sentences, collator):
    batch = collator(to_table(sentences))

    for ntype, pair in batch.pair.items():
        sentence = 2 * pair + batch.graph.nodes[ntype].data["sentence"]
        assert len(pair) == batch.graph.num_nodes(ntype)
        assert bool((sentence.diff() >= 0).all())
    words = [len(sentence.nodes) for sentence in sentences]
    ends = np.cumsum(words)
    assert batch.boundary.tolist() == [(ends - words).tolist(), (ends - 1).tolist()]


@settings(max_examples=30)
@given(pair_lists(), collators)
def test_every_character_leads_to_its_sentence(sentences, collator):
    batch = collator(to_table(sentences))
    sentence = 2 * batch.pair["char"] + batch.graph.nodes["char"].data["sentence"]

    assert edge_set(batch.sentences) == list(enumerate(sentence.tolist()))


@settings(max_examples=30)
@given(pair_lists(max_senses=0), collators)
def test_sentences_without_any_sense_make_a_batch(sentences, collator):
    batch = collator(to_table(sentences))

    assert len(batch.senses) == 0
    assert batch.graph.num_nodes("word") == sum(len(sentence.nodes) for sentence in sentences)


def test_moving_and_pinning_keep_everything():
    batch = Collator(VOCABULARY, sense_sememes=SENSE_SEMEMES)(to_table(PAIRS), [1, 0])
    copies = [batch.to("cpu")]
    if torch.cuda.is_available():
        copies += [batch.pin_memory(), batch.to("cuda")]

    for copy in copies:
        assert len(copy) == len(batch)
        for name in ("input_ids", "token_type_ids", "position_ids", "attention_mask", "char_token", "senses", "labels"):
            assert torch.equal(getattr(copy, name).cpu(), getattr(batch, name)), name
        for etype, neighbourhood in batch.edges.items():
            assert edge_set(copy.edges[etype].to("cpu")) == edge_set(neighbourhood)
        assert copy.graph.canonical_etypes == batch.graph.canonical_etypes


def test_pinning_pins_every_tensor_and_leaves_missing_labels_out(monkeypatch):
    pinned = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: pinned.append(tensor) or tensor)

    batch = Collator(VOCABULARY)(to_table(PAIRS)).pin_memory()

    assert batch.labels is None
    expected = [
        batch.input_ids,
        batch.attention_mask,
        batch.senses,
        batch.boundary,
        batch.pair["char"],
        batch.sentences.mask,
    ]
    expected += [neighbourhood.mask for neighbourhood in batch.edges.values()]
    assert {id(tensor) for tensor in expected} <= {id(tensor) for tensor in pinned}


@pytest.mark.parametrize("device", ["meta"])
def test_on_a_device_without_dgl_kernels_dense_blocks_serve_for_all_edges(device):
    batch = Collator(VOCABULARY)(to_table(PAIRS)).to(device)

    assert batch.input_ids.device.type == batch.edges[schema.IN].mask.device.type == device
    assert batch.graph.device.type == "cpu"
    assert all(neighbourhood.graph is None for neighbourhood in batch.edges.values())


def test_interleave_puts_the_two_sentences_of_a_pair_side_by_side():
    assert interleave(np.array([5, 3]), np.array([2, 9])).tolist() == [5, 2, 3, 9]


def test_every_character_belongs_to_a_word_of_its_sentence_where_that_is_asked_for():
    pairs = [
        Sentence("存款利", ((0, 2), (0, 1), (1, 2), (2, 3)), ((),) * 4),
        Sentence("银行", ((0, 1), (1, 2)), ((),) * 2),
    ]

    batch = Collator(VOCABULARY, senses=False, word_path=True)(to_table(pairs))

    assert batch.word_of_char.tolist() == [0, 0, 1, 2, 3]
    assert Collator(VOCABULARY, senses=False)(to_table(pairs)).word_of_char is None


@settings(max_examples=20)
@given(pair_lists())
def test_without_edges_nodes_and_tokens_stay(pairs):
    whole, bare = (Collator(VOCABULARY, senses=False, edges=edges)(to_table(pairs)) for edges in (True, False))

    assert bare.edges == {} and bare.graph.num_edges() == 0
    assert bare.graph.batch_num_edges(schema.IN).tolist() == [0] * len(bare)
    assert torch.equal(bare.input_ids, whole.input_ids) and torch.equal(bare.char_token, whole.char_token)
    for ntype in schema.node_types(senses=False):
        assert torch.equal(bare.graph.batch_num_nodes(ntype), whole.graph.batch_num_nodes(ntype))
        assert torch.equal(bare.pair[ntype], whole.pair[ntype])
        for name, values in whole.graph.nodes[ntype].data.items():
            assert torch.equal(bare.graph.nodes[ntype].data[name], values)
