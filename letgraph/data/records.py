"""From bytes to numbered records: lines, decoding, and the columns of one row."""

from __future__ import annotations

import csv
import json
from collections import deque
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

from letgraph.errors import DataError

MAX_LINE_BYTES = 1 << 20
MAX_RECORD_LINES = 100
"""A quoted CSV field that is still open after so many lines is taken for an unbalanced quote."""

Line = tuple[int, bytes]
"""Line number from 1, and the line without its end."""

Values = list[str] | dict[str, Any]


class Bad(NamedTuple):
    """Why a row can't be used: ``kind`` is what a report counts."""

    kind: str
    problem: str
    mend: str


def numbered_lines(stream: IO[bytes], name: str) -> Iterator[Line]:
    r"""The lines of a UTF-8 stream, in constant memory.

    Only ``\n`` and ``\r\n`` end a line; U+0085, U+2028, ``\x0b`` and ``\x0c`` are data. A byte order mark is dropped,
    and so are empty lines at the end of the file.

    Raises `DataError` for other encodings that tell themselves, compressed files and lines above `MAX_LINE_BYTES`.
    """
    number = empty = 0
    while line := stream.readline(MAX_LINE_BYTES):
        number += 1
        if number == 1:
            line = _without_mark(line, name)
        if len(line) == MAX_LINE_BYTES and line[-1:] != b"\n":
            raise DataError(
                name, number, f"a line longer than {MAX_LINE_BYTES:,} bytes", "give a text file with one pair a line"
            )
        line = line[:-2] if line[-2:] == b"\r\n" else line[:-1] if line[-1:] == b"\n" else line
        if not line:
            empty += 1
            continue
        while empty:
            yield number - empty, b""
            empty -= 1
        yield number, line


def _without_mark(line: bytes, name: str) -> bytes:
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(name, 1, "the file is UTF-16, not UTF-8", f"convert it: iconv -f UTF-16 -t UTF-8 {name}")
    if line.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh91AY", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        raise DataError(name, 1, "the file is compressed or a spreadsheet", "unpack it, or export it as UTF-8 text")
    return line.removeprefix(b"\xef\xbb\xbf")


def tsv_records(lines: Iterable[Line]) -> Iterator[tuple[int, list[str] | Bad]]:
    """Fields between tabs. There is no quoting: a quote is a character like any other."""
    for number, line in lines:
        try:
            yield number, line.decode("utf-8").split("\t")
        except UnicodeDecodeError as error:
            yield number, _not_utf8(error)


def csv_records(lines: Iterable[Line]) -> Iterator[tuple[int, list[str] | Bad]]:
    """Comma-separated fields with RFC 4180 quoting; a record is numbered by its first line.

    After a record whose quotes don't balance, reading goes on at the line after its first one.
    """
    feed = _Feed(lines)
    reader = csv.reader(feed, strict=True)
    while feed.more():
        feed.start_record()
        try:
            fields: list[str] | Bad = next(reader)
        except UnicodeDecodeError as error:
            fields = _not_utf8(error)
            feed.back_to_second_line()
        except csv.Error as error:
            fields = Bad(
                "broken quoting",
                f"CSV quoting: {error}",
                "put fields that hold quotes, commas or line ends between quotes and double the quotes inside",
            )
            feed.back_to_second_line()
        yield feed.number, fields


class _Feed:
    """Decoded lines for `csv.reader`, which can be rewound to the second line of the present record."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = iter(lines)
        self._ahead: deque[Line] = deque()
        self._record: list[Line] = []

    def more(self) -> bool:
        if not self._ahead:
            self._ahead.extend(line for line in (next(self._lines, None),) if line is not None)
        return bool(self._ahead)

    def start_record(self) -> None:
        self._record = []

    @property
    def number(self) -> int:
        return self._record[0][0]

    def back_to_second_line(self) -> None:
        self._ahead.extendleft(reversed(self._record[1:]))

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        if len(self._record) == MAX_RECORD_LINES:
            raise csv.Error(f"a quote that is still open after {MAX_RECORD_LINES} lines")
        if not self.more():
            raise StopIteration
        line = self._ahead.popleft()
        self._record.append(line)
        return line[1].decode("utf-8") + "\n"


def json_records(lines: Iterable[Line]) -> Iterator[tuple[int, dict[str, Any] | Bad]]:
    """One JSON object a line."""
    for number, line in lines:
        try:
            value = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            yield number, _not_utf8(error)
        except (ValueError, RecursionError) as error:
            yield number, Bad("broken JSON", f"not JSON: {error}", "write one JSON object a line")
        else:
            if isinstance(value, dict):
                yield number, value
            else:
                yield number, Bad("broken JSON", "not a JSON object", 'write one object a line: {"a": …, "b": …}')


def _not_utf8(error: UnicodeDecodeError) -> Bad:
    problem = f"not UTF-8 (byte 0x{error.object[error.start]:02x} at byte {error.start + 1} of the line)"
    return Bad("not UTF-8", problem, "convert the file, for example: iconv -f GB18030 -t UTF-8")
