"""Which rows of a model's table of characters (and words) start from pre-trained vectors instead of random ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from letgraph.errors import LetgraphError
from letgraph.models import LETConfig
from letgraph.nn.embedding import WordEmbedding
from letgraph.text.features import SentenceTable
from letgraph.text.vocabulary import CharVocabulary, Vocabulary
from letgraph.text.word_vectors import WordVectors, read_word_vectors


def start_from_vectors(model: PreTrainedModel, vocabulary: Vocabulary, train: SentenceTable, path: Path) -> None:
    """Overwrite the rows of ``model.get_input_embeddings()`` that the word2vec file has, and print how many.

    Characters are those of the vocabulary; where the model has word vectors too, words are those of the training
    split's lattices. Of words that share a row, the most frequent gives it its vector. All are trained on.

    Raises `LetgraphError` where the file is none, and where its vectors have another size than the model's.
    """
    if not isinstance(vocabulary, CharVocabulary):
        raise LetgraphError(
            "--embeddings is for characters that are trained from scratch; a pre-trained encoder has its own"
        )
    words = getattr(model, "words", None)
    counts = _count_words(train, vocabulary) if isinstance(words, WordEmbedding) else Counter[str]()
    file = read_word_vectors(path, {*vocabulary.characters, *counts})
    embeddings: Any = model.get_input_embeddings()
    table: torch.Tensor = embeddings.weight
    if file.dimension != table.shape[1]:
        name = "encoder_size" if isinstance(model.config, LETConfig) else "embedding_size"
        raise LetgraphError(
            f"--embeddings {path}: its vectors have {file.dimension} values, the model's characters "
            f"{table.shape[1]}; train with --set {name}={file.dimension}, or give another file"
        )
    characters = [character for character in vocabulary.characters if character in file.vectors]
    _overwrite(table, _ids(vocabulary, "".join(characters)), characters, file)
    print(f"embeddings {path}: {len(characters):,} of {len(vocabulary.characters):,} characters", end="")
    if isinstance(words, WordEmbedding):
        known = [word for word, _ in reversed(counts.most_common()) if word in file.vectors]
        word = torch.from_numpy(np.repeat(np.arange(len(known)), np.array([len(word) for word in known], np.int64)))
        rows = words.rows(torch.from_numpy(_ids(vocabulary, "".join(known))), word, len(known)).numpy()
        last = {row: place for place, row in enumerate(rows.tolist())}  # the most frequent comes last
        _overwrite(table, np.array(list(last), np.int64), [known[place] for place in last.values()], file)
        print(f", {len(known):,} of {len(counts):,} words of the training split in {len(last):,} rows", end="")
    print(" start from its vectors")


@torch.no_grad()
def _overwrite(table: torch.Tensor, rows: np.ndarray, words: list[str], file: WordVectors) -> None:
    if words:
        table[torch.from_numpy(rows)] = torch.from_numpy(np.stack([file.vectors[word] for word in words]))


def _ids(vocabulary: CharVocabulary, text: str) -> np.ndarray:
    return vocabulary.encode(np.fromiter(map(ord, text), np.uint32, len(text)))


def _count_words(train: SentenceTable, vocabulary: CharVocabulary) -> Counter[str]:
    """How often each word of several characters, all of them known, is in a lattice."""
    counts: Counter[str] = Counter()
    for row in range(len(train)):
        text = train.text(row)
        spans = zip(train.word_start[row].tolist(), train.word_end[row].tolist(), strict=True)
        counts.update(text[start:end] for start, end in spans if end - start > 1)
    known = set(vocabulary.characters)
    return Counter({word: count for word, count in counts.items() if known.issuperset(word)})
