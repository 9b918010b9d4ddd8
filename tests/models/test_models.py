"""What holds for every model: what a score may depend on, its loss, gradients and files, and that it learns."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import letgraph
from letgraph.data.collate import Collator
from letgraph.models import MODELS, PRESETS, EncoderModel
from letgraph.text.features import featurise
from letgraph.text.lexicon import load_lexicon
from letgraph.text.segment import load_segmenter
from letgraph.text.vocabulary import CharVocabulary
from tests.helpers import Sentence, batch_for, random_pairs, tiny_let, tiny_model

BASELINES = sorted(name for name, model in MODELS.items() if not issubclass(model, EncoderModel))
CASES = {
    **{kind: partial(tiny_model, kind) for kind in sorted(set(MODELS) - {"let"})},
    **{f"let-{preset}": partial(tiny_let, preset) for preset in PRESETS},
    **{f"let-{preset}-no-senses": partial(tiny_let, preset, senses=False) for preset in PRESETS},
}
every = pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in sorted(CASES.items())])
baselines = pytest.mark.parametrize("kind", BASELINES)


@torch.no_grad()
def logits(model, sentences):
    return model(batch_for(model, sentences)).logits


@every
@settings(max_examples=8)
@given(st.integers(0, 1000), st.permutations(range(4)))
def test_the_order_of_pairs_changes_no_score(make, seed, order):
    model = make()
    sentences = random_pairs(seed)
    reordered = [sentence for number in order for sentence in sentences[2 * number : 2 * number + 2]]

    torch.testing.assert_close(logits(model, reordered), logits(model, sentences)[list(order)], rtol=0, atol=1e-5)


@every
@settings(max_examples=8)
@given(st.integers(0, 1000))
def test_other_pairs_in_the_batch_change_no_score(make, seed):
    model = make()
    sentences = random_pairs(seed, pairs=3, min_length=1, max_length=6)

    alone = torch.cat([logits(model, sentences[2 * number : 2 * number + 2]) for number in range(3)])

    torch.testing.assert_close(logits(model, sentences), alone, rtol=0, atol=1e-5)


@every
def test_both_sentences_matter(make):
    model = make()
    sentences = random_pairs(7, pairs=3)
    score = logits(model, sentences[:2])

    assert not torch.allclose(score, logits(model, [sentences[0], sentences[3]]), atol=1e-7)
    assert not torch.allclose(score, logits(model, [sentences[2], sentences[1]]), atol=1e-7)


@baselines
def test_no_score_of_a_baseline_depends_on_senses_and_its_graph_has_none(kind):
    model = tiny_model(kind)
    sentences = random_pairs(1)
    bare = [Sentence(s.text, s.words, ((),) * len(s.words)) for s in sentences]

    assert torch.equal(logits(model, bare), logits(model, sentences))
    assert batch_for(model, sentences).graph.ntypes == ["char", "word"]


@baselines
def test_the_batch_of_a_baseline_has_no_edges_since_it_reads_none(kind):
    batch, of_let = (batch_for(tiny_model(name), random_pairs(1)) for name in (kind, "let"))

    assert batch.edges == {} and batch.graph.num_edges() == 0
    assert len(of_let.edges) == len(of_let.graph.etypes) == 7 and of_let.graph.num_edges() > 0
    assert batch.graph.batch_size == of_let.graph.batch_size == 4


@baselines
def test_words_matter_to_the_models_that_read_them_and_to_no_other(kind):
    model = tiny_model(kind)
    sentences = random_pairs(3)
    chars = [Sentence(s.text, tuple((i, i + 1) for i in range(len(s.text))), ((),) * len(s.text)) for s in sentences]

    same = torch.allclose(logits(model, chars), logits(model, sentences), atol=1e-7)

    assert same == (kind not in {"bimpm", "lattice_cnn"})


@every
def test_the_loss_is_binary_cross_entropy(make):
    model = make()
    labels = [1, 0, 0, 1]
    batch = batch_for(model, random_pairs(0), labels)

    out = model(batch)

    p, y = torch.sigmoid(out.logits.double()), torch.tensor(labels, dtype=torch.float64)
    torch.testing.assert_close(out.loss.double(), -(y * p.log() + (1 - y) * (1 - p).log()).mean(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(model(replace(batch, labels=None), labels=batch.labels).loss, out.loss)
    assert model(replace(batch, labels=None)).loss is None


@baselines
def test_a_gradient_reaches_every_parameter(kind):
    model = tiny_model(kind, dropout=0.0, hidden_size=16).train()
    model(batch_for(model, random_pairs(0, pairs=8), [0, 1, 1, 0, 1, 0, 0, 1])).loss.backward()

    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}

    assert all(gradient is not None and bool(gradient.isfinite().all()) for gradient in gradients.values())
    assert [name for name, gradient in gradients.items() if not bool(gradient.any())] == []


@every
def test_dropout_is_for_training_only(make):
    model = make(dropout=0.5)
    batch = batch_for(model, random_pairs(0))

    with torch.no_grad():
        assert torch.equal(model(batch).logits, model(batch).logits)
        torch.testing.assert_close(model(batch).logits, make(dropout=0.0).train()(batch).logits)
        model.train()
        assert not torch.equal(model(batch).logits, model(batch).logits)


@every
def test_a_saved_model_scores_the_same(tmp_path, make):
    model = make()
    sentences = random_pairs(0)

    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path, local_files_only=True)

    assert {file.name for file in tmp_path.iterdir()} == {"config.json", "model.safetensors"}
    assert not loaded.training
    assert loaded.config.to_json_string() == model.config.to_json_string()
    assert torch.equal(logits(loaded, sentences), logits(model, sentences))
    state = loaded.state_dict()
    assert all(torch.equal(state[name], value) for name, value in model.state_dict().items())


@pytest.fixture(scope="module")
def demo():
    """The first 64 training pairs of the demo corpus: their features by jieba, and their labels."""
    path = Path(letgraph.__file__).parent / "demo" / "train.tsv"
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[:64]]
    sentences = [sentence for a, b, _ in rows for sentence in (a, b)]
    table = featurise(sentences, [load_segmenter("jieba")], load_lexicon("demo"))
    return table, np.array([int(label) for _, _, label in rows])


@baselines
def test_a_baseline_learns_the_demo_corpus(kind, demo):
    """Sixty steps over 64 pairs take the training loss well below that of guessing, 0.69."""
    table, labels = demo
    vocabulary = CharVocabulary.build(table.chars.values, min_count=1)
    model = tiny_model(kind, vocab_size=len(vocabulary), embedding_size=32, hidden_size=32, dropout=0.0).train()
    batch = Collator(vocabulary, **model.config.graph_options)(table, labels)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3, alpha=0.9, eps=1e-6)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = model(batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    assert 0.6 < losses[0] < 0.8
    assert losses[-1] < 0.35
