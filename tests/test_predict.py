"""``python -m letgraph.predict``: a probability for every row, in order, whatever the input looks like."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from letgraph import predict as entry
from letgraph.errors import LetgraphError
from letgraph.matcher import Matcher
from tests.tiny import tiny_checkpoint

PAIRS = [
    ("花呗怎么还款", "怎么还花呗"),
    ("我的 银行卡丢了", "银行卡怎么办理"),
    ("ＶＩＳＡ卡能用吗", "visa卡能用吗"),
    ("花呗怎么还款", '他说"还"'),
    ("卡", "花呗"),
]


@pytest.fixture(scope="module")
def expected(checkpoint) -> np.ndarray:
    return Matcher.from_pretrained(checkpoint, "cpu").predict(PAIRS)


@pytest.fixture
def run(checkpoint, monkeypatch, capsys):
    def run(*options: str | Path) -> tuple[str, str]:
        arguments = ["--checkpoint", str(checkpoint), "--device", "cpu", *map(str, options)]
        monkeypatch.setattr(sys, "argv", ["predict", *arguments])
        entry.main()
        return capsys.readouterr()

    return run


def write(path: Path, rows: list[tuple], delimiter: str = "\t") -> Path:
    path.write_text("".join(delimiter.join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return path


def cells(text: str) -> list[list[str]]:
    assert text.endswith("\n")
    return [line.split("\t") for line in text[:-1].split("\n")]


def assert_scored(text: str, expected: np.ndarray, pairs: list[tuple] = PAIRS) -> None:
    rows = cells(text)
    assert [tuple(row[:2]) for row in rows] == pairs
    np.testing.assert_allclose([float(row[-1]) for row in rows], expected, rtol=1e-5)


def test_one_pair_from_the_command_line(run, expected):
    out, _ = run("--text-a", PAIRS[0][0], "--text-b", PAIRS[0][1])

    assert_scored(out, expected[:1], PAIRS[:1])


def test_rows_without_labels_to_stdout(run, expected, tmp_path):
    out, err = run("--input", write(tmp_path / "pairs.tsv", PAIRS))

    assert_scored(out, expected)
    assert all(len(row) == 3 for row in cells(out))
    assert "TSV without header: a = column 1, b = column 2, label = none" in err
    assert "scored 5 pairs\n" in err


@pytest.mark.parametrize("chunk", [1, 2, 5, 4096])
def test_labels_pass_through_and_chunks_change_nothing(run, expected, tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(entry, "CHUNK", chunk)
    rows = [(*pair, index % 2) for index, pair in enumerate(PAIRS)]

    run("--input", write(tmp_path / "pairs.tsv", rows), "--output", tmp_path / "scored.tsv", "--batch-size", "2")

    text = (tmp_path / "scored.tsv").read_text(encoding="utf-8")
    assert_scored(text, expected)
    assert [row[2] for row in cells(text)] == ["0", "1", "0", "1", "0"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.tsv", "scored.tsv"]


def test_standard_input(run, expected, tmp_path, monkeypatch):
    content = write(tmp_path / "pairs.tsv", PAIRS).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    assert_scored(run("--input", "-")[0], expected)


def test_a_header_stays_and_the_column_is_named(run, expected, tmp_path):
    path = write(tmp_path / "pairs.tsv", [("id", "sentence1", "sentence2"), *((7, *pair) for pair in PAIRS)])

    out, _ = run("--input", path)

    header, rows = out.split("\n", 1)
    assert header == "sentence1\tsentence2\tprobability"
    assert_scored(rows, expected)

    path = write(tmp_path / "other.tsv", [("erste", "zweite"), *PAIRS])
    assert run("--input", path, "--format", "tsv+header:b,a")[0].startswith("a\tb\tprobability\n")


def test_csv_cells_with_tabs_and_line_ends_stay_one_cell(run, tmp_path):
    (tmp_path / "pairs.csv").write_bytes('"花呗\t怎么","还\r\n款"\n卡,"他说""还"""\n'.encode())

    out, _ = run("--input", tmp_path / "pairs.csv")

    assert [row[:2] for row in cells(out)] == [["花呗 怎么", "还 款"], ["卡", '他说"还"']]


