"""From finished runs to a table: which runs belong to which row, their means, and the comparisons of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from letgraph.errors import LetgraphError
from letgraph.reproduction.comparisons import Comparison, compare
from letgraph.reproduction.results import SPLITS, Result, as_text, differences
from letgraph.reproduction.rows import ABLATIONS, Claim, Row, TableRows
from letgraph.run_folder import FILES


@dataclass(frozen=True)
class Family:
    """What all runs of a section share: the corpus, and the settings (name, value as text) that are neither defaults
    nor the table's own."""

    dataset: str
    others: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        parts = [f"first {int(value):,} pairs" if name == "limit" else f"{name}={value}" for name, value in self.others]
        return ", ".join([self.dataset, *parts])


COSTS = ("train_pairs_per_second", "predict_pairs_per_second", "peak_rss_mb")


@dataclass(frozen=True)
class Summary:
    """Over the seeds of a row on one split, in percent: ``mean`` and sample standard deviation ``deviation`` (None for
    one seed) by metric: accuracy, f1, and accuracy_not_in_train where all runs have it. ``costs``: medians over those
    runs that have measured them, of `COSTS`."""

    split: str
    seeds: tuple[int, ...]
    mean: Mapping[str, float]
    deviation: Mapping[str, float | None]
    costs: Mapping[str, float]


@dataclass(frozen=True)
class Section:
    """A table on one corpus: ``summaries`` in the order of the table's rows, None where a row has no run."""

    table: TableRows
    family: Family
    summaries: Sequence[Summary | None]
    comparisons: Sequence[tuple[Claim, Comparison]]


def sort_out(table: TableRows, result: Result) -> tuple[Family, Row] | None:
    """Where in a table a run belongs; None: nowhere."""
    special = {"model": result.settings["model"]} | differences(result.settings)
    own = {name: special.pop(name) for name in table.varies if name in special}
    row = next((row for row in table.rows if dict(row.settings) == own), None)
    if row is None or any(name in special for name in ABLATIONS) or (table.needs and table.needs not in special):
        return None
    return family_of(result.dataset, special), row


def family_of(dataset: str, special: Mapping[str, Any]) -> Family:
    """The family of a corpus and `differences`. Which file of senses it was does not part a family: baselines read
    none."""
    values = {name: value for name, value in special.items() if name not in ("hownet", "sememe_vectors")}
    return Family(dataset, tuple(sorted((name, as_text(value)) for name, value in values.items())))


Assigned = dict[Family, dict[str, dict[int, Result]]]
"""Runs by family, row and seed."""


def assign(table: TableRows, results: Iterable[Result], families: Collection[Family] | None = None) -> Assigned:
    """Each run to its place, in these families or in all.

    Raises `LetgraphError` where two runs are the same row and seed, where the seeds of a row read different lexicons,
    and where corpora of a family have nothing but their name in common.
    """
    found: Assigned = {}
    for result in results:
        place = sort_out(table, result)
        if place is None or (families is not None and place[0] not in families):
            continue
        family, row = place
        rows = found.setdefault(family, {})
        runs = rows.setdefault(row.name, {})
        where = f"{row.title!r} of {table.name} on {family.title}"
        for seed, other in runs.items():
            different = _different_files(other, result)
            if seed == result.seed or different:
                why = f"both {where}, seed {seed}" if seed == result.seed else f"seeds of {where}"
                which = f" (they differ in {different})" if different else ""
                raise LetgraphError(f"{other.folder} and {result.folder} are {why}{which}; move one of them away")
        for other in (run for of_row in rows.values() for run in of_row.values()):
            if result.corpus and other.corpus and result.corpus != other.corpus:
                raise LetgraphError(
                    f"{other.folder} and {result.folder} are of two corpora called {family.dataset}, {other.corpus} "
                    f"and {result.corpus}; use a folder for each"
                )
        runs[result.seed] = result
    return found


def build_sections(table: TableRows, results: Iterable[Result]) -> dict[Family, Section]:
    """All sections that the runs give, by family. Raises `LetgraphError` as `assign` does."""
    found = assign(table, results)
    return {family: section_of(table, family, runs) for family, runs in sorted(found.items(), key=lambda it: str(it))}


def section_of(table: TableRows, family: Family, runs: Mapping[str, Mapping[int, Result]]) -> Section:
    """``runs``: by row and seed."""
    by_row = {name: [of_row[seed] for seed in sorted(of_row)] for name, of_row in runs.items()}
    compared = ((claim, compare(by_row.get(claim.better, []), by_row.get(claim.worse, []))) for claim in table.claims)
    return Section(
        table,
        family,
        [summarise(by_row.get(row.name, [])) for row in table.rows],
        [(claim, comparison) for claim, comparison in compared if comparison is not None],
    )


def summarise(results: Sequence[Result]) -> Summary | None:
    """Of the runs of a row, on the first of test and dev that any of them has."""
    for split in SPLITS:
        scored = [result for result in results if split in result.metrics]
        if not scored:
            continue
        columns = {}
        for name in ("accuracy", "f1", "accuracy_not_in_train"):
            values = [result.metrics[split].get(name) for result in scored]
            if None not in values:
                columns[name] = 100 * np.array(values, np.float64)
        return Summary(
            split,
            tuple(result.seed for result in scored),
            {name: float(values.mean()) for name, values in columns.items()},
            {name: float(values.std(ddof=1)) if len(values) > 1 else None for name, values in columns.items()},
            {
                name: median(found)
                for name in COSTS
                if (found := [value for result in scored if (value := result.metrics.get(name)) is not None])
            },
        )
    return None


def _different_files(a: Result, b: Result) -> str:
    return ", ".join(name for name in FILES if a.settings.get(name) != b.settings.get(name))
