"""``python -m letgraph.evaluate``: metrics as the last line, every pair with its probability, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from letgraph import evaluate as entry
from letgraph.errors import LetgraphError
from letgraph.matcher import Matcher

ROWS = [
    ("花呗怎么还款", "怎么还花呗", 1),
    ("我的 银行卡丢了", "银行卡怎么办理", 0),
    ("ＶＩＳＡ卡能用吗", "visa卡能用吗", 1),
    ("花呗怎么还款", '他说"还"', 0),
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "dev.tsv").write_text("".join(f"{a}\t{b}\t{label}\n" for a, b, label in ROWS), encoding="utf-8")
    (folder / "test.tsv").write_text("".join(f"{a}\t{b}\n" for a, b, _ in ROWS), encoding="utf-8")
    return folder


@pytest.fixture
def run(checkpoint, corpus, tmp_path, monkeypatch, capsys):
    def run(*options: str, model: Path = checkpoint, dataset: Path = corpus) -> tuple[str, str]:
        common = ["--checkpoint", str(model), "--dataset", str(dataset), "--cache-dir", str(tmp_path / "cache")]
        monkeypatch.setattr(sys, "argv", ["evaluate", *common, "--workers", "1", "--device", "cpu", *options])
        entry.main()
        return capsys.readouterr()

    return run


def test_the_last_line_is_the_metrics(run, checkpoint):
    scores = Matcher.from_pretrained(checkpoint, "cpu").predict([(a, b) for a, b, _ in ROWS])
    labels = np.array([label for *_, label in ROWS])

    out, err = run()

    metrics = json.loads(out.splitlines()[-1])
    assert list(metrics) == ["n", "accuracy", "f1", "precision", "recall", "auc", "loss"]
    assert metrics["n"] == len(ROWS)
    assert metrics["accuracy"] == np.mean((scores > 0.5) == labels)
    assert metrics["loss"] == pytest.approx(-np.log(np.where(labels, scores, 1 - scores)).mean(), rel=1e-5)
    assert f"accuracy {metrics['accuracy']:.4f}" in out.splitlines()[-2]
    assert ("all 4 pairs are predicted" in err) == (len(set(scores > 0.5)) == 1)


def test_every_pair_is_written_in_order_as_it_was_given(run, checkpoint, tmp_path):
    out, _ = run("--output", str(tmp_path / "scored.tsv"), "--batch-size", "1")

    written = [line.split("\t") for line in (tmp_path / "scored.tsv").read_text(encoding="utf-8").splitlines()]
    assert [(a, b, int(label)) for a, b, label, _ in written] == ROWS
    scores = Matcher.from_pretrained(checkpoint, "cpu").predict([(a, b) for a, b, _ in ROWS])
    np.testing.assert_allclose([float(score) for *_, score in written], scores, rtol=1e-5)
    assert json.loads(out.splitlines()[-1])["n"] == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "scored.tsv", "shop"]


def test_pairs_that_are_not_in_train_are_scored_apart(run, checkpoint, corpus):
    """In train, in the other order and in capitals: the third row of dev; with another label: the first."""
    train = [
        ("visa卡能用吗", "VISA卡能用吗", 1),
        ("花呗怎么还款", "怎么还花呗", 0),
        ("花呗怎么还款", "银行卡怎么办理", 0),
    ]
    (corpus / "train.tsv").write_text("".join(f"{a}\t{b}\t{label}\n" for a, b, label in train), encoding="utf-8")
    new = [ROWS[1], ROWS[3]]
    scores = Matcher.from_pretrained(checkpoint, "cpu").predict([(a, b) for a, b, _ in new])

    out, _ = run()

    metrics = json.loads(out.splitlines()[-1])
    assert (metrics["n"], metrics["n_not_in_train"]) == (4, 2)
    assert metrics["accuracy_not_in_train"] == np.mean(
        [(p > 0.5) == bool(y) for p, (*_, y) in zip(scores, new, strict=True)]
    )
    assert "on the 2 that are not in train" in out.splitlines()[-2]


def test_the_first_pairs_only(run):
    assert json.loads(run("--limit", "3")[0].splitlines()[-1])["n"] == 3


def test_sentences_that_are_too_long_are_told(run, corpus):
    (corpus / "dev.tsv").write_text(f"{'款' * 300}\t花呗\t1\n花呗\t还款\t0\n", encoding="utf-8")

    out, err = run()

    assert json.loads(out.splitlines()[-1])["n"] == 2
    assert "more than 254 characters: 46 characters" in err


def test_a_bad_row_stops_it_and_nothing_is_written(run, corpus, tmp_path):
    with (corpus / "dev.tsv").open("a", encoding="utf-8") as file:
        file.write("还款\t银行卡\t7\n")

    with pytest.raises(LetgraphError, match=r"dev\.tsv:5: label '7'"):
        run("--output", str(tmp_path / "scored.tsv"))
    assert [path.name for path in tmp_path.iterdir()] == ["shop"]

    out, err = run("--output", str(tmp_path / "scored.tsv"), "--skip-bad-rows")
    assert json.loads(out.splitlines()[-1])["n"] == 4
    assert "skipped 1 of 5 rows" in err


def test_the_lexicon_of_the_training_is_accepted_and_another_is_not(run, tmp_path):
    run("--hownet", "demo")
    (tmp_path / "other.tsv").write_text("还款\t还 钱\n", encoding="utf-8")

    with pytest.raises(LetgraphError, match="was trained with lexicon"):
        run("--hownet", str(tmp_path / "other.tsv"))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--split", "test"], "labels are needed"),
        (["--split", "train"], "no split 'train'"),
        (["--limit", "0"], "limit 0"),
        (["--batch-size", "0"], "--batch-size 0"),
        (["--output", "/nowhere/scored.tsv"], "cannot be written"),
        (["--sememe-vectors", "vec.txt"], "give --hownet"),
        (["--format", "tsv:a,b,c"], "not one of a, b, label"),
    ],
)
def test_what_cannot_be_done_is_told_with_the_mend(run, options, problem):
    with pytest.raises(LetgraphError, match=problem):
        run(*options)


def test_a_foreign_folder_is_one_line_and_exit_status_2(tmp_path, corpus):
    command = [sys.executable, "-m", "letgraph.evaluate", "--checkpoint", str(tmp_path), "--dataset", str(corpus)]

    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(entry.__file__).parents[1])

    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert "config.json" in done.stderr