def test_json_lines_with_lone_surrogates_and_unicode_line_ends(run, tmp_path):
    rows = [{"a": "\ud800花呗", "b": "还\u2028款"}, {"a": "卡\x85", "b": "🙂\udfff"}]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    out, _ = run("--input", tmp_path / "pairs.jsonl")

    assert [row[:2] for row in cells(out)] == [["\ufffd花呗", "还\u2028款"], ["卡\x85", "🙂\ufffd"]]


def test_the_input_itself_may_be_the_output(run, expected, tmp_path):
    path = write(tmp_path / "pairs.tsv", PAIRS)

    run("--input", path, "--output", path)

    assert_scored(path.read_text(encoding="utf-8"), expected)


def test_a_device_is_written_to_and_not_replaced(run, tmp_path):
    run("--input", write(tmp_path / "pairs.tsv", PAIRS), "--output", os.devnull)

    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("to_file", [True, False])
def test_a_bad_row_is_told_with_its_line_and_nothing_is_written(run, tmp_path, monkeypatch, capsys, to_file):
    monkeypatch.setattr(entry, "CHUNK", 2)
    path = write(tmp_path / "pairs.tsv", [*PAIRS, ("花呗", "\u200b")])
    output = tmp_path / "scored.tsv"
    output.write_text("of an earlier run")

    with pytest.raises(LetgraphError, match=r"pairs\.tsv:6: sentence b is empty"):
        run("--input", path, *(["--output", output] if to_file else []))

    assert capsys.readouterr().out == ""
    assert output.read_text() == "of an earlier run"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.tsv", "scored.tsv"]


def test_a_bad_row_of_a_stream_leaves_the_output_as_it_was(run, tmp_path, monkeypatch):
    monkeypatch.setattr(entry, "CHUNK", 2)
    content = write(tmp_path / "pairs.tsv", [*PAIRS, ("花呗",)]).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    with pytest.raises(LetgraphError, match=r"<stdin>:6: 1 columns"):
        run("--input", "-", "--output", tmp_path / "scored.tsv")

    assert [path.name for path in tmp_path.iterdir()] == ["pairs.tsv"]


def test_bad_rows_are_skipped_and_reported_where_that_is_asked_for(run, expected, tmp_path):
    rows = [PAIRS[0], ("花呗",), *PAIRS[1:], ("花呗", " ")]

    out, err = run("--input", write(tmp_path / "pairs.tsv", rows), "--skip-bad-rows")

    assert_scored(out, expected)
    assert "scored 5 pairs; skipped 2 of 7 rows: " in err
    assert "1 wrong column count (first: line 2)" in err and "1 empty sentence (first: line 7)" in err


def test_sentences_that_are_too_long_are_written_whole_and_told_once(run, tmp_path, monkeypatch):
    monkeypatch.setattr(entry, "CHUNK", 1)
    long = [("款" * 300, "花呗"), ("卡", "款" * 255)]

    out, err = run("--input", write(tmp_path / "pairs.tsv", long))

    assert [tuple(row[:2]) for row in cells(out)] == long
    assert err.count("warning") == 1
    assert "more than 254 characters: 47 characters" in err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "which pairs"),
        (["--text-a", "花呗"], "which pairs"),
        (["--text-a", "花呗", "--text-b", "还款", "--input", "-"], "contradict"),
        (["--text-a", "花呗", "--text-b", "还款", "--skip-bad-rows"], "--skip-bad-rows is about --input"),
        (["--text-a", "花呗", "--text-b", "\u3000"], "sentence b is empty"),
        (["--text-a", "花呗", "--text-b", "还款", "--batch-size", "0"], "--batch-size 0"),
        (["--input", "/nowhere/pairs.tsv"], "can't be read"),
        (["--text-a", "花呗", "--text-b", "还款", "--output", "/nowhere/scored.tsv"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_told_with_the_mend(run, options, problem):
    with pytest.raises(LetgraphError, match=problem):
        run(*options)


def test_a_truncated_model_is_one_line_and_exit_status_2(tmp_path):
    tiny_checkpoint().save(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    command = [sys.executable, "-m", "letgraph.predict", "--checkpoint", str(tmp_path), "--text-a", "卡"]

    done = subprocess.run(
        [*command, "--text-b", "卡"], capture_output=True, text=True, cwd=Path(entry.__file__).parents[1]
    )

    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert "model.safetensors" in done.stderr
    assert done.stdout == ""
