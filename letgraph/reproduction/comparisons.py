"""Is one row better than another? Paired tests over seeds and over examples, by scipy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest, ttest_rel

from letgraph.reproduction.results import SPLITS, Outcome, Result


@dataclass(frozen=True)
class Comparison:
    """``difference``: mean of accuracy(a) - accuracy(b), in points, over the ``seeds`` that both have on ``split``.

    ``t_test``: two-sided p-value of Student's paired t-test over these seeds, None where there are fewer than two or
    all differences are equal. ``mcnemar``: by seed the two-sided p-value of McNemar's exact test over examples, None
    where a run has kept no scores or the two have not scored the same pairs.
    """

    split: str
    seeds: tuple[int, ...]
    difference: float
    f1_difference: float
    t_test: float | None
    mcnemar: Mapping[int, float | None]


def compare(a: Sequence[Result], b: Sequence[Result]) -> Comparison | None:
    """Runs of two rows, paired by seed, on the first of test and dev that some pair has; None where none has any."""
    of_a, of_b = ({result.seed: result for result in results} for results in (a, b))
    for split in SPLITS:
        seeds = tuple(
            seed
            for seed in sorted(set(of_a) & set(of_b))
            if split in of_a[seed].metrics and split in of_b[seed].metrics
        )
        if not seeds:
            continue
        accuracy, f1 = (
            np.array([[100 * run[seed].metrics[split][name] for seed in seeds] for run in (of_a, of_b)])
            for name in ("accuracy", "f1")
        )
        # Equal differences have no variance, and what rounding makes of it is no evidence.
        varies = len(seeds) > 1 and np.ptp(accuracy[0] - accuracy[1]) > 1e-9
        return Comparison(
            split,
            seeds,
            float((accuracy[0] - accuracy[1]).mean()),
            float((f1[0] - f1[1]).mean()),
            float(ttest_rel(accuracy[0], accuracy[1]).pvalue) if varies else None,
            {seed: mcnemar(of_a[seed].outcomes.get(split), of_b[seed].outcomes.get(split)) for seed in seeds},
        )
    return None


def mcnemar(a: Outcome | None, b: Outcome | None) -> float | None:
    """McNemar's exact test: of the pairs that one alone got right, is either's share other than a half?"""
    if a is None or b is None or a.labels != b.labels or len(a.correct) != len(b.correct):
        return None
    only_a, only_b = int((a.correct & ~b.correct).sum()), int((~a.correct & b.correct).sum())
    return float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0
