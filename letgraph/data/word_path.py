"""Sentences as sequences of words: the path of fewest words through each lattice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from letgraph.ragged import Ragged, offsets_of
from letgraph.text.features import SentenceTable
from letgraph.text.lattice import fewest_words


@dataclass(frozen=True)
class WordPath:
    """Words of N sentences one after another: of each (words,) the number of its sentence and its half-open span of
    characters, see `letgraph.text.lattice.fewest_words`."""

    sentence: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    @classmethod
    def through(cls, table: SentenceTable) -> Self:
        words = []
        for row, length in enumerate(table.chars.lengths.tolist()):
            spans = zip(table.word_start[row].tolist(), table.word_end[row].tolist(), strict=True)
            words += [(row, start, end) for start, end in fewest_words(length, spans)]
        sentence, start, end = np.array(words, np.int64).reshape(-1, 3).T
        return cls(sentence, start, end)

    @property
    def of_char(self) -> NDArray[np.int64]:
        """The number of the word that each character belongs to."""
        return np.repeat(np.arange(len(self.start)), self.end - self.start)

    def senses(self, table: SentenceTable) -> Ragged:
        """The sense ids of every word; none for a character that only fills a gap of the lattice."""
        lattice = np.repeat(np.arange(len(table)), table.word_start.lengths)
        # A sentence's words are sorted by their spans, so these keys are sorted.
        keys = _key(lattice, table.word_start.values, table.word_end.values)
        wanted = _key(self.sentence, self.start, self.end)
        node = np.searchsorted(keys, wanted)
        begin = table.word_start.offsets[self.sentence]  # a node without senses
        node = np.where(keys[np.minimum(node, len(keys) - 1)] == wanted, node, begin)
        return Ragged(table.senses.values, offsets_of(table.word_senses.values)).take(node)


def _key(sentence: NDArray, start: NDArray, end: NDArray) -> NDArray[np.int64]:
    return (sentence.astype(np.int64) << 32) + (start.astype(np.int64) << 16) + end
