"""``python -m letgraph.prepare``: what it prepares, what it says, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from letgraph import prepare as entry
from letgraph.data.store import PreparedPairs
from letgraph.errors import LetgraphError

DATA = Path(os.environ.get("LETGRAPH_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "train.tsv").write_text("ＡＢ还款\t还款\t1\n还款\t银行卡\t0\n", encoding="utf-8")
    (folder / "dev.tsv").write_text("银行卡\t还款\t0\n", encoding="utf-8")
    (tmp_path / "hownet.tsv").write_text("还款\t还 钱\n还款\t还\n银行\t机构\n\t空\n", encoding="utf-8")
    return folder


@pytest.fixture
def run(corpus, tmp_path, monkeypatch, capsys):
    def run(*options: str) -> tuple[str, str]:
        common = ["--dataset", str(corpus), "--segmenter", "jieba", "--cache-dir", str(tmp_path / "cache")]
        monkeypatch.setattr(sys, "argv", ["prepare", *common, *options])
        entry.main()
        return capsys.readouterr()

    run.hownet = ("--hownet", str(tmp_path / "hownet.tsv"))
    run.cache = tmp_path / "cache"
    return run


def test_it_tells_what_it_read_and_what_it_made(run):
    out, _ = run(*run.hownet)

    assert "2 words, 3 senses, 3 sememes" in out
    assert "1 row(s) without a word" in out
    train, dev = out.split("train: ")[1].split("dev: ")
    assert "2 pairs of" in train and "TSV without header" in train
    assert "cleaning: 2 full-width, 2 upper-case" in train
    # ab 还款 | 还款 | 银行卡: four words, of which the two 还款 have two senses each. Reach over begin, words, end:
    # 4 nodes in a row (10), 3 (6), 3 (6).
    assert "3 distinct sentences, 1.3 words and 7.3 reach edges a sentence, 1.00 senses a word" in train
    assert "50.00% of words in the lexicon (jieba)" in train
    assert "inside the segmenters; peak memory" in train
    assert "1 pairs of" in dev and "cleaning: none" in dev


def test_what_it_made_lies_where_it_says_and_is_found_again(run):
    out, _ = run(*run.hownet, "--splits", "dev")

    prepared = PreparedPairs.open(Path(out.splitlines()[-1].strip()))
    assert prepared.folder.parent == run.cache
    assert prepared.labels.tolist() == [0]
    assert [prepared.sentences.text(row) for row in (prepared.a[0], prepared.b[0])] == ["银行卡", "还款"]
    assert "from the cache" not in out
    assert "from the cache" in run(*run.hownet, "--splits", "dev")[0]


def test_without_senses_no_lexicon_is_needed(run):
    out, _ = run("--no-senses", "--splits", "dev")

    assert not PreparedPairs.open(Path(out.splitlines()[-1].strip())).sentences.senses.values.size
    assert "senses a word" not in out


def test_bad_rows_stop_it_before_anything_is_written_unless_they_are_to_be_skipped(run, corpus):
    with (corpus / "train.tsv").open("a", encoding="utf-8") as file:
        file.write("还款\t银行卡\t7\n")

    with pytest.raises(LetgraphError, match=r"train\.tsv:3: "):
        run(*run.hownet, "--splits", "train")
    assert not run.cache.exists()

    out, err = run(*run.hownet, "--splits", "train", "--skip-bad-rows")
    assert "2 pairs of" in out
    assert "skipped 1 of 3 rows" in err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "which lexicon"),
        (["--no-senses", "--hownet", "demo"], "contradict"),
        (["--no-senses", "--splits", "test"], "no split 'test'"),
        (["--no-senses", "--segmenter", "jeiba"], "did you mean 'jieba'"),
        (["--no-senses", "--workers", "0"], "workers 0"),
        (["--no-senses", "--limit", "0"], "limit 0"),
    ],
)
def test_contradictory_settings_are_refused_with_the_mend(run, options, problem, tmp_path, monkeypatch):
    monkeypatch.setenv("LETGRAPH_DATA", str(tmp_path))  # which has no lexicon
    with pytest.raises(LetgraphError, match=problem):
        run(*options)


def test_errors_are_one_line_and_exit_status_2(tmp_path):
    command = [sys.executable, "-m", "letgraph.prepare", "--dataset", str(tmp_path / "nowhere"), "--no-senses"]

    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(entry.__file__).parents[1], timeout=60)

    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.skipif(not (DATA / "lcqmc" / "dev.tsv").exists(), reason=f"no LCQMC in {DATA} ($LETGRAPH_DATA)")
def test_real_sentences_of_lcqmc(run):
    lexicon = DATA / "hownet" / "lancopku_word_sememes.tsv"
    options = ["--dataset", "lcqmc", "--data-dir", str(DATA), "--splits", "dev", "--limit", "500"]

    out, _ = run(*options, "--hownet", str(lexicon))

    prepared = PreparedPairs.open(Path(out.splitlines()[-1].strip()))
    table = prepared.sentences
    assert len(prepared) == 500
    # About 11 characters a sentence, and about 3 senses of a word that has any.
    assert 8 < table.chars.lengths.mean() < 15
    assert 2 < table.word_senses.values[table.word_senses.values > 0].mean() < 4
    assert (np.diff(np.unique(np.concatenate([prepared.a, prepared.b]))) == 1).all()
