"""The prepared store: the same numbers as `featurise`, from the cache when nothing changed, whole or not there."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from letgraph.data import store, workers
from letgraph.data.corpora import PairSplit, open_corpus
from letgraph.data.store import PreparedPairs, prepare
from letgraph.errors import DataError, LetgraphError
from letgraph.text.clean import clean
from letgraph.text.features import SentenceTable, featurise
from letgraph.text.lexicon import Lexicon

PAIRS = [
    ("花呗怎么还款", "怎么还花呗", 1),
    ("我的银行卡丢了", "银行卡怎么办理", 0),
    ("ＶＩＳＡ卡能用吗", "visa卡能用吗", 1),
    ("花呗怎么还款", "我的 银行卡\u200b丢了", 0),
]
LEXICON = Lexicon.from_senses([("银行卡", ["卡", "金融"]), ("还款", ["还", "钱"]), ("还款", ["还"])], "test")


class Pieces:
    """A segmenter that cuts every so many characters."""

    def __init__(self, size: int, version: str = "1") -> None:
        self.size, self.name, self.version = size, f"pieces{size}", version

    def cut(self, sentence: str) -> list[str]:
        return [sentence[start : start + self.size] for start in range(0, len(sentence), self.size)]


class Refuses(Pieces):
    def cut(self, sentence: str) -> list[str]:
        raise AssertionError("a sentence was segmented again")


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, Pieces]:
    """What stands for the installed segmenters, by name."""
    segmenters = {f"pieces{size}": Pieces(size) for size in (1, 2, 3)}
    for module in (store, workers):
        monkeypatch.setattr(module, "load_segmenter", segmenters.__getitem__)
    return segmenters


def split_of(folder: Path, pairs: list[tuple] = PAIRS, **options: int) -> PairSplit:
    path = folder / "train.tsv"
    path.write_text("".join("\t".join(map(str, pair)) + "\n" for pair in pairs), encoding="utf-8")
    return open_corpus(path).load("train", **options)


def make(split: PairSplit, folder: Path, segmenters: tuple[str, ...] = ("pieces1", "pieces2"), **options: object):
    arguments = {"lexicon": LEXICON, "progress": False, "cache_dir": folder / "cache", "workers": 1, **options}
    return prepare(split, segmenters, **arguments)  # type: ignore[arg-type]


def assert_same(one: SentenceTable, other: SentenceTable) -> None:
    for (name, left), (_, right) in zip(one.columns(), other.columns(), strict=True):
        assert left.values.dtype == right.values.dtype, name
        np.testing.assert_array_equal(left.values, right.values, name)
        np.testing.assert_array_equal(left.offsets, right.offsets, name)


def assert_same_pairs(one: PreparedPairs, other: PreparedPairs) -> None:
    assert one.key == other.key
    assert one.cleaning == other.cleaning
    assert_same(one.sentences, other.sentences)
    np.testing.assert_array_equal([one.a, one.b, one.labels], [other.a, other.b, other.labels])


def test_each_pair_has_the_features_of_its_cleaned_sentences(tmp_path, registry):
    split = split_of(tmp_path)

    prepared = make(split, tmp_path)

    assert len(prepared) == len(PAIRS)
    assert prepared.labels.tolist() == [label for *_, label in PAIRS]
    assert (prepared.a.dtype, prepared.b.dtype, prepared.labels.dtype) == (np.int32, np.int32, np.int8)
    for rows, texts in ((prepared.a, split.a), (prepared.b, split.b)):
        expected = featurise([clean(text).text for text in texts], [Pieces(1), Pieces(2)], LEXICON)
        assert_same(prepared.sentences.take(rows), expected)


def test_equal_sentences_are_kept_once(tmp_path, registry):
    prepared = make(split_of(tmp_path), tmp_path)

    texts = [prepared.sentences.text(row) for row in range(len(prepared.sentences))]
    assert sorted(texts) == sorted({clean(text).text for pair in PAIRS for text in pair[:2]})
    assert prepared.a[0] == prepared.a[3]
    assert prepared.a[2] == prepared.b[2]  # equal once they are cleaned


def test_all_that_cleaning_changed_is_counted(tmp_path, registry):
    split = split_of(tmp_path)

    counts = sum((Counter(clean(text).changes) for text in [*split.a, *split.b]), Counter())
    assert make(split, tmp_path).cleaning == counts == {"full-width": 4, "upper-case": 4, "format": 1}


def test_unlabelled_pairs_have_no_labels(tmp_path, registry):
    assert make(split_of(tmp_path, [pair[:2] for pair in PAIRS]), tmp_path).labels is None


def test_select_keeps_the_asked_pairs(tmp_path, registry):
    prepared = make(split_of(tmp_path), tmp_path)

    selected = prepared.select(np.array([2, 0]))

    assert len(selected) == 2
    assert selected.labels.tolist() == [1, 1]
    assert [selected.sentences.text(row) for row in selected.b] == ["visa卡能用吗", "怎么还花呗"]


def test_what_is_in_the_cache_is_not_segmented_again(tmp_path, registry):
    first = make(split_of(tmp_path), tmp_path)
    registry.update(pieces1=Refuses(1), pieces2=Refuses(2))

    second = make(split_of(tmp_path), tmp_path)

    assert (first.from_cache, second.from_cache) == (False, True)
    assert_same_pairs(first, second)


def test_columns_are_views_of_the_mapped_file(tmp_path, registry):
    prepared = make(split_of(tmp_path), tmp_path)

    arrays = [prepared.a, *(array for _, column in prepared.sentences.columns() for array in vars(column).values())]
    assert not any(array.flags.owndata or array.flags.writeable for array in arrays)


def test_everything_that_decides_the_contents_is_in_the_key(tmp_path, registry, monkeypatch):
    split = split_of(tmp_path)
    other_lexicon = Lexicon.from_senses([("银行卡", ["卡"])], "test")
    prepared = [
        make(split, tmp_path),
        make(split_of(tmp_path, [*PAIRS[:3], ("花呗怎么还款", "我的 银行卡丢了", 0)]), tmp_path),
        make(split_of(tmp_path, limit=2), tmp_path),
        make(split, tmp_path, ("pieces1",)),
        make(split, tmp_path, ("pieces1", "pieces3")),
        make(split, tmp_path, lexicon=other_lexicon),
        make(split, tmp_path, lexicon=None),
        make(split, tmp_path, blanks="drop"),
    ]
    registry["pieces2"] = Pieces(2, version="2")
    prepared.append(make(split, tmp_path))
    monkeypatch.setattr(store, "VERSION", store.VERSION + 1)
    prepared.append(make(split, tmp_path))

    assert len({it.key for it in prepared}) == len(prepared)
    assert not any(it.from_cache for it in prepared)


def test_what_does_not_decide_the_contents_is_not_in_the_key(tmp_path, registry):
    split = split_of(tmp_path)
    first = make(split, tmp_path, ("pieces1", "pieces2"))

    moved = replace(split, corpus="other", path=tmp_path / "moved.tsv")

    assert make(moved, tmp_path, ("pieces2", "pieces1"), progress=True).from_cache
    assert make(moved, tmp_path, cache_dir=tmp_path / "elsewhere").key == first.key


def test_stored_numbers_change_only_with_the_version(tmp_path, registry):
    # When this fails, features of the same text have changed: raise `store.VERSION`, then write the new digest here.
    digest = hashlib.sha256()
    prepared = make(split_of(tmp_path), tmp_path)
    for _, column in prepared.sentences.columns():
        digest.update(column.offsets.tobytes() + column.values.tobytes())

    assert (store.VERSION, digest.hexdigest()[:16]) == (1, "2a7ff9b32dd31008")


def test_the_number_of_processes_changes_nothing(tmp_path):
    split = split_of(tmp_path, [(f"{a}第{i}次", b, label) for i in range(20) for a, b, label in PAIRS])

    one = make(split, tmp_path, ("jieba",), cache_dir=tmp_path / "one", workers=1)
    two = make(split, tmp_path, ("jieba",), cache_dir=tmp_path / "two", workers=2)

    assert (one.effort.workers, two.effort.workers) == (1, 2)
    assert_same_pairs(one, two)


def test_a_sentence_too_long_is_cut_off_and_counted(tmp_path, registry):
    pairs = [("款" * 70_000, "花呗", 1), ("花呗", "款" * 254, 1)]

    prepared = make(split_of(tmp_path, pairs), tmp_path)

    assert prepared.sentences.chars.lengths[[prepared.a[0], prepared.b[0]]].tolist() == [254, 2]
    assert prepared.b[1] == prepared.a[0]
    assert prepared.cleaning == {"truncated": 70_000 - 254}


def test_another_limit_of_length_is_another_store(tmp_path, registry):
    first = make(split_of(tmp_path), tmp_path)
    second = make(split_of(tmp_path), tmp_path, max_characters=3)

    assert first.key != second.key
    assert second.sentences.chars.lengths.max() == 3


def test_a_cache_that_cannot_be_written_is_told_with_the_mend(tmp_path, registry):
    (tmp_path / "file").write_text("")

    with pytest.raises(LetgraphError, match=r"cannot keep prepared data in .*--cache-dir"):
        make(split_of(tmp_path), tmp_path, cache_dir=tmp_path / "file" / "cache")


@pytest.mark.parametrize("name", ["sentences.arrow", "pairs.arrow", "about.json"])
def test_a_damaged_store_is_told(tmp_path, registry, name):
    damaged = make(split_of(tmp_path), tmp_path).folder / name
    damaged.write_bytes(damaged.read_bytes()[:100])

    with pytest.raises(DataError, match="delete"):
        make(split_of(tmp_path), tmp_path)


def test_what_a_killed_process_left_is_removed_and_what_a_live_one_makes_is_not(tmp_path, registry):
    cache = tmp_path / "cache"
    for name in ("dead", "alive"):
        (cache / f"{name}.tmp").mkdir(parents=True)
        (cache / f"{name}.tmp" / "sentences.arrow").write_text("half of")
    with store.FileLock(cache / "alive.lock"):
        own = make(split_of(tmp_path), tmp_path)

    assert sorted(path.name for path in cache.iterdir() if path.is_dir()) == sorted([own.folder.name, "alive.tmp"])


def test_the_store_says_what_it_was_made_from(tmp_path, registry):
    about = json.loads((make(split_of(tmp_path), tmp_path).folder / "about.json").read_text(encoding="utf-8"))

    assert about["made from"]["lexicon"] == LEXICON.hash
    assert about["made from"]["segmenters"] == {"pieces1": "1", "pieces2": "1"}
