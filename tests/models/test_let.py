"""LET as a whole: what its scores may depend on and what each setting changes; test_models.py has what holds for every
model."""

from __future__ import annotations

from dataclasses import replace

import dgl
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from letgraph import schema
from letgraph.models import LET, PRESETS
from tests.helpers import Sentence, batch_for, random_pairs, tiny_config, tiny_let

presets = pytest.mark.parametrize("preset", sorted(PRESETS))


@torch.no_grad()
def logits(model, sentences):
    return model(batch_for(model, sentences)).logits


def parameter_shapes(model):
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


# What a score may depend on


@presets
@settings(max_examples=10)
@given(st.integers(0, 1000), st.data())
def test_the_order_of_word_nodes_changes_no_score(preset, seed, data):
    model = tiny_let(preset)
    sentences = random_pairs(seed, pairs=2)
    shuffled = []
    for sentence in sentences:
        order = data.draw(st.permutations(range(len(sentence.words))))
        words, senses = (tuple(part[i] for i in order) for part in (sentence.words, sentence.senses))
        shuffled.append(Sentence(sentence.text, words, senses))

    torch.testing.assert_close(logits(model, shuffled), logits(model, sentences), rtol=0, atol=1e-5)


@presets
@pytest.mark.parametrize("kernel", ["blocks", "edges", "scatter", "definition"])
def test_every_kernel_gives_the_same_score(preset, kernel):
    if preset == "reference" and kernel == "definition":
        pytest.skip("the definition is not clipped")
    sentences = random_pairs(5)

    torch.testing.assert_close(
        logits(tiny_let(preset, kernel=kernel), sentences), logits(tiny_let(preset), sentences), rtol=0, atol=1e-5
    )


@presets
def test_a_batch_that_lost_its_dgl_graph_gives_the_same_score(preset):
    """As on a device that DGL was not built for."""
    model = tiny_let(preset)
    batch = batch_for(model, random_pairs(5))
    bare = replace(batch, edges={etype: replace(edge, graph=None) for etype, edge in batch.edges.items()})

    with torch.no_grad():
        torch.testing.assert_close(model(bare).logits, model(batch).logits, rtol=0, atol=1e-5)


@presets
def test_without_dgl_graphs_no_kernel_of_dgl_is_called(preset, monkeypatch):
    """As with torch on CUDA and PyPI's DGL, which would fail with "Device API cuda is not enabled"."""
    model = tiny_let(preset).train()
    batch = batch_for(model, random_pairs(5), [0, 1, 0, 1])
    bare = replace(batch, edges={etype: replace(edge, graph=None) for etype, edge in batch.edges.items()})

    def refuse(*_, **__):
        raise AssertionError("a kernel of DGL was called")

    for name in ("update_all", "apply_edges", "in_degrees", "in_edges", "local_scope", "to"):
        monkeypatch.setattr(dgl.DGLGraph, name, refuse)
    for name in ("gspmm", "gsddmm", "edge_softmax"):
        monkeypatch.setattr(dgl.backend, name, refuse)
    monkeypatch.setattr(dgl, "heterograph", refuse)

    model(bare).loss.backward()

    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in model.parameters())
    with pytest.raises(AssertionError, match="a kernel of DGL"):
        model(batch)


@presets
def test_equal_sentences_hear_the_same_from_each_other(preset):
    """As it stands in preset paper; in reference, once the encoder is not told which sentence a character is in."""
    model = tiny_let(preset)
    if preset == "reference":
        model.encoder.embeddings.token_type_embeddings.weight.data.zero_()
    sentences = random_pairs(6)
    sentences = [sentence for sentence in sentences[::2] for _ in range(2)]
    messages = []
    model.matching.compare.register_forward_hook(lambda module, inputs, output: messages.append(inputs))
    if preset == "reference":  # there [CLS] begins a and [SEP] begins b: make them one
        words = model.encoder.embeddings.word_embeddings.weight.data
        words[2] = words[3]
        model.encoder.embeddings.position_embeddings.weight.data.zero_()

    logits(model, sentences)

    ((m_self, m_cross),) = messages
    torch.testing.assert_close(m_self, m_cross, rtol=1e-4, atol=1e-5)


