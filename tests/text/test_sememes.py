"""Sememe vectors come exactly from the file, and go to the sememe of their name."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from letgraph.errors import DataError, LetgraphError
from letgraph.text.lexicon import Lexicon
from letgraph.text.sememes import SememeVectors, read_sememe_vectors, vectors_for

REAL = Path(os.environ.get("LETGRAPH_DATA", Path(__file__).parents[2] / ".." / "shared" / "data")) / "hownet"

GOOD = ["2 3", "联络 0.5 -1 2e-3", "手 -0.25 1 0"]


def write(folder: Path, lines: list[str], newline: str = "\n") -> Path:
    path = folder / "vectors.txt"
    path.write_bytes("".join(line + newline for line in lines).encode())
    return path


@pytest.mark.parametrize("newline", ["\n", "\r\n", " \n"])
def test_names_and_values_by_hand(tmp_path: Path, newline: str) -> None:
    read = read_sememe_vectors(write(tmp_path, GOOD, newline))
    assert read.names == ["联络", "手"]
    assert read.vectors.dtype == np.float32
    np.testing.assert_array_equal(read.vectors, np.array([[0.5, -1, 2e-3], [-0.25, 1, 0]], np.float32))


@pytest.mark.parametrize(
    ("lines", "line", "problem"),
    [
        ([], 1, "no header"),
        (GOOD[1:], 1, "no header"),
        (["0 3"], 1, "no header"),
        (GOOD[:2], 2, "1 rows where the header announces 2"),
        ([*GOOD, "脚 1 2 3"], 4, "3 rows where the header announces 2"),
        ([*GOOD[:2], "手 -0.25 1"], 3, "2 values where the header announces 3"),
        ([*GOOD[:2], "手 心 -0.25 1 0"], 3, "4 values where the header announces 3"),
        ([*GOOD[:2], ""], 3, "0 values where the header announces 3"),
        ([*GOOD[:2], "手 -0.25 一 0"], 3, "not a number.*一"),
        ([*GOOD[:2], "手 nan 1 0"], 3, "not a finite"),
        ([*GOOD[:2], "手 1e99 1 0"], 3, "not a finite"),
        ([*GOOD[:2], "联络 1 1 0"], 3, "'联络' has a vector in line 2 already"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, lines: list[str], line: int, problem: str) -> None:
    path = write(tmp_path, lines)
    with pytest.raises(DataError, match=problem) as caught:
        read_sememe_vectors(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LetgraphError, match=r"nowhere\.txt: no such file"):
        read_sememe_vectors(tmp_path / "nowhere.txt")


def test_every_sememe_gets_the_vector_of_its_name() -> None:
    lexicon = Lexicon.from_senses([("打", ["beat|击打", "part|手"]), ("打", ["联络"])], "here")
    vectors = SememeVectors(["联络", "地方", "手"], np.array([[1, 2], [3, 4], [5, 6]], np.float32))
    matched, present = vectors_for(lexicon, vectors)
    assert lexicon.sememes == ["击打", "手", "联络"]
    assert matched.dtype == np.float32 and present.dtype == bool
    assert matched.tolist() == [[0, 0], [5, 6], [1, 2]]
    assert present.tolist() == [False, True, True]


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no HowNet files in {REAL}")
def test_the_authors_vectors() -> None:
    path = REAL / "sememe_vec.txt"
    read = read_sememe_vectors(path)
    assert read.vectors.shape == (1984, 200)
    for row, text in list(enumerate(path.read_text("utf-8").split("\n")[1:-1]))[::97]:
        name, *values = text.split()
        assert read.names[row] == name
        np.testing.assert_array_equal(read.vectors[row], [np.float32(value) for value in values])
