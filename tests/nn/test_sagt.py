"""SaGT: the messages between words and senses are those of the equations, and each ablation is what it says."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from letgraph import schema
from letgraph.data.collate import Collator
from letgraph.nn.sagt import SaGT, Update
from tests.helpers import VOCABULARY, pair_lists, random_pairs, to_table

D = 8


def edges_of(sentences, senses=True):
    return Collator(VOCABULARY, senses=senses)(to_table(sentences)).edges


def nodes(edges, ntype, seed=0):
    etype = {"word": schema.IN, "sense": schema.SENSE_OF}[ntype]
    blocks = edges[etype].dst if ntype == "word" else edges[etype].src
    return torch.randn(len(blocks.place), D, generator=torch.Generator().manual_seed(seed))


def names(module):
    return {name for name, _ in module.named_parameters()}


@pytest.mark.parametrize("directions", ["separate", "heads"])
@pytest.mark.parametrize("gru", [True, False])
@settings(max_examples=30)
@given(pair_lists(max_pairs=2), st.integers(1, 3))
def test_layers_are_the_equations(directions, gru, sentences, num_layers):
    torch.manual_seed(0)
    sagt = SaGT(D, num_layers, gru=gru, directions=directions, activation="tanh")
    edges = edges_of(sentences)
    h, g = words, senses = nodes(edges, "word"), nodes(edges, "sense", 1)

    with torch.no_grad():
        for layer in sagt.layers:
            step = layer.sense_step
            fw, bw, of = (edges[etype] for etype in (schema.FORWARD, schema.BACKWARD, schema.SENSE_OF))
            if directions == "separate":
                ahead, behind = step.forwards(fw, g, h), step.backwards(bw, g, h)
            else:
                ahead, behind = step.both(fw, g, h)[:, : D // 2], step.both(bw, g, h)[:, D // 2 :]
            g = update(sagt.update_senses, g, torch.cat([ahead, behind], -1))
            h = update(sagt.update_words, h, layer.word_step(of, h, g))

        torch.testing.assert_close(sagt(edges, words, senses), h, rtol=1e-5, atol=1e-6)


def update(cell: Update, state, message):
    """A GRU by its equations, or the residual update."""
    if cell.gru is None:
        return torch.nn.functional.layer_norm(state + cell.project(message), (D,))
    gru = cell.gru
    x = (message @ gru.weight_ih.T + gru.bias_ih).chunk(3, -1)
    h = (state @ gru.weight_hh.T + gru.bias_hh).chunk(3, -1)
    reset, keep = torch.sigmoid(x[0] + h[0]), torch.sigmoid(x[1] + h[1])
    return (1 - keep) * torch.tanh(x[2] + reset * h[2]) + keep * state


@settings(max_examples=30)
@given(pair_lists(max_pairs=2))
def test_without_senses_words_attend_to_reachable_words(sentences):
    torch.manual_seed(0)
    sagt = SaGT(D, 2, senses=False)
    edges = edges_of(sentences, senses=False)
    words = h = nodes(edges, "word")

    with torch.no_grad():
        for layer in sagt.layers:
            h = update(sagt.update_words, h, layer.word_step(edges[schema.REACH], h, h))

        torch.testing.assert_close(sagt(edges, words), h, rtol=1e-5, atol=1e-6)


def test_without_senses_no_parameter_belongs_to_a_sense():
    without = names(SaGT(D, 2, senses=False))

    assert without < names(SaGT(D, 2))
    assert not any("sense" in name for name in without)


def test_without_gru_there_is_no_gru():
    assert any("gru" in name for name in names(SaGT(D, 2)))
    assert not any("gru" in name for name in names(SaGT(D, 2, gru=False)))


def test_layers_have_attention_of_their_own_and_share_update_cells():
    one, three = names(SaGT(D, 1)), names(SaGT(D, 3))

    assert {name for name in one if name.startswith("update")} == {name for name in three if name.startswith("update")}
    assert three - one == {
        name.replace("layers.0", f"layers.{layer}")
        for name, layer in product(one, (1, 2))
        if name.startswith("layers.0")
    }


def test_the_word_network_gives_a_word_without_senses_its_value_at_zero():
    sagt = SaGT(D, 1, word_ffn=True, gru=False)
    sentences = random_pairs(0, pairs=1)
    edges = edges_of(sentences)
    words, senses = nodes(edges, "word"), nodes(edges, "sense", 1)
    update_words = sagt.update_words

    begin = sagt(edges, words, senses)[0]  # the begin word has no sense

    message = sagt.layers[0].word_ffn(torch.zeros(D))
    torch.testing.assert_close(begin, update_words(words[:1], message[None])[0])


def test_the_two_directions_look_different_ways():
    """The first word's sense hears a later word forward; the last word's hears it only backward."""
    sagt = SaGT(D, 1)
    step = sagt.layers[0].sense_step
    sentences = random_pairs(3, pairs=1)
    edges = edges_of(sentences)
    words, senses = nodes(edges, "word"), nodes(edges, "sense", 1)
    changed = words.clone()
    changed[len(sentences[0].nodes) - 1] += 1  # the end word of sentence a

    before, after = step(edges, senses, words), step(edges, senses, changed)
    own = sum(map(len, sentences[0].senses))  # senses of sentence a; all of them reach its end word

    assert bool(((before - after)[:own, :D].abs().amax(1) > 1e-6).all())
    torch.testing.assert_close(before[:, D:], after[:, D:])
    torch.testing.assert_close(before[own:], after[own:])


def test_sentences_without_senses_keep_working():
    sentences = [type(s)(s.text, s.words, ((),) * len(s.words)) for s in random_pairs(0, pairs=2)]
    edges = edges_of(sentences)

    out = SaGT(D, 2)(edges, nodes(edges, "word"), torch.zeros(0, D))

    assert bool(out.isfinite().all())


def test_dropout_is_applied_to_what_attention_sees():
    sagt = SaGT(D, 1)
    edges = edges_of(random_pairs(0, pairs=2))
    words, senses = nodes(edges, "word"), nodes(edges, "sense", 1)
    seen = []

    def record(x, ntype):
        seen.append((ntype, len(x)))
        return x

    plain = sagt(edges, words, senses)

    assert torch.equal(sagt(edges, words, senses, record), plain)
    assert sorted(set(seen)) == [("sense", len(senses)), ("word", len(words))]


@pytest.mark.parametrize("directions", ["separate", "heads"])
@pytest.mark.parametrize("senses", [True, False])
def test_with_scalar_attention_no_message_has_feature_scores(directions, senses):
    sentences = random_pairs(0)
    edges = edges_of(sentences, senses)
    torch.manual_seed(0)
    sagt = SaGT(D, 2, senses=senses, directions=directions, attention="scalar")

    out = sagt(edges, nodes(edges, "word"), nodes(edges, "sense", 1) if senses else None)

    assert bool(out.isfinite().all())
    assert not any("score" in name for name in names(sagt))
    assert any("score" in name for name in names(SaGT(D, 2, senses=senses, directions=directions)))
