"""Scores of prepared pairs, and what they are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import log_loss, precision_recall_fscore_support, roc_auc_score
from transformers import PreTrainedModel

from letgraph.data.collate import Collator, interleave
from letgraph.data.store import PreparedPairs
from letgraph.errors import LetgraphError
from letgraph.text.features import SentenceTable

Progress = Callable[[int], object]


@dataclass(frozen=True)
class SentencePairs:
    """Pairs as row numbers ``a``, ``b`` (pairs,) into a table of sentences, in memory."""

    sentences: SentenceTable
    a: NDArray[np.integer]
    b: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.a)


Pairs = PreparedPairs | SentencePairs


@torch.inference_mode()
def score_table(model: PreTrainedModel, collator: Collator, table: SentenceTable) -> NDArray[np.float64]:
    """Probabilities (B,) of the pairs of a table of 2B sentences; the model must be in evaluation mode."""
    batch = collator(table).to(model.device)
    return torch.sigmoid(model(batch).logits.double()).cpu().numpy()


def score_pairs(
    model: PreTrainedModel, collator: Collator, pairs: Pairs, batch_size: int = 128, progress: Progress = lambda n: None
) -> NDArray[np.float64]:
    """Probabilities of all pairs, in their order. ``progress`` is called with the size of every batch done.

    Raises `LetgraphError` where a score is not a number.
    """
    training = model.training
    model.eval()
    scores = np.empty(len(pairs))
    try:
        for rows in batches_by_length(pair_lengths(pairs, collator), batch_size):
            table = pairs.sentences.take(interleave(pairs.a[rows], pairs.b[rows]))
            scores[rows] = score_table(model, collator, table)
            progress(len(rows))
    finally:
        model.train(training)
    if np.isnan(scores).any():
        raise LetgraphError("the model's scores are not numbers: training has diverged; lower its --learning-rate")
    return scores


def batches_by_length(lengths: NDArray[np.integer], batch_size: int) -> Iterator[NDArray[np.int64]]:
    """All rows in batches of about equal length, so that little is padded."""
    order = np.argsort(lengths, kind="stable")
    return (order[start : start + batch_size] for start in range(0, len(order), batch_size))


def pair_lengths(pairs: Pairs, collator: Collator) -> NDArray[np.int64]:
    """About how many tokens each pair has with this collator."""
    lengths = collator.lengths(pairs.sentences)
    return lengths[pairs.a] + lengths[pairs.b]


def binary_metrics(labels: NDArray, probabilities: NDArray[np.floating]) -> dict[str, float | None]:
    """n, accuracy, f1, precision and recall of the positive class at threshold 0.5, auc, loss (mean cross-entropy).

    ``auc`` is None where the labels are of one class only; f1, precision and recall are 0 where they are undefined.
    """
    labels = np.asarray(labels).astype(int)
    predicted = (probabilities > 0.5).astype(int)
    precision, recall, f1, _ = precision_recall_fscore_support(
        labels, predicted, labels=[0, 1], average=None, zero_division=0
    )
    return {
        "n": len(labels),
        "accuracy": float((labels == predicted).mean()),
        "f1": float(f1[1]),
        "precision": float(precision[1]),
        "recall": float(recall[1]),
        "auc": float(roc_auc_score(labels, probabilities)) if 0 < labels.sum() < len(labels) else None,
        "loss": float(log_loss(labels, probabilities.astype(np.float64), labels=[0, 1])),
    }


def format_metrics(metrics: dict[str, float | None]) -> str:
    """What `binary_metrics` returns, as a line to read; with what `letgraph.overlap.metrics_of_new` adds to it."""
    figures = ", ".join(f"{name} {_figure(value)}" for name, value in metrics.items() if name in _PRINTED)
    text = f"{figures} ({metrics['n']:,} pairs)"
    if "n_not_in_train" not in metrics:
        return text
    accuracy = _figure(metrics["accuracy_not_in_train"])
    return f"{text}; accuracy {accuracy} on the {metrics['n_not_in_train']:,} that are not in train"


_PRINTED = ("accuracy", "f1", "precision", "recall", "auc", "loss")


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def one_class_warning(probabilities: NDArray[np.floating]) -> str | None:
    """A sentence to show when every pair gets the same prediction: such a model has learnt nothing useful."""
    predicted = probabilities > 0.5
    if len(predicted) < 2 or not (predicted.all() or not predicted.any()):
        return None
    return f"all {len(predicted):,} pairs are predicted {int(predicted[0])}: the model does not tell pairs apart"
