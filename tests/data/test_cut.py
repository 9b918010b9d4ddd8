"""Pairs that are too long are cut as the authors' program cuts them, one character after another."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from letgraph.data.cut import cut_characters, cut_pairs, kept_tokens
from letgraph.ragged import Ragged
from letgraph.text.features import SentenceTable
from letgraph.text.tokens import Tokens
from tests.helpers import Sentence, pair_lists, to_table


def by_hand(a: int, b: int, max_tokens: int) -> tuple[int, int]:
    """The rule itself: drop the last character of the longer one, of b where they are equally long."""
    while a + b + 3 > max_tokens:
        if a > b:
            a -= 1
        else:
            b -= 1
    return a, b


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=5), st.integers(5, 60))
def test_tokens_are_dropped_from_the_longer_sentence(pairs, max_tokens):
    lengths = np.array(pairs, np.int64).reshape(-1)

    kept = kept_tokens(lengths, max_tokens - 3)

    assert kept.reshape(-1, 2).tolist() == [list(by_hand(a, b, max_tokens)) for a, b in pairs]
    assert (kept > 0).all()


def test_a_pair_of_128_tokens_is_whole_and_one_of_129_is_not():
    assert kept_tokens(np.array([100, 25, 100, 26, 63, 63, 200, 254]), 128 - 3).tolist() == [
        *(100, 25),
        *(99, 26),
        *(63, 62),
        *(63, 62),
    ]


def cut_of_characters(table: SentenceTable, max_tokens: int) -> SentenceTable:
    cut, tokens = cut_pairs(table, Tokens.one_each(table.chars), max_tokens - 3)
    assert tokens.ids.values.tolist() == cut.chars.values.tolist()
    assert [row.tolist() for row in tokens.of_char] == [list(range(len(row))) for row in cut.chars]
    return cut


def cut_by_hand(sentence: Sentence, length: int) -> Sentence:
    kept = [number for number, (_, end) in enumerate(sentence.words) if end <= length]
    return Sentence(
        sentence.text[:length],
        tuple(sentence.words[number] for number in kept),
        tuple(sentence.senses[number] for number in kept),
    )


@given(pair_lists(), st.integers(5, 15))
def test_a_cut_pair_has_what_lies_inside_of_it(sentences, max_tokens):
    lengths = [len(sentence.text) for sentence in sentences]
    kept = [n for a, b in zip(lengths[0::2], lengths[1::2], strict=True) for n in by_hand(a, b, max_tokens)]
    expected = to_table([cut_by_hand(sentence, length) for sentence, length in zip(sentences, kept, strict=True)])

    cut = cut_of_characters(to_table(sentences), max_tokens)

    for (name, ours), (_, theirs) in zip(cut.columns(), expected.columns(), strict=True):
        assert [row.tolist() for row in ours] == [row.tolist() for row in theirs], name


def test_characters_that_are_cut_off_are_counted_in_pairs():
    lengths = Ragged.from_lists([[0] * 10, [0] * 4, [0] * 6], np.uint32)

    assert cut_characters(lengths, np.array([0, 1, 0]), np.array([1, 2, 2]), 13) == 4 + 0 + 6
    assert cut_characters(lengths, np.array([0]), np.array([0]), None) == 0


def test_a_word_that_is_broken_is_gone_and_the_end_may_be_out_of_reach():
    sentence = Sentence("存款利率", ((0, 2), (2, 4)), ((0,), (1, 2)))

    table = cut_of_characters(to_table([sentence, sentence]), 3 + 6)

    assert table.text(0) == "存款利"
    assert list(zip(table.word_start[0].tolist(), table.word_end[0].tolist(), strict=True)) == [(0, 0), (0, 2), (3, 3)]
    assert table.senses[0].tolist() == [0]
    reach = set(zip(table.reach_from[0].tolist(), table.reach_to[0].tolist(), strict=True))
    assert reach == {(0, 0), (1, 1), (2, 2), (0, 1)}
