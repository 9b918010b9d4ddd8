"""Pre-trained vectors of words and characters: word2vec's two formats, of which only the wanted rows are kept.

Both begin with a line ``COUNT DIMENSION``. Text: then a line ``WORD VALUE … VALUE`` a word, parted by single blanks.
Binary: then ``WORD``, a blank and DIMENSION float32 numbers (little-endian) a word, with or without a line feed behind.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from letgraph.errors import DataError

_MEND = "give a word2vec file, text or binary"
_WHOLE = "bring the whole file again"
_MAX_DIMENSION = 65_536
_MAX_WORD = 4_096  # bytes
_CONTROL = bytes({*range(9), *range(14, 32)})


@dataclass(frozen=True)
class WordVectors:
    """``vectors``: (dimension,) float32 by word, as they stand in the file."""

    dimension: int
    vectors: dict[str, NDArray[np.float32]]


def read_word_vectors(path: str | os.PathLike[str], wanted: Collection[str]) -> WordVectors:
    """The vectors of the ``wanted`` words that the file has; of a word that comes twice the first.

    Raises `DataError`, for text with the line: no header, a row with another number of values, a number of rows that
    the header does not announce, and a wanted vector with a value that is no finite float32 number.
    """
    path = Path(path).expanduser()
    words = {word.encode(): word for word in wanted}
    try:
        with path.open("rb") as stream:
            count, dimension = _header(path, stream.readline(100))
            is_binary = bool(set(stream.peek(_MAX_WORD)[:_MAX_WORD]) & set(_CONTROL))
            read = _read_binary if is_binary else _read_text
            return WordVectors(dimension, read(path, stream, count, dimension, words))
    except OSError as error:
        raise DataError(path, None, f"cannot be read ({error.strerror})", _MEND) from None


def _header(path: Path, line: bytes) -> tuple[int, int]:
    numbers = line.split()
    if len(numbers) != 2 or not line.endswith(b"\n") or not all(number.isdigit() for number in numbers):
        raise DataError(path, 1, "no header COUNT DIMENSION", _MEND)
    count, dimension = map(int, numbers)
    if not 0 < dimension <= _MAX_DIMENSION:
        raise DataError(path, 1, f"dimension {dimension}", _MEND)
    return count, dimension


def _read_text(
    path: Path, stream: IO[bytes], count: int, dimension: int, words: dict[bytes, str]
) -> dict[str, NDArray[np.float32]]:
    found: dict[str, NDArray[np.float32]] = {}
    line = 1
    for line, row in enumerate(stream, 2):
        # From the right, since a word may hold a blank.
        word, *values = row.rstrip(b" \r\n").rsplit(b" ", dimension)
        if len(values) != dimension:
            problem = f"{len(values)} values where the header announces {dimension}"
            raise DataError(path, line, problem, "correct the row, or bring the whole file again")
        if word in words and words[word] not in found:
            try:
                vector = np.array(values).astype(np.float64)
            except ValueError:
                raise DataError(path, line, "a value is not a number", "correct it or take the row out") from None
            found[words[word]] = _checked(path, line, vector, words[word])
    if line - 1 != count:
        raise DataError(path, line, f"{line - 1} rows where the header announces {count}", _WHOLE)
    return found


def _read_binary(
    path: Path, stream: IO[bytes], count: int, dimension: int, words: dict[bytes, str]
) -> dict[str, NDArray[np.float32]]:
    found: dict[str, NDArray[np.float32]] = {}
    for number in range(1, count + 1):
        word = bytearray()
        while (byte := stream.read(1)) not in (b" ", b""):
            word += byte
            if len(word) > _MAX_WORD:
                raise DataError(path, None, f"word {number} has more than {_MAX_WORD} bytes", _MEND)
        values = stream.read(4 * dimension)
        if len(values) < 4 * dimension:
            raise DataError(path, None, f"ends inside vector {number} of {count}", _WHOLE)
        text = words.get(bytes(word.lstrip(b"\n")))
        if text is not None and text not in found:
            found[text] = _checked(path, None, np.frombuffer(values, "<f4"), text)
    if stream.read(2) not in (b"", b"\n"):
        raise DataError(path, None, f"goes on after the {count} vectors that the header announces", _MEND)
    return found


def _checked(path: Path, line: int | None, vector: NDArray[np.floating], word: str) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # too great for float32 becomes inf, which is refused
        single = vector.astype(np.float32)
    if not np.isfinite(single).all():
        raise DataError(path, line, f"the vector of {word!r} is not of finite float32 numbers", "take it out")
    return single
