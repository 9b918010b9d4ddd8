"""Features of sentences: a case worked by hand, and what holds for any sentence."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letgraph.text.features import COLUMNS, MAX_CHARACTERS, SentenceTable, featurise
from letgraph.text.lattice import build_lattice, forward_reach
from letgraph.text.lexicon import Lexicon


class Pieces:
    """A segmenter that cuts every so many characters."""

    version = "1"

    def __init__(self, size: int) -> None:
        self.size = size
        self.name = f"pieces of {size}"

    def cut(self, sentence: str) -> list[str]:
        return [sentence[start : start + self.size] for start in range(0, len(sentence), self.size)]


LEXICON = Lexicon.from_senses(
    [("存款", ["钱", "放"]), ("银行", ["机构"]), ("银行存款", ["钱"]), ("银行", ["场所", "金融"])], "test"
)

sentences = st.text(st.sampled_from("银行存款利a 😀\ue000"), min_size=1, max_size=30)


def rows(table: SentenceTable, row: int) -> dict[str, list[int]]:
    return {name: column[row].tolist() for name, column in table.columns()}


def assert_equal(one: SentenceTable, other: SentenceTable) -> None:
    for (name, left), (_, right) in zip(one.columns(), other.columns(), strict=True):
        np.testing.assert_array_equal(left.values, right.values, name)
        np.testing.assert_array_equal(left.offsets, right.offsets, name)
        assert left.values.dtype == right.values.dtype == COLUMNS[name]


def test_a_sentence_worked_by_hand():
    table = featurise(["行", "银行存款"], [Pieces(2), Pieces(4)], LEXICON)

    # Senses are numbered word by word: 存款 0; 银行 1, 2; 银行存款 3.
    assert rows(table, 1) == {
        "chars": [ord(char) for char in "银行存款"],
        "word_start": [0, 0, 0, 2, 4],
        "word_end": [0, 2, 4, 4, 4],
        "word_senses": [0, 2, 1, 1, 0],
        "senses": [1, 2, 3, 0],
        # begin reaches all; 银行 reaches 存款 and the end; 银行存款 and 存款 the end only.
        "reach_from": [0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4],
        "reach_to": [0, 1, 2, 3, 4, 1, 3, 4, 2, 4, 3, 4, 4],
    }
    assert rows(table, 0) == {
        "chars": [ord("行")],
        "word_start": [0, 0, 1],
        "word_end": [0, 1, 1],
        "word_senses": [0, 0, 0],
        "senses": [],
        "reach_from": [0, 0, 0, 1, 1, 2],
        "reach_to": [0, 1, 2, 1, 2, 2],
    }


def test_without_a_lexicon_no_word_has_senses():
    table = featurise(["银行存款"], [Pieces(2)])

    assert table.word_senses[0].tolist() == [0, 0, 0, 0]
    assert table.senses[0].tolist() == []


@given(st.lists(sentences, min_size=1, max_size=5))
def test_many_sentences_are_the_features_of_each(texts):
    segmenters = [Pieces(1), Pieces(2), Pieces(3)]

    table = featurise(texts, segmenters, LEXICON)

    assert [table.text(row) for row in range(len(table))] == texts
    assert_equal(table, SentenceTable.concatenate([featurise([text], segmenters, LEXICON) for text in texts]))


@given(sentences, st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_words_and_reach_are_those_of_the_lattice(text, sizes):
    segmenters = [Pieces(size) for size in sizes]

    row = rows(featurise([text], segmenters, LEXICON), 0)

    cuts = [[*range(0, len(text), size), len(text)] for size in sizes]
    words = build_lattice(len(text), {span for cut in cuts for span in pairwise(cut)})
    assert list(zip(row["word_start"], row["word_end"], strict=True)) == words
    reach = [(u, v) for u, mask in enumerate(forward_reach(words)) for v in range(len(words)) if mask >> v & 1]
    assert list(zip(row["reach_from"], row["reach_to"], strict=True)) == reach
    senses = [list(LEXICON.senses_of(text[start:end])) for start, end in words]
    assert row["word_senses"] == [len(ids) for ids in senses]
    assert row["senses"] == [sense for ids in senses for sense in ids]


def test_a_sentence_of_hundreds_of_words_reaches_all_that_follow():
    table = featurise(["款" * 300, "款"], [Pieces(1)])

    words = 300 + 2
    expected = [(u, v) for u in range(words) for v in range(u, words)]
    assert list(zip(table.reach_from[0].tolist(), table.reach_to[0].tolist(), strict=True)) == expected
    assert len(table.reach_from[1]) == 6


@given(st.lists(sentences, min_size=1, max_size=4), st.data())
def test_take_picks_rows_of_every_column(texts, data):
    wanted = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=6))
    table = featurise(texts, [Pieces(2)], LEXICON)

    taken = table.take(np.array(wanted, np.int64))

    assert [rows(taken, row) for row in range(len(taken))] == [rows(table, row) for row in wanted]


def test_no_sentences_are_a_table_without_rows():
    table = featurise([], [Pieces(1)], LEXICON)

    assert len(table) == 0
    assert_equal(table, SentenceTable.concatenate([table, table]))


@pytest.mark.parametrize("text", ["", "款" * (MAX_CHARACTERS + 1)])
def test_a_sentence_whose_length_cannot_be_stored_is_refused(text):
    with pytest.raises(ValueError, match=r"1 to 65535 characters"):
        featurise(["款", text], [Pieces(1)])
