"""Vocabularies: characters, for an encoder that is trained from scratch, and BERT's word pieces.

That of a pre-trained encoder is in `letgraph.text.tokenizer`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from letgraph.errors import DataError
from letgraph.output import whole_file
from letgraph.ragged import Ragged
from letgraph.text.tokens import Template, Tokens

PAD, UNK, CLS, SEP = 0, 1, 2, 3
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")

_MEND = "train again or restore the file"


class Vocabulary:
    """Sentences -> token ids. ``pad`` and ``unk``: ids of [PAD] and [UNK]."""

    pad, unk = PAD, UNK

    def __len__(self) -> int:
        """How many tokens there are."""
        raise NotImplementedError

    @property
    def template(self) -> Template:
        """The special tokens around a pair."""
        raise NotImplementedError

    def tokens(self, chars: Ragged) -> Tokens:
        """The tokens of sentences given as code points."""
        raise NotImplementedError

    def _content(self) -> object:
        """What `load_vocabulary` reads."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write JSON, because U+2028 and its like break a file of lines."""
        with whole_file(Path(path)) as stream:
            stream.write(json.dumps(self._content(), ensure_ascii=True).encode("ascii"))


class CharacterTable(Vocabulary):
    """One token a character: character -> id. ``cls`` and ``sep`` are the ids of [CLS] and [SEP].

    A character that is not in the vocabulary has the id of [UNK].
    """

    cls, sep = CLS, SEP

    def __init__(self, characters: Sequence[str], ids: Sequence[int] | NDArray[np.integer]) -> None:
        codes = np.fromiter(map(ord, characters), np.uint32, len(characters))
        order = np.argsort(codes)
        self._sorted, self._ids = codes[order], np.asarray(ids, np.int64)[order]

    @property
    def template(self) -> Template:
        return Template((self.cls,), (self.sep,), (self.sep,))

    def tokens(self, chars: Ragged) -> Tokens:
        return Tokens.one_each(Ragged(self.encode(chars.values), chars.offsets))

    def encode(self, codes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Code points to ids, of the same shape."""
        if not len(self._sorted):
            return np.full(codes.shape, self.unk, np.int64)
        place = np.minimum(np.searchsorted(self._sorted, codes), len(self._sorted) - 1)
        return np.where(self._sorted[place] == codes, self._ids[place], self.unk)


class CharVocabulary(CharacterTable):
    """Character -> id, in order of falling frequency after the four special tokens [PAD], [UNK], [CLS], [SEP]."""

    def __init__(self, characters: Sequence[str]) -> None:
        self.characters = list(characters)
        super().__init__(self.characters, np.arange(len(self.characters)) + len(SPECIALS))

    def __len__(self) -> int:
        return len(SPECIALS) + len(self.characters)

    @classmethod
    def build(cls, codes: NDArray[np.uint32], min_count: int = 2) -> CharVocabulary:
        """All characters seen at least ``min_count`` times: rarer ones train the vector of [UNK]."""
        distinct, counts = np.unique(codes, return_counts=True)
        kept = counts >= min_count
        distinct, counts = distinct[kept], counts[kept]
        return cls([chr(code) for code in distinct[np.lexsort((distinct, -counts))]])

    def _content(self) -> object:
        """A list of the characters."""
        return self.characters

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CharVocabulary:
        """Raises `DataError` when the file is missing or is not what `save` writes."""
        vocabulary = load_vocabulary(path)
        if not isinstance(vocabulary, cls):
            raise DataError(path, None, "not a vocabulary of characters", _MEND)
        return vocabulary


class PieceVocabulary(CharacterTable):
    """BERT's word pieces in the order of their ids; a character has the id of the piece that it is alone.

    That is what BERT's tokenizer gives Chinese characters and punctuation. A run of letters or digits is one or a few
    pieces there, and one for each character here.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        """Raises ValueError for a piece that comes twice and where a special token is missing."""
        self.pieces = list(pieces)
        id_of = {piece: number for number, piece in enumerate(self.pieces)}
        if len(id_of) != len(self.pieces):
            twice = next(piece for number, piece in enumerate(self.pieces) if id_of[piece] != number)
            raise ValueError(f"{twice!r} comes twice")
        absent = [piece for piece in SPECIALS if piece not in id_of]
        if absent:
            raise ValueError(f"there is no {absent[0]}")
        self.pad, self.unk, self.cls, self.sep = (id_of[piece] for piece in SPECIALS)
        characters = [piece for piece in self.pieces if len(piece) == 1]
        super().__init__(characters, [id_of[character] for character in characters])

    def __len__(self) -> int:
        return len(self.pieces)

    def _content(self) -> object:
        """An object whose "pieces" is the list of them."""
        return {"pieces": self.pieces}


def load_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
    """What `Vocabulary.save` wrote. Raises `DataError` when the file is missing or something else."""
    try:
        content = json.loads(Path(path).read_text(encoding="ascii"))
    except FileNotFoundError:
        raise DataError(
            path, None, "no such file", "give a folder that letgraph.train wrote, or letgraph.convert with --vocab"
        ) from None
    except ValueError as error:
        raise DataError(path, None, f"not a vocabulary ({error})", _MEND) from None
    if isinstance(content, dict) and "tokenizer" in content:
        from letgraph.text.tokenizer import TokenizerVocabulary

        try:
            return TokenizerVocabulary.from_content(content)
        except ValueError as error:
            raise DataError(path, None, f"not a vocabulary: {error}", _MEND) from None
    pieces = content.get("pieces") if isinstance(content, dict) else None
    if isinstance(pieces, list) and all(isinstance(piece, str) for piece in pieces):
        try:
            return PieceVocabulary(pieces)
        except ValueError as error:
            raise DataError(path, None, f"not a vocabulary of word pieces: {error}", _MEND) from None
    if not _is_list_of_characters(content):
        raise DataError(path, None, "not a list of distinct characters, nor of word pieces", _MEND)
    return CharVocabulary(content)


def read_pieces(path: str | os.PathLike[str]) -> list[str]:
    """The pieces of BERT's ``vocab.txt``, one a line; line i has id i - 1.

    Only a line feed ends a line: U+2028 and U+0085 are pieces. Raises `DataError`.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(path, None, f"cannot be read ({error.strerror})", "give BERT's vocab.txt") from None
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(path, line, "not UTF-8", "give BERT's vocab.txt") from None
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def in_gluonnlp_order(pieces: Iterable[str]) -> list[str]:
    """The order that gluonnlp gives BERT's vocabulary: its five special tokens first, the others as they are."""
    pieces = list(pieces)
    first = [piece for piece in ("[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]") if piece in pieces]
    return first + [piece for piece in pieces if piece not in first]


def _is_list_of_characters(value: object) -> bool:
    if not isinstance(value, list):
        return False
    items: Iterable[object] = value
    return all(isinstance(item, str) and len(item) == 1 for item in items) and len(set(value)) == len(value)
