"""Which pairs of a split are in the training split too: LCQMC's test split, for one, repeats some of it.

Two pairs are the same when their sentences are, after the cleaning that the model was trained with, in either order.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from letgraph.scoring import Pairs, binary_metrics

TextPair = tuple[str, str]


def cleaned_pairs(pairs: Pairs) -> list[TextPair]:
    """The cleaned sentences of prepared pairs, in their order."""
    rows = np.unique(np.concatenate([pairs.a, pairs.b]))
    text = {row: pairs.sentences.text(row) for row in rows.tolist()}
    return [(text[a], text[b]) for a, b in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)]


def not_in_train(pairs: Iterable[TextPair], train: Iterable[TextPair]) -> NDArray[np.bool_]:
    """For each of the cleaned ``pairs``, whether ``train`` has it in neither order."""
    seen = {_either_order(pair) for pair in train}
    return np.array([_either_order(pair) not in seen for pair in pairs], np.bool_)


def metrics_of_new(
    labels: NDArray, probabilities: NDArray[np.floating], new: NDArray[np.bool_]
) -> dict[str, float | None]:
    """``n_not_in_train`` and ``accuracy_not_in_train`` of the pairs where ``new``; the latter None without any."""
    accuracy = binary_metrics(labels[new], probabilities[new])["accuracy"] if new.any() else None
    return {"n_not_in_train": int(new.sum()), "accuracy_not_in_train": accuracy}


def _either_order(pair: TextPair) -> TextPair:
    a, b = pair
    return (a, b) if a <= b else (b, a)
