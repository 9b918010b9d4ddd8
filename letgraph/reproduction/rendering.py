"""A table as Markdown and LaTeX for people, and as CSV for programs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from letgraph.output import whole_file
from letgraph.reproduction.rows import Figure, Row, TableRows
from letgraph.reproduction.tables import COSTS, Section, Summary

NO_RUN = "not run"


@dataclass(frozen=True)
class Grid:
    """A head and rows of as many cells, as text."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def write_table(folder: Path, sections: Sequence[Section], absent: Mapping[str, str]) -> list[Path]:
    """Write ``folder``/TABLE.md, .tex, .csv and TABLE-tests.csv; returns the paths.

    ``absent``: what to say of a row without a run, by its name, in place of "not run".
    """
    table = sections[0].table
    texts = (
        "\n".join(_markdown(table, sections, absent)) + "\n",
        "\n".join(_latex(table, sections, absent)) + "\n",
        _csv(_row_records(sections)),
        _csv(_test_records(sections), TESTS_HEAD),
    )
    folder.mkdir(parents=True, exist_ok=True)
    paths = table_paths(folder, table)
    for path, text in zip(paths, texts, strict=True):
        with whole_file(path) as stream:
            stream.write(text.encode())
    return paths


def table_paths(folder: Path, table: TableRows) -> list[Path]:
    """The files of a table, as `write_table` writes them."""
    return [folder / f"{table.name}{rest}" for rest in (".md", ".tex", ".csv", "-tests.csv")]


def notes(table: TableRows) -> list[str]:
    return [
        "ACC and F1 in percent: mean ± sample standard deviation over n seeds, of the split that is named.",
        "ACC new: on the pairs that are not in the training split in either order.",
        "Paper: its mean of five seeds on the test split; (s) stated in its text, (r) recalled from its tables and not "
        "compared with them again. Dev is not test.",
        "pairs/s / GB: of training, of scoring, and the most memory that the process took meanwhile; medians over the "
        "seeds, each on the machine it ran on, with whatever ran beside it.",
        "Tests: p of Student's paired t-test over seeds, and of McNemar's exact test over examples, seed by seed. "
        "No correction for several comparisons.",
        *table.notes,
    ]


def result_grid(section: Section, absent: Mapping[str, str]) -> Grid:
    with_new = any(summary and "accuracy_not_in_train" in summary.mean for summary in section.summaries)
    metrics = ["accuracy", "f1", *(["accuracy_not_in_train"] if with_new else [])]
    rows = []
    for row, summary in zip(section.table.rows, section.summaries, strict=True):
        paper = _paper(row.paper.get(section.family.dataset))
        if summary is None:
            cells = [absent.get(row.name, NO_RUN), *[""] * (len(metrics) - 1), "0", "", paper, ""]
        else:
            cells = [*(_mean(summary, name) for name in metrics), str(len(summary.seeds)), summary.split]
            cells += [paper, _costs(summary)]
        rows.append([row.title, *cells])
    new = ["ACC new"] if with_new else []
    head = ["", "ACC", "F1", *new, "n", "split", "paper ACC / F1", "pairs/s / GB"]
    return Grid(section.family.title, head, rows)


def test_grid(section: Section) -> Grid:
    rows = []
    for claim, comparison in section.comparisons:
        per_seed = ", ".join(f"{seed}: {_p(p)}" for seed, p in comparison.mcnemar.items())
        titles = [section.table.row(name).title for name in (claim.better, claim.worse)]
        differences = [f"{comparison.difference:+.2f}", f"{comparison.f1_difference:+.2f}"]
        cells = [str(len(comparison.seeds)), comparison.split, _p(comparison.t_test), per_seed, claim.paper]
        rows.append([" − ".join(titles), *differences, *cells])
    head = ["difference, points", "ACC", "F1", "n", "split", "p, seeds (t)", "p, examples (McNemar), by seed", "paper"]
    return Grid(f"{section.family.title}: comparisons", head, rows)


def _mean(summary: Summary, name: str) -> str:
    if name not in summary.mean:
        return "–"
    deviation = summary.deviation[name]
    return f"{summary.mean[name]:.2f}" + ("" if deviation is None else f" ± {deviation:.2f}")


