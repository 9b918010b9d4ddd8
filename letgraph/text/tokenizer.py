"""The vocabulary of a pre-trained encoder: its own tokenizer, whose tokens are mapped onto characters."""

from __future__ import annotations

import json
from itertools import chain, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from letgraph.ragged import Ragged, offsets_of, ranges
from letgraph.text.tokens import Template, Tokens
from letgraph.text.vocabulary import Vocabulary

_Spans = tuple[NDArray[np.int64], NDArray[np.int64]]


class TokenizerVocabulary(Vocabulary):
    """A `tokenizers.Tokenizer` that tells where in the text its tokens lie.

    A token that spans several characters (digits, a Latin word) stands for each of them. Of several tokens that share
    a character, the last one stands for it. A character without a token (a blank, an accent that the tokenizer strips)
    has that of the character before it, at the beginning of a sentence that of the first token; a sentence without any
    token has [UNK]. So every character has exactly one token.
    """

    def __init__(self, tokenizer: Tokenizer, pad: int, unk: int | None) -> None:
        """``pad``, ``unk``: ids; None for a tokenizer that knows every text. Raises ValueError where the tokenizer
        puts nothing before or behind a pair of sentences."""
        self.tokenizer = tokenizer
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.pad = pad
        self._template = _template(tokenizer)
        self.knows_every_text = unk is None
        self.unk = self._template.suffix[-1] if unk is None else unk

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size(with_added_tokens=True)

    @property
    def template(self) -> Template:
        return self._template

    def tokens(self, chars: Ragged) -> Tokens:
        text = chars.values.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        bounds = chars.offsets.tolist()
        sentences = [text[start:end] for start, end in pairwise(bounds)]
        encoded = self.tokenizer.encode_batch(sentences, add_special_tokens=False)
        counts = np.fromiter((len(encoding.ids) for encoding in encoded), np.int64, len(encoded))
        found = int(counts.sum())
        ids = np.fromiter(chain.from_iterable(encoding.ids for encoding in encoded), np.int64, found)
        spans = chain.from_iterable(chain.from_iterable(encoding.offsets) for encoding in encoded)
        start, end = np.fromiter(spans, np.int64, 2 * found).reshape(-1, 2).T
        lengths = np.maximum(counts, 1)
        offsets = offsets_of(lengths)
        filled = np.full(offsets[-1], self.unk, np.int64)
        number = np.repeat(offsets[:-1], counts) + ranges(counts)
        filled[number] = ids
        sentence = np.repeat(np.arange(len(counts)), counts)
        of_char = _token_of_char(chars, number, chars.offsets[sentence] + start, end - start)
        # Characters before the first token of a sentence got the last token of the sentence before it.
        first = np.repeat(offsets[:-1], chars.lengths)
        return Tokens(Ragged(filled, offsets), Ragged(np.maximum(of_char, first) - first, chars.offsets))

    def _content(self) -> object:
        """An object with the tokenizer's own JSON."""
        unk = None if self.knows_every_text else self.unk
        return {"tokenizer": json.loads(self.tokenizer.to_str()), "pad": self.pad, "unk": unk}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> Self:
        """Of what `save` has written. Raises ValueError for anything else."""
        pad, unk = content.get("pad"), content.get("unk")
        if not isinstance(pad, int) or not isinstance(unk, int | None):
            raise ValueError("no ids of [PAD] and [UNK]")
        try:
            tokenizer = Tokenizer.from_str(json.dumps(content["tokenizer"]))
        except Exception as error:  # the library raises no narrower type
            raise ValueError(f"not a tokenizer ({error})") from None
        return cls(tokenizer, pad, unk)


def _token_of_char(
    chars: Ragged, number: NDArray[np.int64], start: NDArray[np.int64], length: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The token of every character: the last that covers it, else that of the character before, else -1."""
    of_char = np.full(len(chars.values), -1, np.int64)
    length = np.maximum(length, 0)
    # Where an index comes more than once, numpy keeps the last value.
    of_char[np.repeat(start, length) + ranges(length)] = np.repeat(number, length)
    return np.maximum.accumulate(of_char)


def _template(tokenizer: Tokenizer) -> Template:
    """What the tokenizer puts around and between two sentences."""
    encoding = tokenizer.encode("一", "二")
    of = encoding.sequence_ids
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    seen = 0
    for token, sentence in zip(encoding.ids, of, strict=True):
        if sentence is None:
            parts[seen].append(token)
        else:
            seen = sentence + 1
    prefix, middle, suffix = (tuple(part) for part in parts)
    if not (prefix and middle and suffix):
        raise ValueError("it puts no special tokens before, between and behind two sentences")
    return Template(prefix, middle, suffix)
