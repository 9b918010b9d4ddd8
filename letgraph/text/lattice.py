"""Word lattices: which words can follow, or come before, which.

A lattice over T characters is the sorted list of its words' half-open spans. The begin node is the empty span (0, 0),
the end node the empty span (T, T), so that one rule serves all nodes: word u is adjacent to word v when u ends where
v starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Span = tuple[int, int]


def build_lattice(length: int, spans: Iterable[Span]) -> list[Span]:
    """The lattice's nodes in order: begin (0, 0), the distinct ``spans`` sorted by (start, end), end (T, T).

    Raises ValueError for a span that is empty or leaves the sentence, or where a character is in no word.
    """
    words = sorted(set(spans))
    covered = 0
    for start, end in words:
        if not 0 <= start < end <= length:
            raise ValueError(f"span {(start, end)} is empty or outside a sentence of {length} characters")
        if start > covered:
            raise ValueError(f"no word covers character {covered}")
        covered = max(covered, end)
    if covered != length:
        raise ValueError(f"no word covers character {covered}")
    return [(0, 0), *words, (length, length)]


def adjacency(words: Sequence[Span]) -> list[tuple[int, int]]:
    """All (u, v) where word u ends where word v starts; the begin and the end node are not their own neighbours."""
    starting: dict[int, list[int]] = {}
    for v, (start, _) in enumerate(words):
        starting.setdefault(start, []).append(v)
    return [(u, v) for u, (_, end) in enumerate(words) for v in starting.get(end, ()) if u != v]


def fewest_words(length: int, spans: Iterable[Span]) -> list[Span]:
    """A segmentation of T characters by words of the lattice: a path from its begin to its end with the fewest words.

    Of several such paths, the one whose first word is longest, then whose second is, and so on. Where words overlap so
    that no path leads through, single characters that are no word fill the gaps, as few as can be. Empty spans are
    passed over.
    """
    ends: list[list[int]] = [[] for _ in range(length)]
    for start, end in spans:
        if start < end:
            ends[start].append(end)
    cost, following = [0] * (length + 1), [0] * length
    for start in reversed(range(length)):
        cost[start], following[start] = length + 1 + cost[start + 1], start + 1
        for end in sorted(ends[start]):
            if 1 + cost[end] <= cost[start]:
                cost[start], following[start] = 1 + cost[end], end
    path: list[Span] = []
    start = 0
    while start < length:
        path.append((start, following[start]))
        start = following[start]
    return path


def forward_reach(words: Sequence[Span]) -> list[int]:
    """Row u, a bit mask: bit v is set when v = u or a path of adjacent words leads from u to v.

    This is the reflexive transitive closure of `adjacency`; backward reach is its transpose. Words are nodes of a
    directed acyclic graph sorted by start, so one sweep from the right suffices.
    """
    from_position: dict[int, int] = {}
    masks = [0] * len(words)
    for u in range(len(words) - 1, -1, -1):
        start, end = words[u]
        mask = 1 << u | from_position.get(end, 0)
        masks[u] = mask
        from_position[start] = from_position.get(start, 0) | mask
    return masks
