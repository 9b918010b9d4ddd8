"""Scores of sentence pairs in Python: ``Matcher.from_pretrained(OUT).predict([("花呗怎么还款", "如何还花呗")])``."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray

from letgraph.checkpoint import Checkpoint
from letgraph.data.cut import cut_characters
from letgraph.errors import LetgraphError
from letgraph.scoring import SentencePairs, score_pairs
from letgraph.text.clean import truncation_warning
from letgraph.text.features import featurise
from letgraph.text.segment import load_segmenter


class TruncationWarning(UserWarning):
    """Sentences were longer than the model takes, and were cut off."""


class Matcher:
    """A trained model that scores pairs of raw sentences.

    ``checkpoint``: the model and what it needs; ``cleaning``: characters that cleaning changed in all calls so far, by
    kind (see `letgraph.text.clean`; ``pair-truncated``: cut off because a pair was too long).
    """

    def __init__(self, checkpoint: Checkpoint, device: torch.device | str | None = None) -> None:
        """``device``: by default a CUDA device where there is one, else the CPU.

        Raises `LetgraphError` where the device or a segmenter of the model can't be used.
        """
        self.checkpoint = checkpoint
        self.cleaning: Counter[str] = Counter()
        preparation = checkpoint.preparation
        preparation.check_versions()
        self._segmenters = [load_segmenter(name) for name in preparation.segmenters]
        self._collator = checkpoint.collator
        self._model = checkpoint.model
        self._model.eval()
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            self._model.to(torch.device(device))  # type: ignore[arg-type]  # transformers wraps away the signature
        except (RuntimeError, AssertionError) as error:
            raise LetgraphError(f"device {device} cannot be used ({str(error).splitlines()[0]})") from error

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], device: torch.device | str | None = None) -> Self:
        """The model in ``folder``, the output folder of a training run. Raises `LetgraphError`."""
        return cls(Checkpoint.load(folder), device)

    def predict(self, pairs: Iterable[tuple[str, str]], batch_size: int = 64) -> NDArray[np.float64]:
        """Probabilities (n,) that the two sentences of a pair mean the same, in the order of the pairs.

        Sentences are cleaned as in training; what a sentence has beyond the model's limit is cut off, with a
        `TruncationWarning`. All pairs of a call are held in memory and sorted by length, so calls with thousands of
        them are the fastest.

        Raises `LetgraphError`, with the pair's index from 0, for anything but two strings, and for a sentence of which
        cleaning leaves nothing.
        """
        if batch_size < 1:
            raise LetgraphError(f"batch size {batch_size}: it has to be 1 or more")
        preparation = self.checkpoint.preparation
        row_of: dict[str, int] = {}
        rows: list[int] = []
        changes: Counter[str] = Counter()
        for index, pair in enumerate(pairs):
            a, b = _two_strings(pair, index)
            for name, raw in (("a", a), ("b", b)):
                cleaned = preparation.clean(raw)
                if not cleaned.text:
                    raise LetgraphError(f"pair {index}: sentence {name} is empty after cleaning; give it, or leave out")
                changes.update(cleaned.changes)
                rows.append(row_of.setdefault(cleaned.text, len(row_of)))
        index_pairs = np.array(rows, np.int64).reshape(-1, 2)
        table = featurise(list(row_of), self._segmenters, self.checkpoint.lexicon)
        first, second = index_pairs.T
        if cut := cut_characters(table.chars, first, second, preparation.max_tokens, self.checkpoint.vocabulary):
            changes["pair-truncated"] = cut
        self.cleaning += changes
        if warning := truncation_warning(changes, preparation.max_characters):
            warnings.warn(warning, TruncationWarning, stacklevel=2)
        return score_pairs(self._model, self._collator, SentencePairs(table, first, second), batch_size)


def _two_strings(pair: object, index: int) -> tuple[str, str]:
    if isinstance(pair, Iterable) and not isinstance(pair, str):
        sentences = list(pair)
        if len(sentences) == 2 and all(isinstance(sentence, str) for sentence in sentences):
            return sentences[0], sentences[1]
    raise LetgraphError(f"pair {index}: not two strings; give a list of pairs of sentences")
