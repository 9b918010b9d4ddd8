"""A sentence in stretches that no word crosses, so that a long one can be drawn in lines."""

from __future__ import annotations

from collections.abc import Iterable

from letgraph.text.lattice import Span


def stretches(words: Iterable[Span], length: int) -> list[Span]:
    """The shortest spans that follow each other from 0 to ``length`` such that every word lies inside one of them."""
    furthest = list(range(1, length + 1))  # from each character, the end of the longest word that begins there
    for start, end in words:
        if start < end:
            furthest[start] = max(furthest[start], end)
    found: list[Span] = []
    begin = end = 0
    for place, reached in enumerate(furthest):
        if place == end and place > begin:
            found.append((begin, place))
            begin = place
        end = max(end, reached)
    return [*found, (begin, length)] if length else []


def lines(words: Iterable[Span], length: int, most: int) -> list[Span]:
    """`stretches` joined to lines of at most ``most`` characters; a longer stretch is a line of its own."""
    found: list[Span] = []
    for start, end in stretches(words, length):
        if found and end - found[-1][0] <= most:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found
