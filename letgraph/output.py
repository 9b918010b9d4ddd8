"""Files that are written: whole ones or none, and rows that any reader of TSV takes apart as they were put together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from letgraph.errors import LetgraphError

_UNFIT = re.compile("[\t\n\r\ud800-\udfff]")


def tsv_row(*cells: str) -> bytes:
    r"""One line of UTF-8 TSV without quoting.

    ``\t``, ``\n`` and ``\r`` inside a cell become blanks, and lone surrogates U+FFFD: as cells they can't be written.
    """
    line = "\t".join(_UNFIT.sub(_substitute, cell) if _UNFIT.search(cell) else cell for cell in cells)
    return f"{line}\n".encode()


def _substitute(match: re.Match[str]) -> str:
    return " " if match[0] in "\t\n\r" else "\ufffd"


def probability_cell(probability: float) -> str:
    """Nine digits, as many as a float32 has."""
    return f"{probability:.9g}"


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A binary file to write, which replaces ``path`` when all is written; after an exception nothing has changed.

    What is there and is no plain file, such as /dev/null or a pipe, is written to as it is. Raises `LetgraphError`
    where that can't be done.
    """
    target = Path(os.path.realpath(path))
    in_place = target.exists() and not target.is_file()
    unfinished = target if in_place else target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        stream = unfinished.open("wb")
    except OSError as error:
        raise LetgraphError(f"{path} cannot be written ({error.strerror}); choose another place") from None
    try:
        with stream:
            yield stream
        if not in_place:
            os.replace(unfinished, target)
    finally:
        if not in_place:
            unfinished.unlink(missing_ok=True)
