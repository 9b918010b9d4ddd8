"""Pairs that are too long for an encoder, cut as a pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from letgraph.ragged import Ragged
from letgraph.text.features import COLUMNS, SentenceTable
from letgraph.text.lattice import forward_reach
from letgraph.text.tokens import Tokens
from letgraph.text.vocabulary import Vocabulary

SPECIAL_TOKENS = 3
"""[CLS], and [SEP] twice: of a vocabulary that is not at hand."""

MOST_TOKENS_OF_A_CHARACTER = 4
"""Bytes of UTF-8."""


def kept_tokens(lengths: NDArray[np.integer], limit: int) -> NDArray[np.int64]:
    """How many of ``lengths`` (2B,) tokens are kept, so that no pair has more than ``limit`` of them.

    While a pair is too long, the longer of its sentences loses its last token, b where both are equally long.
    Source: the authors' program, which leaves it to gluonnlp's ``BERTSentenceTransform``.
    """
    a, b = lengths[0::2].astype(np.int64), lengths[1::2].astype(np.int64)
    excess = np.maximum(a + b - limit, 0)
    # First the longer one down to the other, then both in turn, b first.
    from_a, from_b = np.minimum(excess, np.maximum(a - b, 0)), np.minimum(excess, np.maximum(b - a, 0))
    rest = excess - from_a - from_b
    return np.stack([a - from_a - rest // 2, b - from_b - (rest + 1) // 2], 1).reshape(-1)


def cut_characters(
    chars: Ragged,
    a: NDArray[np.integer],
    b: NDArray[np.integer],
    max_tokens: int | None,
    vocabulary: Vocabulary | None = None,
) -> int:
    """How many characters are cut off pairs of the sentences ``a`` and ``b`` where ``[CLS] a [SEP] b [SEP]`` has more
    than ``max_tokens`` tokens; without a ``vocabulary`` every character is one."""
    if max_tokens is None:
        return 0
    # Tokenizers make a few tokens of a character at most, so that short pairs need not be asked for.
    long = np.flatnonzero(
        chars.lengths[a] + chars.lengths[b] > (max_tokens - SPECIAL_TOKENS) // MOST_TOKENS_OF_A_CHARACTER
    )
    table = chars.take(np.stack([a[long], b[long]], 1).reshape(-1).astype(np.int64))
    tokens, specials = Tokens.one_each(table), SPECIAL_TOKENS
    if vocabulary is not None:
        tokens, specials = vocabulary.tokens(table), len(vocabulary.template)
    kept = tokens.head(kept_tokens(tokens.ids.lengths, max_tokens - specials))
    return int(len(table.values) - len(kept.of_char.values))


def cut_pairs(table: SentenceTable, tokens: Tokens, limit: int) -> tuple[SentenceTable, Tokens]:
    """The 2B sentences with their tokens without what is beyond `kept_tokens`: tokens, the characters that have none of
    those that are kept, and the words that reach beyond.

    What is left of a broken word is no word: its characters may be in none, and the end word may not be reachable.
    """
    kept = kept_tokens(tokens.ids.lengths, limit)
    if (kept == tokens.ids.lengths).all():
        return table, tokens
    tokens = tokens.head(kept)
    return cut_sentences(table, tokens.of_char.lengths), tokens


def cut_sentences(table: SentenceTable, kept: NDArray[np.integer]) -> SentenceTable:
    """Only the first ``kept`` characters of each sentence, and the words inside of them."""
    changed = np.flatnonzero(kept < table.chars.lengths)
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
