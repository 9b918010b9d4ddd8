"""Where a segmenter's words lie in the sentence."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

Span = tuple[int, int]


def align(sentence: str, tokens: Iterable[str]) -> list[Span]:
    """Half-open spans over the characters of ``sentence``, in order; together they tile it.

    A token is one span, however the segmenter dropped, added or collapsed blanks; blanks inside a word belong to it,
    every other blank that no token covers is a span of its own. Where tokens and sentence differ in more than
    blanks, the characters that cannot be matched become spans of their own: no character is ever lost.
    """
    tokens = [token for token in tokens if token]
    if "".join(tokens) == sentence:
        return list(pairwise(accumulate(map(len, tokens), initial=0)))
    places = [place for place, char in enumerate(sentence) if not char.isspace()]
    letters = ["".join(token.split()) for token in tokens]
    bounds = list(accumulate(map(len, letters), initial=0))
    squeezed, joined = "".join(sentence.split()), "".join(letters)
    if squeezed == joined:
        words = [(places[start], places[end - 1] + 1) for start, end in pairwise(bounds) if start < end]
    else:
        words = _matching_words(squeezed, joined, bounds, places)
    return _tile(words, len(sentence))


def _matching_words(squeezed: str, joined: str, bounds: list[int], places: list[int]) -> list[Span]:
    """Spans of the tokens that a longest-match alignment finds whole and unbroken in the sentence without blanks."""
    shift: list[int | None] = [None] * len(joined)
    for block in SequenceMatcher(None, joined, squeezed, autojunk=False).get_matching_blocks():
        shift[block.a : block.a + block.size] = [block.b - block.a] * block.size
    words = []
    for start, end in pairwise(bounds):
        moved = set(shift[start:end])
        by = moved.pop() if len(moved) == 1 else None
        if by is not None:
            words.append((places[start + by], places[end - 1 + by] + 1))
    return words


def _tile(words: list[Span], length: int) -> list[Span]:
    """The words, and every character between them on its own."""
    spans: list[Span] = []
    covered = 0
    for start, end in words:
        spans.extend((place, place + 1) for place in range(covered, start))
        spans.append((start, end))
        covered = end
    spans.extend((place, place + 1) for place in range(covered, length))
    return spans
