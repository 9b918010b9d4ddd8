"""Which layout a file has, judged by its first lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from letgraph.data.layout import LABEL_NAMES, Columns, Format, Kind, columns_by_name, normalised
from letgraph.data.records import Bad, Line, csv_records, json_records, tsv_records
from letgraph.errors import DataError

LABELS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1}
"""What a label may look like. Tools that take the column for real numbers write the forms with a point."""

SAMPLE_LINES = 100
SAMPLE_BYTES = 1 << 20

Table = Sequence[Sequence[str]]
"""Rows with equally many fields."""


def take_sample(lines: Iterator[Line]) -> list[Line]:
    """The first lines, at most `SAMPLE_LINES` and little more than `SAMPLE_BYTES`."""
    sample: list[Line] = []
    size = 0
    while len(sample) < SAMPLE_LINES and size < SAMPLE_BYTES and (line := next(lines, None)) is not None:
        sample.append(line)
        size += len(line[1])
    return sample


def sniff_lines(sample: Sequence[Line], name: str) -> Format:
    """The format of the file that begins with ``sample``; deterministic, and its `note` says what was ambiguous.

    kind: JSON lines where most lines look like objects or the file's name says so; else tab-separated where most lines
    hold a tab; else comma-separated.
    columns: by the known names of a header or of keys. Without them the label is the last, else the first, else
    another column that mostly holds 0 and 1, and the sentences are the other columns, running numbers left out.
    A file of two columns is unlabelled.

    Raises `DataError` where the two sentences can't be told; its mend is a ``--format``.
    """
    if not sample:
        raise DataError(name, None, "the file is empty", "give rows of two sentences and a label")
    kind = _kind(sample, name)
    if kind == "jsonl":
        return _sniff_json(sample, name)
    records = tsv_records(sample) if kind == "tsv" else csv_records(sample)
    rows: list[tuple[int, list[str]]] = []
    bad: list[tuple[int, Bad]] = []
    for line, fields in records:
        if isinstance(fields, Bad):
            bad.append((line, fields))
        else:
            rows.append((line, fields))
    if not rows:
        raise DataError(name, bad[0][0], bad[0][1].problem, bad[0][1].mend)
    first_line, first = rows[0]
    named = None if any(field.strip() in LABELS for field in first) else columns_by_name(first)
    if named is not None:
        return _sniff_below_names(kind, named, first, [fields for _, fields in rows[1:] if len(fields) == len(first)])
    width = _usual_width([fields for _, fields in rows])
    if width == 1:
        problem = "one column where two sentences are expected"
        raise DataError(name, first_line, problem, "separate the columns by tabs, or give a CSV or JSON-lines file")
    below = [fields for _, fields in rows[1:] if len(fields) == width]
    label = _label_below_name(first, below) if len(first) == width else None
    table = below if label is not None else [fields for _, fields in rows if len(fields) == width]
    guess = _guess_columns(table, label)
    if guess is None:
        problem = f"{width} columns without a column of labels 0 and 1"
        mend = f"give the labels, or say which columns hold the sentences: --format {kind}:a,b{',_' * (width - 2)}"
        raise DataError(name, first_line, problem, mend)
    columns, note = guess
    return Format(kind, label is not None, columns, width, note)


def _kind(sample: Sequence[Line], name: str) -> Kind:
    suffix = PurePath(name).suffix.lower()
    lines = [line for _, line in sample if line]
    if suffix in (".json", ".jsonl", ".ndjson"):
        if lines and lines[0].lstrip().startswith(b"["):
            raise DataError(name, sample[0][0], "a JSON array, not JSON lines", f"convert it: jq -c '.[]' {name}")
        return "jsonl"
    if 2 * sum(line.lstrip().startswith(b"{") for line in lines) > len(lines) and any(map(_is_object, lines)):
        return "jsonl"
    if 2 * sum(b"\t" in line for line in lines) > len(lines):
        return "tsv"
    widths = [len(fields) for _, fields in csv_records(sample) if not isinstance(fields, Bad)]
    return "csv" if suffix == ".csv" or 2 * sum(width > 1 for width in widths) > len(widths) else "tsv"


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _sniff_json(sample: Sequence[Line], name: str) -> Format:
    records = list(json_records(sample))
    keys = list(dict.fromkeys(key for _, row in records if not isinstance(row, Bad) for key in row))
    line, first = records[0]
    if not keys and isinstance(first, Bad):
        raise DataError(name, line, first.problem, first.mend)
    columns = columns_by_name(keys)
    if columns is None:
        raise unknown_names(name, line, "jsonl", keys)
    return Format("jsonl", False, columns)


def unknown_names(name: str, line: int | None, kind: Kind, names: Sequence[str]) -> DataError:
    """The error for names among which there are no two sentences."""
    problem = f"no known names of two sentences among {', '.join(names) or 'none at all'}"
    return DataError(name, line, problem, f"name the columns: --format {kind}:a=NAME,b=NAME,label=NAME")


def _sniff_below_names(kind: Kind, named: Columns, header: Sequence[str], below: Table) -> Format:
    """The sentences by their names; a label with an unknown name by what it holds."""
    if named.label is not None:
        return Format(kind, True, named)
    names = [name.strip() for name in header]
    labels = [names[column] for column in _label_columns(below) if names[column] not in named]
    if not labels:
        return Format(kind, True, named)
    note = f"{labels[-1]!r} was taken for the label because it holds 0 and 1"
    return Format(kind, True, Columns(named.a, named.b, labels[-1]), None, note)


def _label_below_name(header: Sequence[str], below: Table) -> int | None:
    """The column of labels that the first line names, where the names of the sentences are unknown."""
    return next((column for column in _label_columns(below) if normalised(header[column]) in LABEL_NAMES), None)


def _usual_width(rows: Sequence[Sequence[str]]) -> int:
    """The commonest number of columns; among equally common ones three, else the greatest."""
    counts = Counter(map(len, rows))
    return max(counts, key=lambda width: (counts[width], width == 3, width))


def _label_columns(rows: Table) -> list[int]:
    """The columns of which half or more are labels. Bad rows may be among the sample, so not all have to be."""
    columns = range(len(rows[0]) if rows else 0)
    labels = (column for column in columns if 2 * sum(row[column].strip() in LABELS for row in rows) >= len(rows))
    # Three different whole numbers or more are a running number, not labels.
    return [
        column
        for column in labels
        if not (_is_number(rows, column) and 3 <= len(rows) == len({row[column] for row in rows}))
    ]


def _guess_columns(rows: Table, label: int | None) -> tuple[Columns, str] | None:
    """Columns without known names, and a note on what was ambiguous; None where they can't be told."""
    width = len(rows[0])
    candidates = _label_columns(rows)
    if width == 2:
        holding = " and ".join(str(column + 1) for column in candidates)
        return Columns(0, 1, None), f"column {holding} holds 0 and 1, but is taken for a sentence" if holding else ""
    if label is None:
        label = next((column for column in (width - 1, 0, *candidates) if column in candidates), None)
    if label is None and _is_shortest(rows, width - 1):
        label = width - 1
    notes = []
    others = [str(column + 1) for column in candidates if column != label]
    if others:
        notes.append(f"column {' and '.join(others)} holds 0 and 1 too")
    texts = [column for column in range(width) if column != label]
    if len(texts) > 2:
        words = [column for column in texts if not _is_number(rows, column)]
        texts = words if len(words) >= 2 else texts
    if len(texts) > 2:
        if label is None:
            return None
        texts = sorted(sorted(texts, key=lambda column: -sum(len(row[column]) for row in rows))[:2])
        notes.append("the two columns with the longest text are taken for the sentences")
    return Columns(texts[0], texts[1], label), "; ".join(notes)


def _is_number(rows: Table, column: int) -> bool:
    return all(row[column].strip().isdecimal() for row in rows)


def _is_shortest(rows: Table, column: int) -> bool:
    """Shorter than every other column in every row: a label, if not a valid one."""
    return all(len(row[column]) < min(len(text) for place, text in enumerate(row) if place != column) for row in rows)
