"""Scores of a split in a file: what is written is read again, and anything else is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from letgraph.errors import DataError
from letgraph.scores import SplitScores, read_scores, scores_path, write_scores


def test_scores_worked_by_hand(tmp_path: Path) -> None:
    scores = SplitScores(np.array([1, 0, 1, 0], np.int8), np.array([0.75, 0.5, 0.25, 1.0]))

    write_scores(tmp_path, "dev", scores)

    assert scores_path(tmp_path, "dev").read_text() == "1\t0.75\n0\t0.5\n1\t0.25\n0\t1\n"
    read = read_scores(tmp_path, "dev")
    assert read.labels.tolist() == [1, 0, 1, 0]
    assert read.probabilities.tolist() == [0.75, 0.5, 0.25, 1.0]
    assert read.correct.tolist() == [True, True, False, False]


def test_the_hash_tells_labels_and_their_order_and_nothing_else() -> None:
    def hash_of(labels: list[int], probability: float = 0.1) -> str:
        return SplitScores(np.array(labels, np.int8), np.full(len(labels), probability)).labels_hash

    assert hash_of([1, 0, 0]) == hash_of([1, 0, 0], 0.9)
    assert len({hash_of(labels) for labels in ([1, 0, 0], [0, 1, 0], [1, 0], [1, 0, 0, 0])}) == 4


@pytest.mark.parametrize("line", ["", "1", "1 0.5", "2\t0.5", "1\tx", "1\tnan", "0\t1.5", "0\t0.5\t0.5"])
def test_a_foreign_line_is_named(tmp_path: Path, line: str) -> None:
    scores_path(tmp_path, "dev").parent.mkdir()
    scores_path(tmp_path, "dev").write_text(f"1\t0.5\n{line}\n")

    with pytest.raises(DataError, match=r"dev\.txt:2: not LABEL TAB PROBABILITY"):
        read_scores(tmp_path, "dev")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"dev\.txt: cannot be read"):
        read_scores(tmp_path, "dev")
