"""`letgraph.Matcher`: raw sentences in, probabilities out, the same as through the prepared store."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import letgraph
from letgraph.data.corpora import open_corpus
from letgraph.data.store import prepare
from letgraph.errors import LetgraphError
from letgraph.matcher import Matcher, TruncationWarning
from letgraph.scoring import score_pairs
from tests.tiny import tiny_checkpoint

PAIRS = [
    ("花呗怎么还款", "怎么还花呗"),
    ("我的银行卡丢了", "银行卡怎么办理"),
    ("ＶＩＳＡ 卡\u3000能用吗", "visa卡能用吗"),
    ("👩\u200d💻的卡", "卡"),
    ("花呗怎么还款", "我的 银行卡\u200b丢了"),
    ("\ud83d还款", "\U0010ffff还款"),
]


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(tiny_checkpoint(), "cpu")


def test_from_a_folder(tmp_path, matcher):
    matcher.checkpoint.save(tmp_path)

    scores = letgraph.Matcher.from_pretrained(tmp_path).predict(PAIRS)

    assert isinstance(scores, np.ndarray) and scores.dtype == np.float64
    assert scores.shape == (len(PAIRS),)
    assert ((scores > 0) & (scores < 1)).all()
    np.testing.assert_allclose(scores, matcher.predict(PAIRS), rtol=1e-5)


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_the_order_is_that_of_the_pairs(matcher, batch_size):
    alone = [matcher.predict([pair])[0] for pair in PAIRS]

    np.testing.assert_allclose(matcher.predict(PAIRS, batch_size), alone, rtol=1e-5)
    np.testing.assert_allclose(matcher.predict(PAIRS[::-1], batch_size), alone[::-1], rtol=1e-5)
    assert len(set(np.round(alone, 9))) == len(PAIRS)


def test_it_agrees_with_the_prepared_store(tmp_path, matcher):
    pairs = [*PAIRS[:5], ("款" * 300, "怎么还款" * 70)]
    (tmp_path / "dev.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    checkpoint = matcher.checkpoint
    split = open_corpus(tmp_path / "dev.tsv").load("dev")
    prepared = prepare(split, ["jieba"], checkpoint.lexicon, cache_dir=tmp_path, workers=1, progress=False)

    with pytest.warns(TruncationWarning):
        ours = matcher.predict(pairs)

    np.testing.assert_allclose(ours, score_pairs(checkpoint.model, checkpoint.collator, prepared), rtol=1e-5)


def test_what_cleaning_makes_equal_scores_equal(matcher):
    raw, clean = matcher.predict([("ＶＩＳＡ\u200b 卡", "  花呗 怎么\t还款 "), ("visa 卡", "花呗 怎么 还款")])

    assert raw == pytest.approx(clean, rel=1e-5)


def test_a_sentence_beyond_the_limit_is_cut_off_with_a_warning_that_counts():
    matcher = Matcher(tiny_checkpoint(), "cpu")
    with pytest.warns(TruncationWarning, match=r"more than 254 characters: 1,046 characters"):
        long = matcher.predict([("款" * 1300, "花呗")])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        limit = matcher.predict([("款" * 254, "花呗")])

    assert long == limit
    assert matcher.cleaning == {"truncated": 1046}


def test_cleaning_is_counted_over_all_calls():
    matcher = Matcher(tiny_checkpoint(), "cpu")
    matcher.predict([("Ａ卡", "Ａ卡")])
    matcher.predict([("b\u200b卡", "Ｃ")])

    assert matcher.cleaning == {"full-width": 3, "upper-case": 3, "format": 1}


def test_no_pairs_no_scores(matcher):
    assert matcher.predict([]).shape == (0,)


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        ([("花呗", "还款"), ("花呗", " \u3000\u200b")], "pair 1: sentence b is empty after cleaning"),
        ([("", "还款")], "pair 0: sentence a is empty"),
        ([("花呗", "还款"), ("花呗",)], "pair 1: not two strings"),
        ([("花呗", "还款", "1")], "pair 0: not two strings"),
        ([("花呗", None)], "pair 0: not two strings"),
        (["花呗"], "pair 0: not two strings"),
        (("花呗", "还款"), "pair 0: not two strings"),
        ([3], "pair 0: not two strings"),
    ],
)
def test_what_is_no_pair_of_sentences_is_told_with_its_index(matcher, pairs, problem):
    with pytest.raises(LetgraphError, match=problem):
        matcher.predict(pairs)


def test_settings_that_cannot_be_are_told(matcher):
    with pytest.raises(LetgraphError, match="batch size 0"):
        matcher.predict(PAIRS, batch_size=0)
    with pytest.raises(LetgraphError, match="device abacus cannot be used"):
        Matcher(matcher.checkpoint, "abacus")


def test_importing_the_package_is_light():
    program = (
        "import sys, letgraph, letgraph.evaluate, letgraph.predict;"
        "print(sorted({'torch', 'dgl', 'transformers', 'numpy'} & set(sys.modules)), 'Matcher' in letgraph.__all__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=Path(__file__).parents[1], check=True
    )
    assert done.stdout == "[] True\n"


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'Macther'"):
        letgraph.Macther  # noqa: B018
