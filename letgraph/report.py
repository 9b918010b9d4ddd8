"""What the best model of a run is worth: its scores on every split, kept beside it and printed."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from tqdm import tqdm

from letgraph.checkpoint import Checkpoint
from letgraph.data.store import PreparedPairs
from letgraph.overlap import cleaned_pairs, metrics_of_new, not_in_train
from letgraph.scores import SplitScores, write_scores
from letgraph.scoring import binary_metrics, format_metrics, one_class_warning, score_pairs

TRAIN = "train"
MOST_OF_TRAIN = 10_000
"""Pairs of the training split that are scored: what a dev split takes. The others are scored whole, and once."""


def score_splits(
    checkpoint: Checkpoint,
    splits: dict[str, PreparedPairs],
    wanted: Collection[str],
    batch_size: int,
    folder: Path,
) -> dict[str, Any]:
    """Metrics of the ``wanted`` splits by name, and ``predict_pairs_per_second``; the scores of all but train are
    written into ``folder``."""
    metrics: dict[str, Any] = {}
    scored, seconds = 0, 0.0
    seen = cleaned_pairs(splits[TRAIN])
    for name, pairs in splits.items():
        if name not in wanted:
            continue
        part = pairs.select(np.arange(min(len(pairs), MOST_OF_TRAIN))) if name == TRAIN else pairs
        if part.labels is None:
            print(f"{name} has no labels and is not scored")
            continue
        start = perf_counter()
        with tqdm(total=len(part), desc=f"scoring {name}", unit="pair", leave=False, mininterval=2.0) as bar:
            scores = score_pairs(checkpoint.model, checkpoint.collator, part, batch_size, bar.update)
        scored, seconds = scored + len(part), seconds + perf_counter() - start
        metrics[name] = binary_metrics(part.labels, scores)
        if name != TRAIN:
            metrics[name] |= metrics_of_new(part.labels, scores, not_in_train(cleaned_pairs(pairs), seen))
            write_scores(folder, name, SplitScores(part.labels, scores))
        if warning := one_class_warning(scores):
            print(f"warning: {name}: {warning}", file=sys.stderr)
    return metrics | {"predict_pairs_per_second": scored / seconds if seconds else None}


def print_scores(metrics: dict[str, Any]) -> None:
    """What a run writes to ``metrics.json``, for people to read."""
    for name, scores in metrics.items():
        if isinstance(scores, dict):
            print(f"{name}: {format_metrics(scores)}")
    speeds = [("trained", metrics["train_pairs_per_second"]), ("scored", metrics.get("predict_pairs_per_second"))]
    figures = [f"{what} at {speed:.0f} pairs/s" for what, speed in speeds if speed is not None]
    memory = metrics["peak_rss_mb"]
    print(", ".join([*figures, *([] if memory is None else [f"peak memory {memory:.0f} MB"])]))
