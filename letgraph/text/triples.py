"""HowNet as triples (word, 包含, sememe), in tokens: what K-BERT injects into a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from letgraph.ragged import Ragged, offsets_of, ranges
from letgraph.text.vocabulary import Vocabulary

PREDICATE = "包含"


@dataclass(frozen=True)
class Triples:
    """``sense_sememes``: the sememes of every sense of a lexicon. ``branches``: sememe id -> ids of the tokens that a
    triple with this sememe puts behind its word."""

    sense_sememes: Ragged
    branches: Ragged

    @classmethod
    def of(cls, sense_sememes: Ragged, names: Sequence[str], vocabulary: Vocabulary, predicate: bool = True) -> Self:
        """``names``: of the sememes; a branch is 包含 and the name, without ``predicate`` the name alone."""
        texts = [(PREDICATE if predicate else "") + name for name in names]
        chars = Ragged.from_lists([list(map(ord, text)) for text in texts], np.uint32)
        return cls(sense_sememes, vocabulary.tokens(chars).ids)

    @property
    def longest(self) -> int:
        """Tokens of the longest branch."""
        return int(self.branches.lengths.max(initial=0))

    def of_words(self, senses: Ragged, most: int) -> Ragged:
        """The sememes of words, of which ``senses`` gives the sense ids: for each word the distinct sememes of all its
        senses, in their order, no more than ``most``."""
        links = self.sense_sememes.take(senses.values)
        word = np.repeat(np.repeat(np.arange(len(senses)), senses.lengths), links.lengths)
        _, first = np.unique(word * len(self.branches) + links.values, return_index=True)
        first.sort()
        counts = np.bincount(word[first], minlength=len(senses))
        sememes = links.values[first][ranges(counts) < most]
        return Ragged(sememes, offsets_of(np.minimum(counts, most)))
