"""What a command line names, opened and announced: lexicons, sememe vectors and prepared splits."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from letgraph.data.corpora import Corpus, PairSplit
from letgraph.data.cut import cut_characters
from letgraph.data.store import PreparedPairs, prepare
from letgraph.errors import LetgraphError
from letgraph.text.clean import DEFAULT_MAX_CHARACTERS, Blanks, Width, truncation_warning
from letgraph.text.features import SentenceTable
from letgraph.text.lexicon import Lexicon, load_lexicon
from letgraph.text.sememes import SememeVectors, read_sememe_vectors
from letgraph.text.vocabulary import Vocabulary

SEMEME_VECTORS = "sememe_vec.txt"


@dataclass(frozen=True)
class Knowledge:
    """A sense lexicon and, where there are some, vectors of its sememes."""

    lexicon: Lexicon
    vectors: SememeVectors | None


def open_knowledge(
    dataset: str,
    data_dir: Path | None,
    hownet: str | None,
    sememe_vectors: Path | None,
    width: Width = "narrow",
) -> Knowledge:
    """The lexicon that ``hownet`` names, or else the one that goes with ``dataset``, printed as it is opened.

    Without ``hownet``, corpus ``demo`` takes the packaged excerpt; every other corpus the only .tsv file in
    ``DATA_DIR/hownet``, with the vectors ``DATA_DIR/hownet/sememe_vec.txt`` beside it if they are there. Raises
    `LetgraphError` where no lexicon is found.
    """
    if hownet is None:
        hownet, beside = _default_lexicon(dataset, data_dir)
        sememe_vectors = sememe_vectors or beside
    vectors = read_sememe_vectors(sememe_vectors) if sememe_vectors else None
    lexicon = load_lexicon(hownet, vectors.names if vectors else None, width)
    print(
        f"lexicon {lexicon.source}: {len(lexicon.words):,} words, {lexicon.num_senses:,} senses, "
        f"{lexicon.num_sememes:,} sememes" + (f"; sememe vectors {sememe_vectors}" if vectors else "")
    )
    for note in lexicon.notes:
        print(f"  {note}")
    return Knowledge(lexicon, vectors)


def named_lexicon(hownet: str | None, sememe_vectors: Path | None, width: Width = "narrow") -> Lexicon | None:
    """The lexicon that ``hownet`` names, to be compared with the one a model was trained with. Prints nothing."""
    if hownet is not None:
        names = read_sememe_vectors(sememe_vectors).names if sememe_vectors else None
        return load_lexicon(hownet, names, width)
    if sememe_vectors is not None:
        raise LetgraphError("--sememe-vectors names the sememes of a lexicon; give --hownet PATH with it")
    return None


def _default_lexicon(dataset: str, data_dir: Path | None) -> tuple[str, Path | None]:
    if dataset == "demo":
        return "demo", None
    folder = Path(data_dir or os.environ.get("LETGRAPH_DATA") or "data") / "hownet"
    found = sorted(folder.glob("*.tsv"))
    if len(found) != 1:
        state = "there is none" if not found else f"there are {', '.join(path.name for path in found)}"
        raise LetgraphError(
            "which lexicon? Give --hownet PATH (a word-sense-sememe .tsv, the authors' .json, an OpenHowNet folder, or "
            "demo for the packaged excerpt), or --no-senses; without it the only .tsv in "
            f"{folder} is taken, and {state}"
        )
    beside = folder / SEMEME_VECTORS
    return str(found[0]), beside if beside.is_file() else None


def open_split(
    corpus: Corpus,
    name: str,
    segmenters: tuple[str, ...],
    lexicon: Lexicon | None,
    *,
    limit: int | None = None,
    skip_bad_rows: bool = False,
    labelled: bool | None = None,
    cache_dir: Path | None = None,
    workers: int | None = None,
    **text: Any,
) -> PreparedPairs:
    """Load a split and prepare it: `load_split`, then `prepare_split`, to which ``text`` is passed on."""
    split = load_split(corpus, name, limit=limit, skip_bad_rows=skip_bad_rows, labelled=labelled)
    return prepare_split(split, segmenters, lexicon, cache_dir=cache_dir, workers=workers, **text)


def load_split(
    corpus: Corpus, name: str, *, limit: int | None = None, skip_bad_rows: bool = False, labelled: bool | None = None
) -> PairSplit:
    """`Corpus.load`, printing where the split lies, its format and its warnings."""
    split = corpus.load(name, limit=limit, skip_bad_rows=skip_bad_rows, labelled=labelled)
    print(f"{split.corpus} {split.split}: {len(split):,} pairs of {split.path} ({split.format})", flush=True)
    for warning in split.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return split


def prepare_split(
    split: PairSplit,
    segmenters: tuple[str, ...],
    lexicon: Lexicon | None,
    *,
    cache_dir: Path | None = None,
    workers: int | None = None,
    blanks: Blanks = "collapse",
    width: Width = "narrow",
    max_characters: int = DEFAULT_MAX_CHARACTERS,
    max_tokens: int | None = None,
    vocabulary: Vocabulary | None = None,
) -> PreparedPairs:
    """`prepare`, printing what cleaning changed, what the lattices look like, what it took, and what will be cut off
    where a model takes ``max_tokens`` of its ``vocabulary`` a pair; without one, a character is a token."""
    start = perf_counter()
    prepared = prepare(
        split,
        segmenters,
        lexicon,
        cache_dir=cache_dir,
        workers=workers,
        blanks=blanks,
        width=width,
        max_characters=max_characters,
    )
    _print_prepared(prepared, segmenters, lexicon, perf_counter() - start)
    cut = cut_characters(prepared.sentences.chars, prepared.a, prepared.b, max_tokens, vocabulary)
    if warning := truncation_warning({**prepared.cleaning, "pair-truncated": cut}, max_characters):
        print(f"warning: {split.corpus} {split.split}: {warning}", file=sys.stderr)
    return prepared


def _print_prepared(
    prepared: PreparedPairs, segmenters: tuple[str, ...], lexicon: Lexicon | None, seconds: float
) -> None:
    print("  characters changed by cleaning:", _counts(prepared.cleaning))
    print(f"  {_statistics(prepared.sentences, lexicon)} ({'+'.join(segmenters)})")
    effort = prepared.effort
    if prepared.from_cache:
        print(f"  from the cache in {seconds:.2f} s; when it was made:")
    print(
        f"  prepared in {effort.seconds:.1f} s by {effort.workers} process(es), "
        f"{effort.segmenting_share:.0%} of it inside the segmenters; peak memory {effort.peak_bytes / 2**30:.2f} GiB"
    )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items())) or "none"


def _statistics(table: SentenceTable, lexicon: Lexicon | None) -> str:
    # Each sentence has two words that stand for its begin and its end.
    words = len(table.word_start.values) - 2 * len(table)
    text = (
        f"{len(table):,} distinct sentences, {words / len(table):.1f} words and "
        f"{len(table.reach_from.values) / len(table):.1f} reach edges a sentence"
    )
    if lexicon is None:
        return text
    found = int((table.word_senses.values > 0).sum())
    return f"{text}, {len(table.senses.values) / words:.2f} senses a word, {found / words:.2%} of words in the lexicon"
