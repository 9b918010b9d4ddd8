"""Pairs that are too long for an encoder, cut as a pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from letgraph.ragged import Ragged
from letgraph.text.features import COLUMNS, SentenceTable
from letgraph.text.lattice import forward_reach

SPECIAL_TOKENS = 3
"""[CLS], and [SEP] twice."""


def kept_characters(lengths: NDArray[np.integer], max_tokens: int) -> NDArray[np.int64]:
    """How many of ``lengths`` (2B,) characters are kept, so that no ``[CLS] a [SEP] b [SEP]`` has more tokens.

    While a pair is too long, the longer of its sentences loses its last character, b where both are equally long.
    Source: the authors' program, which leaves it to gluonnlp's ``BERTSentenceTransform``.
    """
    a, b = lengths[0::2].astype(np.int64), lengths[1::2].astype(np.int64)
    limit = max_tokens - SPECIAL_TOKENS
    excess = np.maximum(a + b - limit, 0)
    # First the longer one down to the other, then both in turn, b first.
    from_a, from_b = np.minimum(excess, np.maximum(a - b, 0)), np.minimum(excess, np.maximum(b - a, 0))
    rest = excess - from_a - from_b
    return np.stack([a - from_a - rest // 2, b - from_b - (rest + 1) // 2], 1).reshape(-1)


def cut_characters(
    lengths: NDArray[np.integer], a: NDArray[np.integer], b: NDArray[np.integer], max_tokens: int | None
) -> int:
    """How many characters are cut off pairs of the sentences ``a`` and ``b``, which have ``lengths``."""
    if max_tokens is None:
        return 0
    both = np.stack([lengths[a], lengths[b]], 1).reshape(-1)
    return int((both - kept_characters(both, max_tokens)).sum())


def cut_pairs(table: SentenceTable, max_tokens: int) -> SentenceTable:
    """The 2B sentences without the characters beyond `kept_characters`, and without the words that reach beyond.

    What is left of a broken word is no word: its characters may be in none, and the end word may not be reachable.
    """
    lengths = table.chars.lengths
    kept = kept_characters(lengths, max_tokens)
    changed = np.flatnonzero(kept < lengths)
    if not len(changed):
        return table
    rows = np.arange(len(table))
    rows[changed] = len(table) + np.arange(len(changed))
    return SentenceTable.concatenate([table, *(_cut(table, row, int(kept[row])) for row in changed.tolist())]).take(
        rows
    )


def _cut(table: SentenceTable, row: int, length: int) -> SentenceTable:
    """Sentence ``row`` with its first ``length`` characters only."""
    end, counts = table.word_end[row], table.word_senses[row]
    whole = end <= length
    whole[-1] = False
    words = [*zip(table.word_start[row][whole].tolist(), end[whole].tolist(), strict=True), (length, length)]
    masks = forward_reach(words)
    reach = [(u, v) for u, mask in enumerate(masks) for v in range(len(words)) if mask >> v & 1]
    columns = {
        "chars": table.chars[row][:length].tolist(),
        "word_start": [start for start, _ in words],
        "word_end": [end for _, end in words],
        "word_senses": [*counts[whole].tolist(), 0],
        "senses": table.senses[row][np.repeat(whole, counts)].tolist(),
        "reach_from": [u for u, _ in reach],
        "reach_to": [v for _, v in reach],
    }
    return SentenceTable(**{name: Ragged.from_lists([columns[name]], dtype) for name, dtype in COLUMNS.items()})