def test_a_character_hears_only_its_own_sentence_before_matching():
    """With ``encoder_context="sentence"``; and with "pair", it hears the other one too."""
    first, second, third = random_pairs(8, pairs=2)[:3]
    for context, alike in (("sentence", True), ("pair", False)):
        model = tiny_let("paper", encoder_context=context)
        vectors = []
        for other in (second, third):
            batch = batch_for(model, [first, other])
            with torch.no_grad():
                tokens = model.encode(batch)[0].flatten(0, 1)
            vectors.append(tokens[batch.char_token[: len(first.text)]])
        assert torch.allclose(*vectors, atol=1e-6) == alike


@presets
def test_pairs_without_any_sense_have_a_score(preset):
    sentences = [Sentence(s.text, s.words, ((),) * len(s.words)) for s in random_pairs(8)]

    assert bool(logits(tiny_let(preset), sentences).isfinite().all())


# What each setting changes


def test_without_senses_graph_and_parameters_have_none():
    without, with_senses = tiny_let(senses=False), tiny_let()
    graph = batch_for(without, random_pairs(0)).graph

    assert "sense" not in graph.ntypes and schema.REACH in graph.canonical_etypes
    assert parameter_shapes(without).keys() < parameter_shapes(with_senses).keys()
    assert not any("sense" in name for name in without.state_dict())


def test_without_senses_no_score_depends_on_them():
    sentences = random_pairs(1)
    bare = [Sentence(s.text, s.words, ((),) * len(s.words)) for s in sentences]

    assert torch.equal(logits(tiny_let(senses=False), bare), logits(tiny_let(senses=False), sentences))
    assert not torch.allclose(logits(tiny_let(), bare), logits(tiny_let(), sentences), atol=1e-6)


def test_without_gru_no_parameter_is_of_a_gru_and_the_graph_is_the_same():
    with_gru, without = tiny_let(), tiny_let(gru=False)
    graphs = [batch_for(model, random_pairs(0)).graph for model in (with_gru, without)]

    assert any("gru" in name for name in parameter_shapes(with_gru))
    assert not any("gru" in name for name in parameter_shapes(without))
    assert graphs[0].canonical_etypes == graphs[1].canonical_etypes


@presets
@pytest.mark.parametrize("senses", [True, False])
def test_scalar_attention_takes_the_feature_scores_out_of_sagt_and_nothing_else(preset, senses):
    multi, scalar = (tiny_let(preset, senses=senses, attention=name) for name in ("multi-dimensional", "scalar"))
    gone = parameter_shapes(multi).keys() - parameter_shapes(scalar).keys()

    assert gone and all(name.startswith("sagt.layers.") and ".score." in name for name in gone)
    assert parameter_shapes(scalar).keys() < parameter_shapes(multi).keys()
    assert multi.config.attention == "multi-dimensional" and scalar.config.attention == "scalar"
    sentences = random_pairs(5)
    for kernel in ("blocks", "edges", "scatter"):
        other = tiny_let(preset, senses=senses, attention="scalar", kernel=kernel)
        torch.testing.assert_close(logits(other, sentences), logits(scalar, sentences), rtol=0, atol=1e-5)


@pytest.mark.parametrize("layers", [1, 3, 4])
def test_every_layer_adds_its_attention_and_nothing_else(layers):
    two, other = parameter_shapes(tiny_let()), parameter_shapes(tiny_let(num_layers=layers))

    assert all(name.startswith("sagt.layers.") for name in two.keys() ^ other.keys())
    assert {name.split(".")[2] for name in other if name.startswith("sagt.layers.")} == set(map(str, range(layers)))
    assert not torch.equal(logits(tiny_let(), random_pairs(2)), logits(tiny_let(num_layers=layers), random_pairs(2)))


def test_another_segmentation_changes_the_graph_and_the_score():
    sentences = random_pairs(3)
    chars = [Sentence(s.text, tuple((i, i + 1) for i in range(len(s.text))), ((),) * len(s.text)) for s in sentences]

    assert not torch.allclose(logits(tiny_let(), chars), logits(tiny_let(), sentences), atol=1e-6)


