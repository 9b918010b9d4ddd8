"""A corpus is found by its name or path; what is missing or unexpected is said with what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from letgraph.data import corpora
from letgraph.data.corpora import KNOWN, open_corpus
from letgraph.errors import DataError, LetgraphError

ROWS = [("怎么修琴", "钢琴如何修", 1), ("怎么修琴", "怎么卖琴", 0), ("额度 多少", "“额度”是多少？", 1)]
TSV = "".join(f"{a}\t{b}\t{label}\n" for a, b, label in ROWS)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    for name in ("bq", "lcqmc"):
        folder = tmp_path / "given" / name
        folder.mkdir(parents=True)
        for split in ("train", "dev"):
            (folder / f"{split}.tsv").write_text(TSV, encoding="utf-8")
    return tmp_path / "given"


def rows_of(split: corpora.PairSplit) -> list[tuple[str, str, int]]:
    assert split.labels is not None
    return list(zip(split.a, split.b, split.labels, strict=True))


def test_a_named_corpus_is_found_in_the_given_folder_then_the_variable_then_data(data_dir, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LETGRAPH_DATA", raising=False)
    assert open_corpus("bq", data_dir).splits == {split: data_dir / "bq" / f"{split}.tsv" for split in ("train", "dev")}
    with pytest.raises(LetgraphError):
        open_corpus("bq")
    monkeypatch.setenv("LETGRAPH_DATA", str(data_dir))
    assert open_corpus("bq").splits["dev"] == data_dir / "bq" / "dev.tsv"
    monkeypatch.setenv("LETGRAPH_DATA", "")
    shutil.copytree(data_dir, tmp_path / "data")
    assert open_corpus("bq").splits["dev"] == Path("data/bq/dev.tsv")


def test_the_demo_corpus_comes_with_the_package(tmp_path):
    corpus = open_corpus("demo", tmp_path)
    assert list(corpus.splits) == ["train", "dev", "test"]
    for split in corpus.splits:
        assert set(corpus.load(split, labelled=True).labels or ()) == {0, 1}


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "demo"])
def test_missing_files_are_told_with_the_owner_and_the_layout(name, tmp_path):
    with pytest.raises(LetgraphError) as caught:
        open_corpus(name, tmp_path)
    for needed in (str(tmp_path / name), "http", "train.tsv", "a TAB b TAB label", "--data-dir", "$LETGRAPH_DATA"):
        assert needed in str(caught.value)


def test_a_missing_split_is_told_with_those_that_are_there(data_dir):
    with pytest.raises(LetgraphError, match=r"no split 'test' .*train, dev.*http.*test\.tsv"):
        open_corpus("bq", data_dir).load("test")


def test_a_split_holds_the_rows_as_they_stand_with_their_lines(data_dir):
    split = open_corpus("lcqmc", data_dir).load("train")
    assert rows_of(split) == ROWS
    assert split.lines.tolist() == [1, 2, 3]
    assert (split.corpus, split.split, len(split)) == ("lcqmc", "train", 3)
    assert split.format.spec == "tsv:a,b,label"


def test_a_row_count_that_is_not_the_official_one_is_a_warning_unless_it_was_asked_for(data_dir):
    corpus = open_corpus("lcqmc", data_dir)
    (warning,) = corpus.load("train").warnings
    assert "3 rows" in warning
    assert "238,766" in warning
    assert corpus.load("train", limit=2).warnings == []


def test_the_official_row_count_is_no_warning(data_dir, monkeypatch):
    monkeypatch.setitem(KNOWN, "bq", corpora.Known({"train": 3}, "nowhere"))
    assert open_corpus("bq", data_dir).load("train").warnings == []


def test_a_folder_has_the_splits_of_its_files_under_their_usual_names(tmp_path):
    (tmp_path / "train.csv").write_text("怎么修琴,钢琴如何修,1\n", encoding="utf-8")
    (tmp_path / "validation.jsonl").write_text('{"a": "怎么修琴", "b": "钢琴如何修", "label": 1}\n', encoding="utf-8")
    (tmp_path / "test.txt").write_text("怎么修琴\t钢琴如何修\n", encoding="utf-8")
    (tmp_path / "readme.txt").write_text("no split\n")
    corpus = open_corpus(tmp_path)
    assert list(corpus.splits) == ["train", "dev", "test"]
    assert rows_of(corpus.load("train")) == rows_of(corpus.load("dev")) == [("怎么修琴", "钢琴如何修", 1)]
    assert corpus.load("test").labels is None
    with pytest.raises(DataError, match="labels are needed"):
        corpus.load("test", labelled=True)


def test_two_files_for_one_split_are_refused(tmp_path):
    for name in ("train.tsv", "train.csv"):
        (tmp_path / name).write_text(TSV, encoding="utf-8")
    with pytest.raises(LetgraphError, match=r"train\.tsv and train\.csv"):
        open_corpus(tmp_path)


def test_a_folder_without_splits_is_refused(tmp_path):
    with pytest.raises(LetgraphError, match=r"train\.tsv"):
        open_corpus(tmp_path)


@pytest.mark.parametrize(("file", "split"), [("dev.tsv", "dev"), ("valid.tsv", "dev"), ("mine.tsv", "train")])
def test_a_file_is_the_split_that_its_name_says_or_else_train(tmp_path, file, split):
    (tmp_path / file).write_text(TSV, encoding="utf-8")
    corpus = open_corpus(tmp_path / file)
    assert list(corpus.splits) == [split]
    assert rows_of(corpus.load(split)) == ROWS


@pytest.mark.parametrize(("name", "hint"), [("lcqcm", "lcqmc"), ("BQ", "bq"), ("no/such/file.tsv", "hf:NAME")])
def test_an_unknown_name_is_told_with_the_nearest_right_one(name, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LetgraphError, match=hint):
        open_corpus(name)


def test_bad_rows_are_skipped_counted_and_reported_when_that_is_asked_for(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text(TSV + "怎么修琴\t钢琴如何修\t7\n\t\t1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"train\.tsv:4: "):
        open_corpus(path).load("train")
    split = open_corpus(path).load("train", skip_bad_rows=True)
    assert rows_of(split) == ROWS
    assert split.skipped == {"label not 0/1": 1, "empty sentence": 1}
    assert "skipped 2 of 5 rows" in split.warnings[0]


def test_a_given_format_holds_for_every_split(data_dir):
    split = open_corpus("bq", data_dir, format="tsv:b,a,label").load("dev")
    assert split.a == [b for _, b, _ in ROWS]
    with pytest.raises(LetgraphError, match="for example"):
        open_corpus("bq", data_dir, format="tsv")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(data_dir, limit):
    with pytest.raises(LetgraphError, match="1 or more"):
        open_corpus("bq", data_dir).load("train", limit=limit)


def test_a_limit_takes_the_first_good_rows_and_reads_no_further(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text(TSV + "broken\n", encoding="utf-8")
    corpus = open_corpus(path)
    assert rows_of(corpus.load("train", limit=2)) == ROWS[:2]
    assert rows_of(corpus.load("train", limit=9, skip_bad_rows=True)) == ROWS


def test_equal_hashes_mean_equal_rows(data_dir, tmp_path):
    def content_hash(path: Path, format: str | None = None, **options: int) -> str:
        return open_corpus(path, format=format).load("train", **options).content_hash

    path = data_dir / "bq" / "train.tsv"
    copy, other = tmp_path / "copy.tsv", tmp_path / "other.tsv"
    copy.write_text(TSV, encoding="utf-8")
    other.write_text(TSV.replace("卖", "买"), encoding="utf-8")
    same = content_hash(path)
    # Neither the name nor an option without effect makes another content.
    assert same == content_hash(copy) == content_hash(path, limit=3) == content_hash(path, skip_bad_rows=True)
    others = [
        content_hash(other),
        content_hash(path, limit=2),
        content_hash(path, labelled=False),
        content_hash(path, "tsv:b,a,label"),
    ]
    assert len({same, *others}) == 5
