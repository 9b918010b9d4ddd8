"""Trained vectors of characters and of words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_BASE = 1_000_003
_MIX = 0xFF51AFD7ED558CCD - 2**64  # the first multiplier of MurmurHash3's finaliser, as a signed number


def embedding(rows: int, size: int) -> nn.Embedding:
    """A table of vectors to be trained, drawn from [-0.25, 0.25] (Kim 2014, words without a pre-trained vector)."""
    table = nn.Embedding(rows, size)
    nn.init.uniform_(table.weight, -0.25, 0.25)
    return table


class WordEmbedding(nn.Module):
    """Words, given as the ids of their characters, to vectors.

    A word of one character has the vector of that character. A longer one has a row of a table with ``buckets`` rows,
    chosen by a hash of its characters' ids: no list of words is kept, an unseen word has the untrained vector of its
    row, and words of the same row share a vector.

    Shapes: ``forward(characters (N,), word (N,) in rising order from 0, count W) -> (W, size)``.
    """

    def __init__(self, vocab_size: int, buckets: int, size: int) -> None:
        super().__init__()
        self.vocab_size, self.buckets = vocab_size, buckets
        self.table = embedding(vocab_size + buckets, size)

    def rows(self, characters: Tensor, word: Tensor, count: int) -> Tensor:
        """The row (W,) of each word in the table."""
        lengths = torch.bincount(word, minlength=count)
        first = lengths.cumsum(0) - lengths
        # Horner's scheme in 64 bits, which wrap around: h <- h * base + id for the first, the second, … character.
        code = characters.new_zeros(count)
        for place in range(int(lengths.max()) if count else 0):
            reached = (lengths > place).nonzero().squeeze(1)
            extended = code[reached] * _BASE + characters[first[reached] + place] + 1
            code = code.index_copy(0, reached, extended)
        for _ in range(2):
            code = (code ^ (code >> 33)) * _MIX
        hashed = self.vocab_size + (code ^ (code >> 33)).remainder(self.buckets)
        return torch.where(lengths == 1, characters[first], hashed)

    def forward(self, characters: Tensor, word: Tensor, count: int) -> Tensor:
        return self.table(self.rows(characters, word, count))
