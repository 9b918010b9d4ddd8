"""What ``python -m letgraph.reproduce`` does, once its command line is read."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from letgraph.data.corpora import open_corpus
from letgraph.errors import LetgraphError
from letgraph.reproduction.plan import Estimate, Request, Run, carry_out, estimate, plan
from letgraph.reproduction.rendering import table_paths, write_table
from letgraph.reproduction.results import find_results, keep
from letgraph.reproduction.rows import TABLES, Row, TableRows
from letgraph.reproduction.tables import Family, assign, build_sections, section_of
from letgraph.training import last_state


def reproduce(options: argparse.Namespace, further: Sequence[str]) -> None:
    """Carry out a table's runs, or list them. Raises `LetgraphError`."""
    table = TABLES[options.command]
    limit = [f"--limit={options.limit}"] if options.limit is not None else []
    request = Request(
        table,
        options.dataset or table.datasets,
        _rows(table, options.models),
        list(dict.fromkeys(options.seeds)),
        options.output_dir,
        options.encoder_dir,
        [*limit, *further],
    )
    if options.output_dir.exists() and not options.output_dir.is_dir():
        raise LetgraphError(f"--output-dir {options.output_dir} is a file; name a folder")
    runs = plan(request)
    absent = {row.name: reason for row in table.rows if (reason := request.lacks(row))}
    for run in runs:  # before hours are spent on the first of them
        open_corpus(str(run.settings.data.dataset), run.settings.data.data_dir, run.settings.data.format)
    if options.dry_run:
        _print_plan(runs, estimate(runs, request.folder))
        for row in request.rows:
            if row.name in absent:
                print(f"{row.title}: {absent[row.name]}")
        return
    families = list(dict.fromkeys(run.family for run in runs))
    try:
        carry_out(runs, lambda: _write(table, families, request.folder, absent))
    finally:
        paths = _write(table, families, request.folder, absent)
        print("\n".join(f"written: {path}" for path in paths))


def keep_runs(folders: Sequence[Path], results: Path) -> None:
    """Copy the small files of finished runs. Raises `LetgraphError` where a folder holds none."""
    for folder in folders:
        found = find_results(folder)
        if not found:
            raise LetgraphError(f"{folder} holds no finished run (no metrics.json in it, nor in a folder of it)")
        for result, place in zip(found, keep(found, results / "runs"), strict=True):
            without = (
                ""
                if result.outcomes
                else (
                    "; it has no scores/, so McNemar's test leaves it out: run letgraph.train with its settings and "
                    "--resume auto, which scores again"
                )
            )
            print(f"{result.folder} is kept in {place}{without}")


def rebuild(results: Path) -> None:
    """All tables from kept runs. Raises `LetgraphError` where none are kept."""
    found = find_results(results / "runs")
    if not found:
        raise LetgraphError(
            f"{results / 'runs'} holds no kept run; keep some by `python -m letgraph.reproduce keep DIR`"
        )
    for table in TABLES.values():
        sections = list(build_sections(table, found).values())
        # A section of one row compares nothing: most likely that is a run of another table.
        several = [section for section in sections if sum(map(bool, section.summaries)) > 1]
        if several:
            print("\n".join(f"written: {path}" for path in write_table(results, several, {})))
        else:
            for path in filter(Path.is_file, table_paths(results, table)):
                path.unlink()
                print(f"removed: {path} (no kept runs)")


def _write(table: TableRows, families: Sequence[Family], folder: Path, absent: Mapping[str, str]) -> list[Path]:
    """All sections of the folder, first those asked for, so that commands on several corpora share a table."""
    found = find_results(folder)
    asked = assign(table, found, families)
    sections = [section_of(table, family, asked.get(family, {})) for family in families]
    try:
        others = [section for family, section in build_sections(table, found).items() if family not in families]
    except LetgraphError as error:
        print(f"other sections of {table.name} are left out: {error}")
        others = []
    return write_table(folder, [*sections, *others], absent)


def _rows(table: TableRows, names: Sequence[str] | None) -> list[Row]:
    known = [row.name for row in table.rows]
    for name in names or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            mend = f"did you mean {near[0]}?" if near else f"rows are {', '.join(known)}"
            raise LetgraphError(f"{table.name} has no row {name!r}; {mend}")
    return [row for row in table.rows if names is None or row.name in names]


def _print_plan(runs: Sequence[Run], estimates: Sequence[Estimate]) -> None:
    total, unknown = 0.0, 0
    for run, it in zip(runs, estimates, strict=True):
        if run.result is not None:
            print(f"{run.name}: finished in {run.result.folder}")
            continue
        begun = "begun, " if last_state(run.folder / "states") else ""
        if it.seconds is None:
            unknown += 1
            print(f"{run.name}: {begun}nothing to estimate its time from (no finished run of this model)")
        else:
            total += it.seconds
            print(
                f"{run.name}: {begun}about {_duration(it.seconds)} ({it.pairs_per_second:.0f} pairs/s of {it.source})"
            )
    missing = [run for run in runs if run.result is None]
    times = [f"about {_duration(total)} of training"] if total or not unknown else []
    times += [f"{unknown} of unknown time"] if unknown else []
    print(f"{len(missing)} of {len(runs)} runs to do: {', and '.join(times)}")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
