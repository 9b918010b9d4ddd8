"""Stretches of a sentence: they follow each other, break no word, and are as short as that allows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from letgraph.viewing.stretches import lines, stretches

LENGTH = 12
SPANS = st.sets(st.tuples(st.integers(0, LENGTH), st.integers(0, LENGTH)).map(lambda ends: (min(ends), max(ends))))


@given(SPANS)
def test_a_sentence_is_broken_wherever_no_word_is(words):
    inside = {place for start, end in words for place in range(start + 1, end)}
    ends = [place for place in range(1, LENGTH + 1) if place not in inside]
    assert stretches(words, LENGTH) == list(zip([0, *ends], ends, strict=False))


@given(SPANS, st.integers(1, LENGTH))
def test_lines_hold_whole_stretches_and_as_many_as_have_room(words, most):
    parts, found = stretches(words, LENGTH), lines(words, LENGTH, most)
    assert [start for start, _ in found] == [0, *(end for _, end in found[:-1])] and found[-1][1] == LENGTH
    assert {end for _, end in found} <= {end for _, end in parts}
    assert all(end - start <= most or (start, end) in parts for start, end in found)
    following = dict(parts)
    assert all(following[end] - start > most for start, end in found[:-1])


def test_an_empty_sentence_has_none():
    assert stretches([], 0) == lines([], 0, 5) == []
