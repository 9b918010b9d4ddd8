"""Read files of sentence pairs: sniff the format, check every row, say what is wrong and where."""

from __future__ import annotations

import os
import re
import reprlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, Any, Literal, NamedTuple

from letgraph.data.layout import KEYED_KINDS, Columns, Format
from letgraph.data.records import Bad, Values, csv_records, json_records, numbered_lines, tsv_records
from letgraph.data.sniffer import LABELS, sniff_lines, take_sample
from letgraph.errors import DataError, LetgraphError
from letgraph.text.clean import clean

__all__ = ["Columns", "Format", "OnBad", "PairReader", "ReadReport", "Row", "checked_rows", "read_pairs", "sniff"]

OnBad = Literal["raise", "skip"]


class Row(NamedTuple):
    """One pair as it stands in the file. ``line`` counts from 1; ``label`` is None where there is none."""

    line: int
    a: str
    b: str
    label: int | None


@dataclass
class ReadReport:
    """How many rows were good, and how many were skipped for what."""

    good: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    first_line: dict[str, int] = field(default_factory=dict)

    def skip(self, kind: str, line: int) -> None:
        self.skipped[kind] += 1
        self.first_line.setdefault(kind, line)

    def __str__(self) -> str:
        bad = self.skipped.total()
        kinds = (f"{count} {kind} (first: line {self.first_line[kind]})" for kind, count in self.skipped.most_common())
        return f"skipped {bad:,} of {self.good + bad:,} rows" + (f": {', '.join(kinds)}" if bad else "")


def sniff(path: str | os.PathLike[str]) -> Format:
    """The format of a file, judged by its first lines. See `letgraph.data.sniffer.sniff_lines`."""
    with _open(path) as stream:
        return sniff_lines(take_sample(numbered_lines(stream, os.fspath(path))), os.fspath(path))


def read_pairs(
    source: str | os.PathLike[str] | IO[bytes],
    *,
    format: Format | str | None = None,
    labelled: bool | None = None,
    on_bad: OnBad = "raise",
) -> PairReader:
    """The pairs of a file, of a binary stream, or of standard input (``"-"``), one after another in constant memory.

    format: sniffed from the first lines where it is not given; nothing is lost of a stream.
    labelled: True demands a label in every row, False ignores labels, None takes them where there is a column of them.
    on_bad: what to do with a row of the wrong column count, a label other than 0 and 1, a sentence that is empty
    after cleaning, or bytes that are not UTF-8: raise `DataError`, or skip and count it in ``report``.

    Whatever ``on_bad``, a file that can't be opened, has no usable row, or has no label where one is demanded raises.
    """
    return PairReader(source, Format.parse(format) if isinstance(format, str) else format, labelled, on_bad)


class PairReader(Iterator[Row]):
    """An iterator of `Row` that knows the ``format`` it reads and ``report``s what it has read so far."""

    def __init__(
        self,
        source: str | os.PathLike[str] | IO[bytes],
        format: Format | None,
        labelled: bool | None,
        on_bad: OnBad,
    ) -> None:
        self.report = ReadReport()
        with ExitStack() as stack:
            if isinstance(source, (str, os.PathLike)):
                self.name = "<stdin>" if source == "-" else os.fspath(source)
                stream = sys.stdin.buffer if source == "-" else stack.enter_context(_open(source))
            else:
                self.name, stream = str(getattr(source, "name", "<stream>")), source
            lines = numbered_lines(stream, self.name)
            if format is None:
                sample = take_sample(lines)
                format = sniff_lines(sample, self.name)
                lines = chain(sample, lines)
            self.format = format
            if format.kind not in _RECORDS:
                raise LetgraphError(f"format {format.spec}: {self.name} is a file; give tsv:…, csv:… or jsonl:…")
            if labelled and format.columns.label is None:
                raise DataError(
                    self.name,
                    None,
                    f"labels are needed, but no column of them was found: {format}",
                    "add a column of 0 and 1, or say where it is, for example --format tsv:a,b,label",
                )
            records, positions = _below_header(_RECORDS[format.kind](lines), format, self.name)
            self._rows = checked_rows(records, positions, self.name, self.report, on_bad, labelled is not False)
            self._files = stack.pop_all()

    def __next__(self) -> Row:
        try:
            return next(self._rows)
        except BaseException:
            self._files.close()
            raise

    def close(self) -> None:
        """Close the file, if this reader opened it. Reading to the end, or to an error, does so too."""
        self._files.close()

    def __enter__(self) -> PairReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