def _costs(summary: Summary) -> str:
    speeds = [summary.costs.get(name) for name in ("train_pairs_per_second", "predict_pairs_per_second")]
    memory = summary.costs.get("peak_rss_mb")
    figures = ["–" if speed is None else f"{speed:.0f}" for speed in speeds]
    return " / ".join([*figures, "–" if memory is None else f"{memory / 1024:.1f}"])


def _paper(figure: Figure | None) -> str:
    if figure is None:
        return "–"
    return f"{figure.accuracy:.2f} / {'–' if figure.f1 is None else f'{figure.f1:.2f}'} ({figure.source[0]})"


def _p(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def _grids(sections: Sequence[Section], absent: Mapping[str, str]) -> Iterator[Grid]:
    for section in sections:
        yield result_grid(section, absent)
        if section.comparisons:
            yield test_grid(section)


def _markdown(table: TableRows, sections: Sequence[Section], absent: Mapping[str, str]) -> Iterator[str]:
    yield f"# {table.title}"
    for grid in _grids(sections, absent):
        yield from ("", f"## {grid.title}", "", _markdown_row(grid.head), "|" + "---|" * len(grid.head))
        yield from map(_markdown_row, grid.rows)
    yield ""
    yield from (f"* {note}" for note in notes(table))


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _latex(table: TableRows, sections: Sequence[Section], absent: Mapping[str, str]) -> Iterator[str]:
    yield "% needs \\usepackage{booktabs}"
    for grid in _grids(sections, absent):
        yield from (r"\begin{table}", r"\centering", rf"\caption{{{_tex(f'{table.title}, {grid.title}')}}}")
        yield from (rf"\begin{{tabular}}{{l{'r' * (len(grid.head) - 1)}}}", r"\toprule")
        yield from (_latex_row(grid.head), r"\midrule", *map(_latex_row, grid.rows))
        yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}")
    yield from (f"% {note}" for note in notes(table))


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(map(_tex, cells)) + r" \\"


_SIGNS = {
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "<": "$<$",
    ">": "$>$",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
}


def _tex(text: str) -> str:
    return re.sub(r"[&%$#_{}]|[±−–<>\\~^]", lambda sign: _SIGNS.get(sign[0], "\\" + sign[0]), text).replace(
        r"\^", r"\textasciicircum{}"
    )


Record = dict[str, object]

TESTS_HEAD = (
    *("table", "section", "better", "worse"),
    *("split", "n", "accuracy_difference", "f1_difference"),
    *("t_test_p", "seed", "mcnemar_p", "paper"),
)
"""Of TABLE-tests.csv, which may have no line but this one."""


def _row_records(sections: Sequence[Section]) -> Iterator[Record]:
    for section in sections:
        for row, summary in zip(section.table.rows, section.summaries, strict=True):
            yield {
                "table": section.table.name,
                "section": section.family.title,
                "row": row.name,
                "split": summary and summary.split,
                "n": len(summary.seeds) if summary else 0,
                "seeds": summary and " ".join(map(str, summary.seeds)),
                **_measured(summary),
                **{name: summary and summary.costs.get(name) for name in COSTS},
                **_paper_record(row, section.family.dataset),
            }


def _measured(summary: Summary | None) -> Record:
    return {
        f"{name}_{what}": values.get(name) if summary else None
        for name in ("accuracy", "f1", "accuracy_not_in_train")
        for what, values in (
            ("mean", summary.mean if summary else {}),
            ("deviation", summary.deviation if summary else {}),
        )
    }


def _paper_record(row: Row, dataset: str) -> Record:
    figure = row.paper.get(dataset)
    return {
        "paper_accuracy": figure and figure.accuracy,
        "paper_f1": figure and figure.f1,
        "paper_source": figure and figure.source,
    }


def _test_records(sections: Sequence[Section]) -> Iterator[Record]:
    """A record for each comparison and seed."""
    for section in sections:
        for claim, comparison in section.comparisons:
            for seed, p in comparison.mcnemar.items():
                cells = (
                    *(section.table.name, section.family.title, claim.better, claim.worse),
                    *(comparison.split, len(comparison.seeds), comparison.difference, comparison.f1_difference),
                    *(comparison.t_test, seed, p, claim.paper),
                )
                yield dict(zip(TESTS_HEAD, cells, strict=True))


def _csv(records: Iterator[Record], head: Sequence[str] | None = None) -> str:
    rows = list(records)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, head or list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