@pytest.mark.parametrize("name", sorted(PRESETS["reference"]))
def test_each_difference_of_the_presets_can_be_had_alone(name):
    others = {"sememe_context": "sentence"} if name == "dummy_sememe" else {}  # there is no dummy elsewhere
    paper, changed = tiny_let(**others), tiny_let(**{**others, name: PRESETS["reference"][name]})
    sentences = random_pairs(4)

    scores = logits(changed, sentences)  # it runs
    if parameter_shapes(paper) != parameter_shapes(changed):
        return
    changed.load_state_dict(paper.state_dict())
    for model in (paper, changed):  # large enough to reach the bound of `clip`
        for attention in (model.matching.attention, model.senses.attention):
            attention.query.weight.data *= 300
    scores = logits(changed, sentences)
    assert (scores - logits(paper, sentences)).abs().max() > 1e-6


def test_a_smaller_encoder_may_feed_larger_words():
    model = tiny_let(encoder_size=4)

    assert bool(logits(model, random_pairs(0)).isfinite().all())


def test_an_unknown_character_is_all_that_is_left_of_a_rare_one():
    model = tiny_let()
    one = [Sentence("行", ((0, 1),), ((),)), Sentence("存", ((0, 1),), ((),))]
    other = [Sentence("舎", ((0, 1),), ((),)), Sentence("存", ((0, 1),), ((),))]

    assert torch.equal(logits(model, one), logits(model, other))


# Loss and gradients


def test_two_logits_are_trained_by_their_cross_entropy():
    model = tiny_let("reference")
    batch = batch_for(model, random_pairs(0), [1, 0, 0, 1])
    outputs = []
    model.classifier.register_forward_hook(lambda module, inputs, output: outputs.append(output))

    loss = model(batch).loss

    assert outputs[0].shape == (4, 2)
    torch.testing.assert_close(loss, torch.nn.functional.cross_entropy(outputs[0], batch.labels.long()))


# The softmax does not see what is added to all scores of a set.
CANCELS = ("score.3.bias", "offset.bias", "attention.self.key.bias")


@presets
@pytest.mark.parametrize("options", [{}, {"senses": False}, {"gru": False}])
def test_a_gradient_reaches_every_parameter(preset, options):
    model = tiny_let(preset, dropout=0.0, **options).train()
    model(batch_for(model, random_pairs(0, pairs=6), [0, 1, 1, 0, 1, 0])).loss.backward()

    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}

    assert all(gradient is not None and bool(gradient.isfinite().all()) for gradient in gradients.values())
    still = [name for name, gradient in gradients.items() if not bool((gradient.abs() > 1e-12).any())]
    assert [name for name in still if not name.endswith(CANCELS)] == []


def test_known_sememe_vectors_stay_unless_they_are_to_be_trained():
    assert "senses.sememes.known" not in dict(tiny_let().named_parameters())
    assert "senses.sememes.known" in dict(tiny_let(trainable_sememe_vectors=True).named_parameters())


# Dropout and seeds


@presets
@pytest.mark.parametrize("mode", ["element", "pair"])
def test_dropout_is_for_training_only(preset, mode):
    model = tiny_let(preset, dropout_mode=mode, dropout=0.5)
    batch = batch_for(model, random_pairs(0))

    assert torch.equal(model(batch).logits, model(batch).logits)
    torch.testing.assert_close(model(batch).logits, tiny_let(preset, dropout=0.0).train()(batch).logits)
    model.train()
    assert not torch.equal(model(batch).logits, model(batch).logits)


@presets
def test_a_seed_decides_weights_and_training(preset):
    def train(seed):
        model = tiny_let(preset, seed=seed).train()
        batch = batch_for(model, random_pairs(0), [0, 1, 1, 0])
        optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
        for _ in range(2):
            optimizer.zero_grad()
            model(batch).loss.backward()
            optimizer.step()
        return model.state_dict()

    one, again, other = train(1), train(1), train(2)

    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not torch.equal(one["matching.compare.weight"], other["matching.compare.weight"])


def test_making_a_model_again_from_its_configuration_gives_the_same_parameters():
    config = tiny_config("reference")

    assert parameter_shapes(LET(config)) == parameter_shapes(LET(type(config).from_dict(config.to_dict())))


def test_scores_do_not_depend_on_numpy_dtype_of_labels():
    model = tiny_let()
    losses = [
        model(batch_for(model, random_pairs(0, pairs=2), np.array([1, 0], dtype))).loss
        for dtype in (np.int8, np.int64, np.float32)
    ]

    assert torch.equal(losses[0], losses[1]) and torch.equal(losses[1], losses[2])
