"""What an encoder reads: tokens of sentences, which of them stands for each character, and how pairs are joined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from letgraph.ragged import Ragged, offsets_of, ranges


@dataclass(frozen=True)
class Template:
    """How two sentences become one input: ``prefix a middle b suffix``, ids of special tokens each.

    ``[CLS] a [SEP] b [SEP]`` of BERT, ``<s> a </s></s> b </s>`` of RoBERTa.
    """

    prefix: tuple[int, ...]
    middle: tuple[int, ...]
    suffix: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.prefix) + len(self.middle) + len(self.suffix)


@dataclass(frozen=True)
class Tokens:
    """Tokens of N sentences, one or more each.

    ``ids``: token ids. ``of_char``: for every character of a sentence, the number of its token inside the sentence;
    these never fall from a character to the next.
    """

    ids: Ragged
    of_char: Ragged

    @classmethod
    def one_each(cls, ids: Ragged) -> Tokens:
        """Every character is a token of its own."""
        return cls(ids, Ragged(ranges(ids.lengths), ids.offsets))

    def head(self, kept: NDArray[np.integer]) -> Tokens:
        """Only the first ``kept`` (N,) tokens of each sentence, one or more, and the characters that have one of them.

        A sentence's first character stays in any case.
        """
        char_sentence = np.repeat(np.arange(len(kept)), self.of_char.lengths)
        limit = kept[char_sentence]
        remains = self.of_char.values < limit
        remains[self.of_char.offsets[:-1]] = True
        of_char = np.minimum(self.of_char.values, limit - 1)[remains]
        lengths = np.bincount(char_sentence[remains], minlength=len(kept))
        ids = self.ids.values[ranges(self.ids.lengths) < np.repeat(kept, self.ids.lengths)]
        return Tokens(Ragged(ids, offsets_of(kept)), Ragged(of_char, offsets_of(lengths)))
