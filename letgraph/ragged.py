"""Lists of different lengths in two flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Ragged:
    """Row i is ``values[offsets[i] : offsets[i + 1]]``; ``offsets`` has one entry more than there are rows."""

    values: NDArray
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def take(self, rows: NDArray[np.integer]) -> Ragged:
        """The given rows, in the given order (repetitions allowed), without a Python loop over rows."""
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        offsets = offsets_of(lengths)
        positions = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(self.values[positions], offsets)

    @classmethod
    def from_lists(cls, rows: Iterable[Sequence[int]], dtype: np.typing.DTypeLike) -> Ragged:
        rows = list(rows)
        offsets = offsets_of(np.fromiter(map(len, rows), np.int64, len(rows)))
        values = np.fromiter((value for row in rows for value in row), dtype, int(offsets[-1]))
        return cls(values, offsets)

    @classmethod
    def concatenate(cls, parts: Sequence[Ragged]) -> Ragged:
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.values for part in parts]), offsets_of(lengths))


def offsets_of(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """``[0, l_0, l_0 + l_1, …]``."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def ranges(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """``[0 … l_0 - 1, 0 … l_1 - 1, …]``: the place of each value inside its row."""
    offsets = offsets_of(lengths)
    return np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
