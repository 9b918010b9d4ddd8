"""The character vocabulary of an encoder that is trained from scratch."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from letgraph.errors import DataError
from letgraph.output import whole_file

PAD, UNK, CLS, SEP = 0, 1, 2, 3
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


class CharVocabulary:
    """Character -> id, in order of falling frequency after the four special tokens [PAD], [UNK], [CLS], [SEP].

    A character that is not in the vocabulary has the id of [UNK].
    """

    def __init__(self, characters: Sequence[str]) -> None:
        self.characters = list(characters)
        codes = np.fromiter(map(ord, self.characters), np.uint32, len(self.characters))
        self._order = np.argsort(codes)
        self._sorted = codes[self._order]

    def __len__(self) -> int:
        return len(SPECIALS) + len(self.characters)

    def encode(self, codes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Code points to ids, of the same shape."""
        if not len(self._sorted):
            return np.full(codes.shape, UNK, np.int64)
        place = np.minimum(np.searchsorted(self._sorted, codes), len(self._sorted) - 1)
        return np.where(self._sorted[place] == codes, self._order[place] + len(SPECIALS), UNK)

    @classmethod
    def build(cls, codes: NDArray[np.uint32], min_count: int = 2) -> CharVocabulary:
        """All characters seen at least ``min_count`` times: rarer ones train the vector of [UNK]."""
        distinct, counts = np.unique(codes, return_counts=True)
        kept = counts >= min_count
        distinct, counts = distinct[kept], counts[kept]
        return cls([chr(code) for code in distinct[np.lexsort((distinct, -counts))]])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON list of the characters; JSON because U+2028 and its like break a file of lines."""
        with whole_file(Path(path)) as stream:
            stream.write(json.dumps(self.characters, ensure_ascii=True).encode("ascii"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CharVocabulary:
        """Raises `DataError` when the file is missing or is not what `save` writes."""
        try:
            characters = json.loads(Path(path).read_text(encoding="ascii"))
        except FileNotFoundError:
            raise DataError(path, None, "no such file", "give a folder that letgraph.train wrote") from None
        except ValueError as error:
            raise DataError(path, None, f"not a vocabulary ({error})", "train again or restore the file") from None
        if not _is_list_of_characters(characters):
            raise DataError(path, None, "not a list of distinct characters", "train again or restore the file")
        return cls(characters)


def _is_list_of_characters(value: object) -> bool:
    if not isinstance(value, list):
        return False
    items: Iterable[object] = value
    return all(isinstance(item, str) and len(item) == 1 for item in items) and len(set(value)) == len(value)
