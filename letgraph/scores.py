"""The scores that a run keeps of a split, so that runs can be compared pair by pair: ``OUT/scores/SPLIT.txt``.

One line a pair, in the order of the split: ``LABEL TAB PROBABILITY``. No text is kept.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from letgraph.errors import DataError
from letgraph.output import probability_cell, tsv_row, whole_file

_MEND = "remove the file and run letgraph.train with the run's settings and --resume auto, which scores again"


@dataclass(frozen=True)
class SplitScores:
    """``labels`` (pairs,) of 0 and 1, and the ``probabilities`` (pairs,) that a model gave them."""

    labels: NDArray[np.int8]
    probabilities: NDArray[np.float64]

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the prediction at threshold 0.5 is the label."""
        return (self.probabilities > 0.5) == (self.labels == 1)

    @property
    def labels_hash(self) -> str:
        """Equal for splits with the same labels in the same order: what is compared pair by pair must have it equal."""
        return hashlib.sha256(self.labels.tobytes()).hexdigest()[:16]


def scores_path(run: Path, split: str) -> Path:
    return run / "scores" / f"{split}.txt"


def write_scores(run: Path, split: str, scores: SplitScores) -> None:
    path = scores_path(run, split)
    path.parent.mkdir(exist_ok=True)
    pairs = zip(scores.labels.tolist(), scores.probabilities.tolist(), strict=True)
    with whole_file(path) as stream:
        stream.writelines(tsv_row(str(label), probability_cell(probability)) for label, probability in pairs)


def read_scores(run: Path, split: str) -> SplitScores:
    """What `write_scores` wrote. Raises `DataError` with the line for anything else."""
    path = scores_path(run, split)
    labels, probabilities = [], []
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, None, f"cannot be read ({error})", _MEND) from None
    for number, line in enumerate(lines, 1):
        label, _, probability = line.partition("\t")
        try:
            value = float(probability)
        except ValueError:
            value = -1.0
        if label not in ("0", "1") or not 0 <= value <= 1:
            raise DataError(path, number, "not LABEL TAB PROBABILITY", _MEND)
        labels.append(int(label))
        probabilities.append(value)
    return SplitScores(np.array(labels, np.int8), np.array(probabilities, np.float64))
