"""Pre-trained sememe vectors: the text file and its match with a lexicon's sememes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from letgraph.errors import DataError, LetgraphError
from letgraph.text.lexicon import Lexicon
from letgraph.text.lexicon_formats import read_lines

_MEND = "write a first line COUNT DIMENSION, then one line NAME VALUE … a sememe"


@dataclass(frozen=True)
class SememeVectors:
    """Row i of ``vectors`` (float32, M × d, as they stand in the file: not scaled) belongs to ``names[i]``."""

    names: list[str]
    vectors: NDArray[np.float32]


def read_sememe_vectors(path: str | os.PathLike[str]) -> SememeVectors:
    """Read the LET authors' format (word2vec's text format): ``M d``, then M lines of a name and d values.

    Raises `DataError` with the line for a bad header, a wrong number of values, values that are not finite numbers,
    a name that comes twice, and a number of rows that the header does not announce (a file that was cut off).
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise LetgraphError(f"{path}: no such file of sememe vectors; name one, or train without pre-trained vectors")
    lines = read_lines(path)
    header = lines[0].split() if lines else []
    if len(header) != 2 or not all(number.isdecimal() and int(number) > 0 for number in header):
        raise DataError(path, 1, "no header COUNT DIMENSION", _MEND)
    count, dimension = map(int, header)
    if len(lines) - 1 != count:
        problem = f"{len(lines) - 1} rows where the header announces {count}"
        raise DataError(path, len(lines), problem, "bring the whole file again, or correct the header")

    line_of: dict[str, int] = {}
    vectors = np.empty((count, dimension), np.float32)
    for line, text in enumerate(lines[1:], 2):
        name, *values = text.split() or [""]
        if len(values) != dimension:
            raise DataError(path, line, f"{len(values)} values where the header announces {dimension}", _MEND)
        if name in line_of:
            raise DataError(path, line, f"{name!r} has a vector in line {line_of[name]} already", "keep one of them")
        line_of[name] = line
        try:
            with np.errstate(over="ignore"):  # too great for float32 becomes inf, which is refused below
                vectors[line - 2] = values
        except ValueError as error:
            raise DataError(path, line, f"a value is not a number ({error})", _MEND) from None
        if not np.isfinite(vectors[line - 2]).all():
            raise DataError(path, line, "a value is not a finite float32 number", "correct it or take the row out")
    return SememeVectors(list(line_of), vectors)


def vectors_for(lexicon: Lexicon, vectors: SememeVectors) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The vectors of a lexicon's sememes (float32, num_sememes × d) and which of them there are (bool).

    Rows of sememes without a vector are zero and False in the mask: those want a trainable vector.
    """
    row_of = {name: row for row, name in enumerate(vectors.names)}
    rows = np.array([row_of.get(name, -1) for name in lexicon.sememes])
    present = rows >= 0
    matched = np.zeros((lexicon.num_sememes, vectors.vectors.shape[1]), np.float32)
    matched[present] = vectors.vectors[rows[present]]
    return matched, present