_RECORDS = {"tsv": tsv_records, "csv": csv_records, "jsonl": json_records}


def _open(path: str | os.PathLike[str]) -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as error:
        raise DataError(path, None, f"can't be read ({error.strerror})", "check the path and its permissions") from None


def _below_header(
    records: Iterator[tuple[int, Values | Bad]], format: Format, name: str
) -> tuple[Iterator[tuple[int, Values | Bad]], Format]:
    """Take the header, where there is one, and find the columns by it."""
    if not format.header:
        return records, format
    line, header = next(records, (0, Bad("empty file", "the file is empty", "give rows of two sentences and a label")))
    if isinstance(header, Bad):
        raise DataError(name, line or None, header.problem, header.mend)
    try:
        positions = format.below(list(header))
    except KeyError as error:
        problem = f"no column {error} in the header ({', '.join(header)})"
        raise DataError(name, line, problem, "name the columns: --format tsv:a=NAME,b=NAME,label=NAME") from None
    return records, positions


def checked_rows(
    records: Iterable[tuple[int, Values | Bad]],
    format: Format,
    name: str,
    report: ReadReport,
    on_bad: OnBad,
    with_labels: bool,
) -> Iterator[Row]:
    """The good ones of numbered records as rows; the others raise or are counted in ``report``."""
    for line, values in records:
        row = values if isinstance(values, Bad) else _row(line, values, format, with_labels)
        if isinstance(row, Row):
            report.good += 1
            yield row
        elif on_bad == "skip":
            report.skip(row.kind, line)
        else:
            raise DataError(name, line, row.problem, row.mend)
    if not report.good:
        problem = str(report) if report.skipped else f"there are no rows{' below the header' if format.header else ''}"
        raise DataError(
            name, None, problem, f"give rows of two sentences and a label, or another --format than {format.spec}"
        )


def _row(line: int, values: Any, format: Format, with_labels: bool) -> Row | Bad:
    (a, b, label), width = format.columns, format.width
    if not with_labels:
        label = None
    if format.kind in KEYED_KINDS:
        missing = [repr(column) for column in (a, b, label) if column is not None and column not in values]
        if missing:
            return Bad("missing key", f"no {' and '.join(missing)} in the object", f"give every row {format.names}")
    elif len(values) != width:
        found = "an empty line" if values in ([], [""]) else f"{len(values)} columns"
        mend = f"write every row as {format.names}, or give another --format"
        return Bad("wrong column count", f"{found} where {width} columns are expected", mend)
    for column in (a, b):
        sentence = values[column]
        if not isinstance(sentence, str):
            problem = f"{column!r} is {reprlib.repr(sentence)}, not a string"
            return Bad("not text", problem, "give both sentences as strings")
        if not _SURVIVES.search(sentence) and not clean(sentence).text:
            problem = f"sentence {'a' if column == a else 'b'} is empty after cleaning"
            return Bad("empty sentence", problem, "give the sentence, or delete the row")
    if label is None:
        return Row(line, values[a], values[b], None)
    written = values[label]
    value = LABELS.get(str(int(written)) if isinstance(written, bool) else str(written).strip())
    if value is not None:
        return Row(line, values[a], values[b], value)
    hint = f"; if this line is a header: --format {format.kind}+header:{format.names}"
    mend = f"write 1 for a match and 0 for none{hint if line == 1 and width is not None else ''}"
    return Bad("label not 0/1", f"label {reprlib.repr(written)} is neither 0 nor 1", mend)


# Any of these characters survives cleaning, so most sentences need not be cleaned to see that they are not empty.
_SURVIVES = re.compile("[0-9A-Za-z\u4e00-\u9fff]")
