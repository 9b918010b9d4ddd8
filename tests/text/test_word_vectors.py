"""word2vec files: both formats give the same vectors, and what is not right is named with its place."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from letgraph.errors import DataError
from letgraph.text.word_vectors import read_word_vectors

ROWS = {"存款": [0.5, -1.0, 2.0], "New York": [1.0, 1.0, 1.0], "利": [0.25, 3e-5, -7.5], "率": [0.0, 0.0, 0.0]}
WANTED = ["利", "存款", "率", "行"]


def as_text(rows: dict[str, list[float]] = ROWS, end: str = "\n") -> bytes:
    lines = [f"{len(rows)} 3", *(" ".join([word, *map(repr, values)]) for word, values in rows.items())]
    return "".join(line + end for line in lines).encode()


ONE_WORD_EACH = {word.replace(" ", "_"): values for word, values in ROWS.items()}  # binary files part words by blanks


def as_binary(rows: dict[str, list[float]] = ONE_WORD_EACH, behind: bytes = b"\n") -> bytes:
    vectors = (word.encode() + b" " + struct.pack("<3f", *values) + behind for word, values in rows.items())
    return f"{len(rows)} 3\n".encode() + b"".join(vectors)


@pytest.mark.parametrize(
    "content",
    [as_text(), as_text(end=" \n"), as_text(end="\r\n"), as_text()[:-1]],
    ids=["plain", "blank", "crlf", "bare"],
)
def test_text_gives_the_wanted_words(tmp_path: Path, content: bytes) -> None:
    check(tmp_path, content)


def test_binary_gives_the_wanted_words(tmp_path: Path) -> None:
    check(tmp_path, as_binary())
    check(tmp_path, as_binary(behind=b""))


def check(folder: Path, content: bytes) -> None:
    path = folder / "vectors"
    path.write_bytes(content)

    read = read_word_vectors(path, WANTED)

    assert read.dimension == 3
    assert {word: vector.tolist() for word, vector in read.vectors.items()} == {
        word: np.array(ROWS[word], np.float32).tolist() for word in ("存款", "利", "率")
    }
    assert all(vector.dtype == np.float32 for vector in read.vectors.values())


def test_of_a_word_that_comes_twice_the_first_counts(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("2 1\n利 0.5\n利 0.75\n", encoding="utf-8")

    assert read_word_vectors(tmp_path / "vectors", WANTED).vectors["利"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        (b"", ":1", "no header"),
        (b"2 3", ":1", "no header"),
        ("利 0.5 0.5 0.5\n".encode(), ":1", "no header"),
        (b"1 0\n", ":1", "dimension 0"),
        (b"1 999999999\n", ":1", "dimension 999999999"),
        (as_text().replace("利 0.25 ".encode(), "利 ".encode()), ":4", "2 values where the header announces 3"),
        (as_text().replace(b"0.25", b"x"), ":4", "a value is not a number"),
        (as_text().replace(b"0.25", b"1e99"), ":4", "the vector of '利' is not of finite"),
        (as_text().replace(b"4 3", b"5 3"), ":5", "4 rows where the header announces 5"),
        (as_text().replace(b"4 3", b"3 3"), ":5", "4 rows where the header announces 3"),
        (as_binary()[:-8], "", "ends inside vector 4 of 4"),
        (as_binary().replace(b"4 3", b"9 3"), "", "ends inside vector 5 of 9"),
        (as_binary().replace(b"4 3", b"2 3"), "", "goes on after the 2 vectors"),
        (as_binary({"利": [0.0, 0.0, float("nan")]}), "", "the vector of '利' is not of finite"),
        (b"1 3\n" + b"\0" * 5000, "", "has more than 4096 bytes"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, content: bytes, place: str, problem: str) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(content)

    with pytest.raises(DataError) as error:
        read_word_vectors(path, WANTED)

    assert str(error.value).startswith(f"{path}{place}: ") and problem in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing: cannot be read"):
        read_word_vectors(tmp_path / "nothing", WANTED)
