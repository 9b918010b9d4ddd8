"""Data sets of the Hugging Face hub become corpora; here from a local folder, which ``datasets`` loads alike."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from letgraph.data.corpora import open_corpus
from letgraph.errors import DataError, LetgraphError, MissingDependency

datasets = pytest.importorskip("datasets")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "train.csv").write_text(
        "idx,sentence1,sentence2,label\n0,怎么修琴,钢琴如何修,1\n1,怎么修琴,怎么卖琴,0\n", encoding="utf-8"
    )
    (folder / "validation.csv").write_text(
        "idx,sentence1,sentence2,label\n0,怎么修琴,钢琴如何修,1\n1,怎么修琴,怎么卖琴,3\n", encoding="utf-8"
    )
    (folder / "test.csv").write_text("idx,sentence1,sentence2,label\n0,怎么修琴,钢琴如何修,-1\n", encoding="utf-8")
    return folder


def test_splits_columns_and_labels_are_found(folder):
    corpus = open_corpus(f"hf:{folder}")
    assert set(corpus.splits) == {"train", "dev", "test"}
    train = corpus.load("train")
    assert (train.a, train.b, train.labels) == (["怎么修琴", "怎么修琴"], ["钢琴如何修", "怎么卖琴"], [1, 0])
    assert train.lines.tolist() == [1, 2]
    assert train.format.spec == "hf:a=sentence1,b=sentence2,label=label"


def test_labels_that_are_kept_back_are_no_labels(folder):
    corpus = open_corpus(f"hf:{folder}")
    assert corpus.load("test").labels is None
    with pytest.raises(DataError, match="label -1 is neither 0 nor 1"):
        corpus.load("test", labelled=True)


def test_bad_rows_are_named_or_skipped(folder):
    corpus = open_corpus(f"hf:{folder}")
    with pytest.raises(DataError, match="dev:2: label 3"):
        corpus.load("dev")
    assert corpus.load("dev", skip_bad_rows=True).labels == [1]


def test_columns_can_be_named(folder):
    train = open_corpus(f"hf:{folder}", format="hf:a=sentence2,b=sentence1,label=label").load("train")
    assert train.a == ["钢琴如何修", "怎么卖琴"]
    with pytest.raises(DataError, match="sentence1, sentence2"):
        open_corpus(f"hf:{folder}", format="hf:a=left,b=right").load("train")
    with pytest.raises(LetgraphError, match="needs names of columns"):
        open_corpus(f"hf:{folder}", format="tsv:a,b,label")


def test_the_hash_follows_the_content(folder):
    first = open_corpus(f"hf:{folder}")
    assert first.load("train").content_hash == first.load("train", limit=2).content_hash
    assert first.load("train").content_hash != first.load("train", limit=1).content_hash


def test_no_network_is_an_error_in_one_line(monkeypatch):
    def offline(*_: object) -> None:
        raise ConnectionError("no route to the hub\nat all")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(LetgraphError, match=r"corpus hf:some/set:part: .*no route to the hub\).*network") as caught:
        open_corpus("hf:some/set:part")
    assert "\n" not in str(caught.value)


def test_a_missing_package_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingDependency, match="pip install datasets"):
        open_corpus("hf:some/set")
