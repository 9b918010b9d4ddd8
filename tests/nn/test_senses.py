"""A sense's vector comes from its sememes, computed once however often the sense occurs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from letgraph.blocks import Neighbourhood, NodeBlocks
from letgraph.data.collate import Collator
from letgraph.nn.senses import SememeEmbedding, SenseEmbedding
from letgraph.ragged import Ragged
from tests.helpers import NUM_SEMEMES, SENSE_SEMEMES, VOCABULARY, pair_lists, to_table

NUM_SENSES = len(SENSE_SEMEMES)
variants = pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_heads": 2, "ffn": True, "pooling": "centred"},
        {"activation": "relu", "clip": 10.0},
    ],
)


def embedding(trainable: bool = False, lexicon: Ragged = SENSE_SEMEMES, **options) -> SenseEmbedding:
    torch.manual_seed(0)
    sememes = SememeEmbedding(NUM_SEMEMES, 2, 3, 4, trainable)
    senses = SenseEmbedding(sememes, 4, len(lexicon), len(lexicon.values), **options)
    senses.load_lexicon(torch.from_numpy(lexicon.offsets), torch.from_numpy(lexicon.values))
    sememes.load_vectors(torch.randn(NUM_SEMEMES, 3), torch.tensor([False, True, False, False, True]))
    return senses


@variants
@settings(max_examples=30)
@given(pair_lists())
def test_from_the_lexicon_is_from_the_graph_of_sense_contexts(options, sentences):
    senses = embedding(**options)
    batch = Collator(VOCABULARY, sense_sememes=SENSE_SEMEMES)(to_table(sentences))
    sememes = batch.graph.nodes["sememe"].data["sememe"]

    with torch.no_grad():
        torch.testing.assert_close(
            senses.from_lexicon(batch.senses),
            senses.from_graph(sememes, batch.edges["sememe", "ctx", "sememe"], batch.edges["sememe", "of", "sense"]),
            rtol=1e-5,
            atol=1e-6,
        )


@variants
@settings(max_examples=30)
@given(st.lists(st.integers(0, NUM_SENSES - 1), max_size=8))
def test_a_sense_has_one_vector_whatever_stands_beside_it(options, ids):
    senses = embedding(**options)

    with torch.no_grad():
        together = senses.from_lexicon(torch.tensor(ids, dtype=torch.int64))
        assert together.shape == (len(ids), 4)
        for sense, vector in zip(ids, together, strict=True):
            torch.testing.assert_close(vector, senses.from_lexicon(torch.tensor([sense]))[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_at_inference_senses_are_embedded_once_until_a_weight_changes(mode, monkeypatch):
    senses = embedding().eval()
    embedded = []
    embed = senses._embed
    monkeypatch.setattr(senses, "_embed", lambda distinct: embedded.extend(distinct.tolist()) or embed(distinct))

    def at_inference(ids):
        with mode():
            return senses.from_lexicon(torch.tensor(ids))

    first = at_inference([3, 1, 3])
    assert sorted(embedded) == [1, 3]
    again = at_inference([1, 2, 3])
    assert sorted(embedded) == [1, 2, 3]
    assert torch.equal(again[[2, 0, 2]], first)
    torch.testing.assert_close(again, embed(torch.tensor([1, 2, 3])))

    for change in (
        lambda: senses.norm.bias.data.add_(1),
        lambda: senses.load_state_dict(
            {k: v + 1 if v.is_floating_point() else v for k, v in senses.state_dict().items()}
        ),
        lambda: senses.double(),
        lambda: senses.load_lexicon(torch.from_numpy(SENSE_SEMEMES.offsets), torch.from_numpy(SENSE_SEMEMES.values)),
    ):
        change()
        torch.testing.assert_close(at_inference([1, 2, 3]), embed(torch.tensor([1, 2, 3])))
    senses.train()
    embedded.clear()
    at_inference([1, 1])
    assert embedded == [1]


def test_a_table_made_in_inference_mode_serves_outside_of_it():
    senses = embedding().eval()
    with torch.inference_mode():
        senses.from_lexicon(torch.tensor([1]))

    with torch.no_grad():
        outside = senses.from_lexicon(torch.tensor([1, 2]))

    torch.testing.assert_close(outside, senses.from_lexicon(torch.tensor([1, 2])))


def test_a_sense_is_the_pool_of_its_sememes_in_context():
    senses = embedding().double()
    members = torch.from_numpy(SENSE_SEMEMES[2]).long()
    e = senses.sememes(members)
    nodes, one = NodeBlocks.from_counts(np.array([3])), NodeBlocks.from_counts(np.array([1]))
    context = senses.norm(e + senses.attention(Neighbourhood.between(nodes, nodes), e, e))

    expected = senses.pooling(Neighbourhood.between(nodes, one), context)

    torch.testing.assert_close(senses.from_lexicon(torch.tensor([2])), expected)


def test_senses_of_equal_sememes_are_equal_and_their_order_does_not_matter():
    lexicon = Ragged.from_lists([[0, 1, 3], [3, 0, 1], [0, 1]], np.int32)

    first, second, third = embedding(lexicon=lexicon).from_lexicon(torch.arange(3))

    torch.testing.assert_close(first, second)
    assert not torch.allclose(first, third)


def test_a_sense_without_sememes_gets_zeros():
    lexicon = Ragged.from_lists([[], [2, 1], []], np.int32)
    senses = embedding(lexicon=lexicon)

    vectors = senses.from_lexicon(torch.tensor([2, 1, 0]))

    assert torch.equal(vectors[[0, 2]], torch.zeros(2, 4))
    torch.testing.assert_close(vectors[1:2], senses.from_lexicon(torch.tensor([1])))


def test_a_repeated_sense_gets_the_gradients_of_all_its_places():
    senses = embedding()
    weight = senses.sememes.project.weight

    (once,) = torch.autograd.grad(senses.from_lexicon(torch.tensor([3])).sum(), weight)
    (thrice,) = torch.autograd.grad(senses.from_lexicon(torch.tensor([3, 3, 3])).sum(), weight)

    torch.testing.assert_close(thrice, 3 * once)


def test_a_known_sememe_has_its_unit_vector_and_another_its_trained_one():
    table = SememeEmbedding(4, 2, 3, 5)
    vectors = torch.tensor([[3.0, 0, 4], [9, 9, 9], [0, 1e-3, 0], [9, 9, 9]])
    table.load_vectors(vectors, torch.tensor([True, False, True, False]))

    expected = torch.stack([torch.tensor([0.6, 0, 0.8]), table.unknown[0], torch.tensor([0.0, 1, 0]), table.unknown[1]])

    torch.testing.assert_close(table(torch.arange(4)), table.project(expected))


@pytest.mark.parametrize("trainable", [True, False])
def test_known_vectors_are_trained_only_where_asked(trainable):
    table = embedding(trainable).sememes
    table(torch.arange(NUM_SEMEMES)).sum().backward()

    assert ("known" in dict(table.named_parameters())) == trainable
    assert table.unknown.grad is not None and bool((table.unknown.grad != 0).all())
    if trainable:
        assert table.known.grad is not None and bool((table.known.grad != 0).all())


def test_lexicon_and_vectors_travel_with_the_weights():
    senses = embedding()
    other = SenseEmbedding(SememeEmbedding(NUM_SEMEMES, 2, 3, 4), 4, NUM_SENSES, len(SENSE_SEMEMES.values))

    other.load_state_dict(senses.state_dict())

    assert torch.equal(other.from_lexicon(torch.arange(NUM_SENSES)), senses.from_lexicon(torch.arange(NUM_SENSES)))
