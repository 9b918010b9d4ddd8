"""Paired tests against numbers worked by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from letgraph.reproduction.comparisons import compare, mcnemar
from letgraph.reproduction.results import Outcome, Result, read_result
from tests.reproduction.made import LABELS, finished_run


def runs(folder: Path, name: str, right: dict[int, int], **more: object) -> list[Result]:
    return [
        read_result(finished_run(folder / f"{name}{seed}", "--dataset", "bq", f"--seed={seed}", right=n, **more))
        for seed, n in right.items()
    ]


def outcome(bits: str, labels: str = "same") -> Outcome:
    return Outcome(np.array([bit == "1" for bit in bits]), labels)


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        # a alone is right 5 times, b alone never: two-sided 2 / 2^5
        ("11111110", "00000110", 2 / 32),
        # 3 to 1: 2 (1 + 4) / 2^4
        ("11100", "00010", 2 * 5 / 16),
        ("1100", "0011", 1.0),
        ("1010", "1010", 1.0),
    ],
)
def test_mcnemar_is_the_binomial_test_of_the_pairs_that_one_alone_got_right(a: str, b: str, p: float) -> None:
    assert mcnemar(outcome(a), outcome(b)) == pytest.approx(p)
    assert mcnemar(outcome(b), outcome(a)) == pytest.approx(p)


def test_what_was_not_scored_on_the_same_pairs_is_not_compared() -> None:
    assert mcnemar(outcome("10"), None) is None
    assert mcnemar(outcome("10"), outcome("10", labels="others")) is None


def test_runs_are_paired_by_seed_and_others_left_out(tmp_path: Path) -> None:
    a, b = runs(tmp_path, "a", {1: 8, 2: 7, 3: 9, 5: 0}), runs(tmp_path, "b", {1: 6, 2: 6, 3: 6, 4: 10})

    comparison = compare(a, b)

    assert comparison is not None and (comparison.split, comparison.seeds) == ("dev", (1, 2, 3))
    # Differences 20, 10, 30 points: mean 20, deviation 10, t = 20 / (10 / sqrt 3) with two degrees of freedom.
    assert comparison.difference == pytest.approx(20) and comparison.f1_difference == pytest.approx(10)
    t = 20 / (10 / math.sqrt(3))
    assert comparison.t_test == pytest.approx(1 - t / math.sqrt(t * t + 2))
    assert comparison.mcnemar == {1: pytest.approx(0.5), 2: pytest.approx(1.0), 3: pytest.approx(0.25)}


@pytest.mark.parametrize("right", [{1: 8}, {1: 8, 2: 7, 3: 6}])
def test_one_seed_and_equal_differences_give_no_t_test(tmp_path: Path, right: dict[int, int]) -> None:
    a, b = runs(tmp_path, "a", right), runs(tmp_path, "b", {seed: n - 3 for seed, n in right.items()})

    comparison = compare(a, b)

    assert comparison is not None and comparison.t_test is None
    assert comparison.difference == pytest.approx(30)


def test_test_comes_before_dev_where_both_have_it(tmp_path: Path) -> None:
    both, dev = ("dev", "test"), ("dev",)
    a, b = runs(tmp_path, "a", {1: 8}, splits=both), runs(tmp_path, "b", {1: 7}, splits=both)
    c = runs(tmp_path, "c", {1: 7}, splits=dev)
    assert [compare(a, other).split for other in (b, c)] == ["test", "dev"]  # type: ignore[union-attr]
    assert compare(a, []) is None and compare(a, runs(tmp_path, "d", {2: 7})) is None


def test_other_labels_are_other_pairs(tmp_path: Path) -> None:
    a, b = runs(tmp_path, "a", {1: 8}), runs(tmp_path, "b", {1: 7}, labels=1 - LABELS)

    comparison = compare(a, b)

    assert comparison is not None and comparison.mcnemar == {1: None}
