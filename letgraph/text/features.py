"""From cleaned sentences to flat integer arrays: all that a graph needs to know about its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from letgraph.ragged import Ragged, offsets_of, ranges
from letgraph.text.lattice import Span, build_lattice, forward_reach
from letgraph.text.segment import Segmenter, spans

if TYPE_CHECKING:
    from letgraph.text.lexicon import Lexicon

COLUMNS: Mapping[str, type[np.generic]] = {
    "chars": np.uint32,  # code points
    "word_start": np.uint16,  # half-open spans over characters, sorted; (0, 0) begins and (T, T) ends the lattice
    "word_end": np.uint16,
    "word_senses": np.uint16,  # how many senses each word has
    "senses": np.int32,  # sense ids of the lexicon, word by word
    "reach_from": np.uint16,  # word `reach_to` is reachable forward from word `reach_from`, itself included
    "reach_to": np.uint16,
}
MAX_CHARACTERS = int(np.iinfo(np.uint16).max)


@dataclass(frozen=True)
class SentenceTable:
    """Features of N sentences: one `Ragged` of N rows for each name in `COLUMNS`."""

    chars: Ragged
    word_start: Ragged
    word_end: Ragged
    word_senses: Ragged
    senses: Ragged
    reach_from: Ragged
    reach_to: Ragged

    def __len__(self) -> int:
        return len(self.chars)

    def columns(self) -> Iterator[tuple[str, Ragged]]:
        return ((name, getattr(self, name)) for name in COLUMNS)

    def take(self, rows: NDArray[np.integer]) -> SentenceTable:
        return SentenceTable(**{name: column.take(rows) for name, column in self.columns()})

    @classmethod
    def concatenate(cls, tables: Sequence[SentenceTable]) -> SentenceTable:
        return cls(**{name: Ragged.concatenate([getattr(table, name) for table in tables]) for name in COLUMNS})

    def text(self, row: int) -> str:
        """The sentence itself, as it was given to `featurise`."""
        return "".join(map(chr, self.chars[row]))


def featurise(
    sentences: Sequence[str], segmenters: Sequence[Segmenter], lexicon: Lexicon | None = None
) -> SentenceTable:
    """Lattice and senses of cleaned, non-empty sentences (see `letgraph.text.clean`).

    A word's senses are looked up by its text in ``lexicon``; the begin and the end word have none. Raises ValueError
    for an empty sentence or one of more than 65,535 characters.
    """
    senses_of = None if lexicon is None else cache(lexicon.senses_of)  # words come again and again
    words_in: list[int] = []  # each sentence
    # Of all sentences, one after another:
    words: list[Span] = []
    word_senses: list[range] = []
    reach_rows: list[bytes] = []
    for sentence in sentences:
        if not 0 < len(sentence) <= MAX_CHARACTERS:
            raise ValueError(f"a sentence must have 1 to {MAX_CHARACTERS} characters, not {len(sentence)}")
        lattice = build_lattice(len(sentence), spans(sentence, segmenters))
        words += lattice
        words_in.append(len(lattice))
        if senses_of is not None:
            word_senses += [senses_of(sentence[start:end]) for start, end in lattice]
        row_bytes = len(lattice) // 8 + 1
        reach_rows += [mask.to_bytes(row_bytes, "little") for mask in forward_reach(lattice)]
    word_counts = np.array(words_in, np.int64)
    word_offsets = offsets_of(word_counts)
    bounds = np.fromiter(chain.from_iterable(words), np.uint16, 2 * len(words))
    sense_counts = np.zeros(len(words), np.uint16)
    sense_counts[: len(word_senses)] = list(map(len, word_senses))
    sense_offsets = offsets_of(sense_counts)
    reach_from, reach_to, reach_offsets = _edges(b"".join(reach_rows), word_counts)
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    codes = np.frombuffer("".join(sentences).encode("utf-32-le", "surrogatepass"), np.uint32)
    return SentenceTable(
        chars=Ragged(codes, offsets_of(lengths)),
        word_start=Ragged(bounds[0::2].copy(), word_offsets),
        word_end=Ragged(bounds[1::2].copy(), word_offsets),
        word_senses=Ragged(sense_counts, word_offsets),
        senses=Ragged(
            np.fromiter(chain.from_iterable(word_senses), np.int32, int(sense_offsets[-1])), sense_offsets[word_offsets]
        ),
        reach_from=Ragged(reach_from, reach_offsets),
        reach_to=Ragged(reach_to, reach_offsets),
    )


def _edges(
    rows: bytes, word_counts: NDArray[np.int64]
) -> tuple[NDArray[np.uint16], NDArray[np.uint16], NDArray[np.int64]]:
    """The set bits of all words' reach: word numbers inside the sentence, and each sentence's offset.

    ``rows`` holds, word by word, the mask of `forward_reach` in W // 8 + 1 bytes for a sentence of W words.
    """
    bits = np.unpackbits(np.frombuffer(rows, np.uint8), bitorder="little")
    row_starts = offsets_of(8 * np.repeat(word_counts // 8 + 1, word_counts))[:-1]
    set_bits = np.flatnonzero(bits)
    row_edges = np.add.reduceat(bits, row_starts, dtype=np.int64) if len(bits) else np.zeros(0, np.int64)
    reach_from = np.repeat(ranges(word_counts).astype(np.uint16), row_edges)
    reach_to = (set_bits - np.repeat(row_starts, row_edges)).astype(np.uint16)
    return reach_from, reach_to, offsets_of(row_edges)[offsets_of(word_counts)]
