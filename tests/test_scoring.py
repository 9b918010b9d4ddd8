"""Metrics against numbers worked by hand, and scores that do not depend on the batches they were made in."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from letgraph.errors import LetgraphError
from letgraph.scoring import SentencePairs, binary_metrics, format_metrics, one_class_warning, score_pairs
from letgraph.text.features import featurise
from letgraph.text.segment import load_segmenter
from tests.tiny import tiny_checkpoint


def test_metrics_worked_by_hand():
    # Predicted at 0.5: 1 1 0 0 1, so 2 true positives, 1 false positive, 1 false negative, 1 true negative.
    labels = np.array([1, 0, 1, 0, 1])
    probabilities = np.array([0.9, 0.8, 0.4, 0.2, 0.6])

    metrics = binary_metrics(labels, probabilities)

    assert metrics["n"] == 5
    assert metrics["accuracy"] == pytest.approx(3 / 5)
    assert metrics["precision"] == pytest.approx(2 / 3)
    assert metrics["recall"] == pytest.approx(2 / 3)
    assert metrics["f1"] == pytest.approx(2 / 3)
    # Of the 6 couples of a positive and a negative, 0.9 beats both, 0.4 and 0.6 only the one of 0.2.
    assert metrics["auc"] == pytest.approx(4 / 6)
    assert metrics["loss"] == pytest.approx(-sum(map(math.log, (0.9, 0.2, 0.4, 0.8, 0.6))) / 5)


def test_a_probability_of_one_half_is_no_match():
    assert binary_metrics(np.array([0, 1]), np.array([0.5, 0.5000001]))["accuracy"] == 1.0


def test_what_is_undefined_for_one_class_is_0_or_none():
    none_positive = binary_metrics(np.array([0, 0]), np.array([0.1, 0.2]))
    assert (none_positive["accuracy"], none_positive["auc"]) == (1.0, None)
    assert (none_positive["f1"], none_positive["precision"], none_positive["recall"]) == (0.0, 0.0, 0.0)

    all_positive = binary_metrics(np.array([1, 1]), np.array([0.9, 0.2]))
    assert (all_positive["precision"], all_positive["recall"], all_positive["auc"]) == (1.0, 0.5, None)


def test_certainty_that_is_wrong_has_a_finite_loss():
    assert 30 < binary_metrics(np.array([1]), np.array([0.0]))["loss"] < math.inf


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9])), min_size=1, max_size=30))
def test_metrics_are_their_definitions(rows):
    labels, scores = np.array([int(label) for label, _ in rows]), np.array([score for _, score in rows])
    tp = sum(label and score > 0.5 for label, score in rows)
    fp = sum(not label and score > 0.5 for label, score in rows)
    fn = sum(label and score <= 0.5 for label, score in rows)
    couples = [(p, n) for label, p in rows if label for other, n in rows if not other]

    metrics = binary_metrics(labels, scores)

    assert metrics["accuracy"] == pytest.approx(1 - (fp + fn) / len(rows))
    assert metrics["precision"] == pytest.approx(tp / (tp + fp) if tp + fp else 0)
    assert metrics["recall"] == pytest.approx(tp / (tp + fn) if tp + fn else 0)
    assert metrics["f1"] == pytest.approx(2 * tp / (2 * tp + fp + fn) if tp else 0)
    if couples:
        assert metrics["auc"] == pytest.approx(sum((p > n) + 0.5 * (p == n) for p, n in couples) / len(couples))
    else:
        assert metrics["auc"] is None


def test_the_line_to_read_has_every_figure():
    line = format_metrics(binary_metrics(np.zeros(1200, int), np.full(1200, 0.25)))

    assert line.startswith("accuracy 1.0000, f1 0.0000, ")
    assert "auc -" in line and "loss 0.2877" in line and "(1,200 pairs)" in line


@pytest.mark.parametrize(
    ("probabilities", "warns"), [([0.1, 0.2], "2 pairs are predicted 0"), ([0.9, 0.8, 0.7], "predicted 1")]
)
def test_one_prediction_for_all_is_called_out(probabilities, warns):
    assert warns in one_class_warning(np.array(probabilities))


@pytest.mark.parametrize("probabilities", [[0.1, 0.9], [0.9], []])
def test_two_predictions_or_a_single_pair_are_not(probabilities):
    assert one_class_warning(np.array(probabilities)) is None


SENTENCES = ["花呗怎么还款", "怎么还", "我的银行卡丢了", "卡", "银行卡怎么办理", "能用吗"]


@pytest.fixture(scope="module")
def checkpoint():
    return tiny_checkpoint()


@pytest.fixture
def pairs(checkpoint) -> SentencePairs:
    table = featurise(SENTENCES, [load_segmenter("jieba")], checkpoint.lexicon)
    return SentencePairs(table, np.array([2, 0, 3, 4, 0, 5, 3]), np.array([4, 1, 3, 0, 2, 2, 5]))


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_the_scores_do_not_depend_on_the_batches(checkpoint, pairs, batch_size):
    one_by_one = [
        score_pairs(checkpoint.model, checkpoint.collator, SentencePairs(pairs.sentences, pairs.a[i], pairs.b[i]))[0]
        for i in np.arange(len(pairs)).reshape(-1, 1)
    ]
    done = []

    scores = score_pairs(checkpoint.model, checkpoint.collator, pairs, batch_size, done.append)

    np.testing.assert_allclose(scores, one_by_one, rtol=1e-5)
    assert len(set(scores.round(9))) == len(pairs)
    assert sum(done) == len(pairs) and max(done) <= batch_size


@pytest.mark.parametrize("training", [True, False])
def test_scoring_is_without_dropout_and_leaves_the_mode_as_it_was(checkpoint, pairs, training):
    checkpoint.model.train(training)
    try:
        scores = [score_pairs(checkpoint.model, checkpoint.collator, pairs) for _ in range(2)]
        assert checkpoint.model.training is training
    finally:
        checkpoint.model.eval()
    np.testing.assert_array_equal(*scores)


def test_a_model_that_has_diverged_is_told(pairs):
    diverged = tiny_checkpoint()
    with torch.no_grad():
        diverged.model.classifier[-1].bias.fill_(torch.nan)

    with pytest.raises(LetgraphError, match="diverged"):
        score_pairs(diverged.model, diverged.collator, pairs)
