"""Words are found again in their sentence whatever the segmenter did to blanks, and no character is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letgraph.text.align import align

sentences = st.text(st.one_of(st.sampled_from(" \u3000\t我想还款ab"), st.characters()), max_size=20)


@st.composite
def segmented(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A sentence and a segmentation of it in which every blank is a token."""
    pieces = draw(st.lists(st.one_of(st.sampled_from([" ", "\u3000"]), st.text("我想还款ab", min_size=1, max_size=4))))
    return "".join(pieces), pieces


def offsets(pieces: list[str]) -> list[tuple[int, int]]:
    return [(len("".join(pieces[:k])), len("".join(pieces[: k + 1]))) for k in range(len(pieces))]


@pytest.mark.parametrize(
    ("sentence", "tokens", "expected"),
    [
        ("", [], ""),
        ("我想还款", ["我", "想", "还款"], "我|想|还款"),
        ("我想还款", ["", "我", "", "想还款", ""], "我|想还款"),
        # Blanks dropped, collapsed, kept inside a word, or invented.
        ("我  想 还款 ", ["我", "想", "还款"], "我| | |想| |还款| "),
        ("我  想", ["我", " ", "想"], "我| | |想"),
        ("用  app store 还", ["用", " ", "app store", "还"], "用| | |app store| |还"),
        ("app\u3000\u3000store", ["app store"], "app\u3000\u3000store"),
        ("还款", ["还", " ", "款"], "还|款"),
        ("   ", [], " | | "),
        # More than blanks differs: what cannot be matched is cut into characters, the rest is kept.
        ("我想还款吗", ["我", "想", "[UNK]", "吗"], "我|想|还|款|吗"),
        ("我想还款吗", ["我想", "归还", "款吗"], "我想|还|款吗"),
        ("我想还款", [], "我|想|还|款"),
        ("还款", ["我", "想"], "还|款"),
        ("我想 还款", ["我想", "还款", "了"], "我想| |还款"),
        ("abcabc", ["abc"], "abc|a|b|c"),
    ],
)
def test_words_by_hand(sentence: str, tokens: list[str], expected: str) -> None:
    assert "|".join(sentence[start:end] for start, end in align(sentence, tokens)) == expected


@given(sentences, st.lists(sentences))
def test_spans_tile_the_sentence_whatever_the_tokens(sentence: str, tokens: list[str]) -> None:
    spans = align(sentence, iter(tokens))
    assert [place for start, end in spans for place in range(start, end)] == list(range(len(sentence)))
    assert all(start < end for start, end in spans)


@given(sentences, st.lists(st.integers(0, 20)))
def test_tokens_that_spell_the_sentence_keep_their_places(sentence: str, cuts: list[int]) -> None:
    bounds = sorted({0, len(sentence), *(cut for cut in cuts if cut < len(sentence))})
    expected = list(pairwise(bounds))
    assert align(sentence, [sentence[start:end] for start, end in expected]) == expected


@given(segmented())
def test_dropped_blanks_come_back_as_words_of_their_own(case: tuple[str, list[str]]) -> None:
    sentence, pieces = case
    assert align(sentence, [piece for piece in pieces if not piece.isspace()]) == offsets(pieces)


@given(segmented())
def test_collapsed_blanks_come_back_as_words_of_their_own(case: tuple[str, list[str]]) -> None:
    sentence, pieces = case
    kept = [piece for k, piece in enumerate(pieces) if not (k and piece.isspace() and pieces[k - 1].isspace())]
    assert align(sentence, kept) == offsets(pieces)
