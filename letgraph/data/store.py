"""The prepared store: what a split looks like once it is cleaned, segmented and looked up in a lexicon.

Under the cache folder lies one folder for each key, which is a digest of everything that decides its contents:

    KEY/sentences.arrow   the distinct cleaned sentences: the columns of `SentenceTable`
    KEY/pairs.arrow       a, b: row numbers into the sentences; label, where there are labels
    KEY/about.json        what the key was made of, what cleaning changed, and what it took to prepare
    KEY.lock              held by the process that prepares KEY in KEY.tmp

KEY comes into being by renaming the finished KEY.tmp, so a folder of that name is whole, whenever a process may have
been killed; a KEY.tmp whose lock nobody holds is waste, and the next preparation removes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any, Self

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from letgraph.data.arrow import read_arrow, write_arrow
from letgraph.data.corpora import PairSplit
from letgraph.data.workers import Effort, featurise_all
from letgraph.errors import DataError, LetgraphError
from letgraph.text.clean import DEFAULT_MAX_CHARACTERS, Blanks, Width, clean, truncate
from letgraph.text.features import SentenceTable
from letgraph.text.lexicon import Lexicon
from letgraph.text.segment import load_segmenter

VERSION = 1
"""To be raised with every change to cleaning, alignment, lattices or the layout of the files."""


@dataclass(frozen=True)
class PreparedPairs:
    """The pairs of a split as numbers.

    ``sentences``: features of the distinct cleaned sentences, read-only views of a mapped file. ``a``, ``b`` (pairs,)
    int32: their rows. ``labels`` (pairs,) int8, None for an unlabelled split. ``key``: digest of all that this was
    made from. ``cleaning``: characters that cleaning changed in the whole split, by kind (see `letgraph.text.clean`).
    ``effort``: what it took when it was prepared. ``folder``: where it lies. ``from_cache``: it lay there already.
    """

    sentences: SentenceTable
    a: NDArray[np.int32]
    b: NDArray[np.int32]
    labels: NDArray[np.int8] | None
    key: str
    cleaning: Mapping[str, int]
    effort: Effort
    folder: Path
    from_cache: bool

    def __len__(self) -> int:
        return len(self.a)

    def select(self, rows: NDArray[np.integer]) -> Self:
        """Only these pairs, in this order; the sentences stay."""
        labels = None if self.labels is None else self.labels[rows]
        return replace(self, a=self.a[rows], b=self.b[rows], labels=labels)

    @classmethod
    def open(cls, folder: Path, from_cache: bool = True) -> Self:
        """Map the store in ``folder``. Raises DataError where it has been damaged."""
        sentences: dict[str, Any] = read_arrow(folder / "sentences.arrow")
        pairs: dict[str, Any] = read_arrow(folder / "pairs.arrow")
        try:
            about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
            return cls(
                sentences=SentenceTable(**sentences),
                a=pairs["a"],
                b=pairs["b"],
                labels=pairs.get("label"),
                key=about["key"],
                cleaning=about["cleaning"],
                effort=Effort(**about["effort"]),
                folder=folder,
                from_cache=from_cache,
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(folder, None, f"a damaged prepared store ({error})", "delete this folder") from error


def prepare(
    split: PairSplit,
    segmenters: Sequence[str],
    lexicon: Lexicon | None,
    *,
    cache_dir: Path | None = None,
    workers: int | None = None,
    progress: bool = True,
    blanks: Blanks = "collapse",
    width: Width = "narrow",
    max_characters: int = DEFAULT_MAX_CHARACTERS,
) -> PreparedPairs:
    """The split's pairs, from the cache where they lie there, else cleaned, segmented and put there.

    ``segmenters`` are names (`letgraph.text.segment.resolve`); without ``lexicon`` no word has senses. ``cache_dir``
    is `default_cache_dir` unless given. Sentences are cut off after ``max_characters`` (see
    `letgraph.text.clean.truncate`). For ``workers`` and ``progress`` see `letgraph.data.workers.featurise_all`.
    Processes that want the same at the same time wait for the first of them.

    Raises `LetgraphError` when a segmenter is missing, a sentence is empty or the cache cannot be written.
    """
    root = default_cache_dir() if cache_dir is None else cache_dir
    ingredients = _ingredients(split, segmenters, lexicon, blanks, width, max_characters)
    key = hashlib.sha256(json.dumps(ingredients, sort_keys=True).encode()).hexdigest()
    folder = root / key
    if folder.is_dir():
        return PreparedPairs.open(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
        _remove_waste(root)
        with _exclusive(root, key), _finished_as(folder) as unfinished:
            # Another process may have finished it while this one waited for the lock.
            if unfinished is not None:
                start = perf_counter()
                sentences, rows, cleaning = _distinct(split, blanks, width, max_characters)
                table, effort = featurise_all(sentences, segmenters, lexicon, workers=workers, progress=progress)
                _write(unfinished, table, rows, split.labels)
                effort = replace(effort, seconds=perf_counter() - start)
                about = {"key": key, "made from": ingredients, "cleaning": cleaning, "effort": asdict(effort)}
                (unfinished / "about.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
    except OSError as error:
        raise LetgraphError(
            f"cannot keep prepared data in {root}: {error}; name another folder by --cache-dir or $LETGRAPH_CACHE"
        ) from error
    return PreparedPairs.open(folder, from_cache=unfinished is None)


def default_cache_dir() -> Path:
    """``$LETGRAPH_CACHE``, else ``~/.cache/letgraph/prepared``."""
    return Path(os.environ.get("LETGRAPH_CACHE") or "~/.cache/letgraph/prepared").expanduser()


def _ingredients(
    split: PairSplit,
    segmenters: Sequence[str],
    lexicon: Lexicon | None,
    blanks: Blanks,
    width: Width,
    max_characters: int,
) -> dict[str, Any]:
    return {
        "version": VERSION,
        "unicode": unicodedata.unidata_version,  # cleaning asks for categories and lower case
        "content": split.content_hash,
        "segmenters": {name: load_segmenter(name).version for name in sorted(segmenters)},
        "lexicon": None if lexicon is None else lexicon.hash,
        "blanks": blanks,
        "width": width,
        "max_characters": max_characters,
    }


@contextmanager
def _exclusive(root: Path, key: str) -> Iterator[None]:
    """Hold the key's lock; the system frees it when the holder dies."""
    lock = FileLock(root / f"{key}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("another process is preparing the same data; waiting for it", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _finished_as(folder: Path) -> Iterator[Path | None]:
    """A new folder to fill, which becomes ``folder`` in one step; None where ``folder`` is there already."""
    if folder.is_dir():
        yield None
        return
    unfinished = folder.with_suffix(".tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    try:
        yield unfinished
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _remove_waste(root: Path) -> None:
    """Remove what killed processes have left: unfinished folders under locks that nobody holds."""
    for unfinished in root.glob("*.tmp"):
        try:
            with FileLock(unfinished.with_suffix(".lock"), timeout=0):
                shutil.rmtree(unfinished, ignore_errors=True)
        except Timeout:
            continue


def _write(folder: Path, table: SentenceTable, rows: NDArray[np.int32], labels: Sequence[int] | None) -> None:
    write_arrow(folder / "sentences.arrow", dict(table.columns()))
    pairs = {"a": rows[0::2], "b": rows[1::2]}
    if labels is not None:
        pairs["label"] = np.array(labels, np.int8)
    write_arrow(folder / "pairs.arrow", pairs)


def _distinct(
    split: PairSplit, blanks: Blanks, width: Width, max_characters: int
) -> tuple[list[str], NDArray[np.int32], Counter[str]]:
    """The distinct cleaned sentences, the row of each sentence ``a_0, b_0, a_1, b_1, …``, and what cleaning changed."""
    row_of: dict[str, int] = {}
    known: dict[str, tuple[int, Mapping[str, int]]] = {}
    rows: list[int] = []
    cleaning: Counter[str] = Counter()
    for raw in chain.from_iterable(zip(split.a, split.b, strict=True)):
        if raw not in known:
            cleaned = truncate(clean(raw, blanks=blanks, width=width), max_characters)
            if not cleaned.text:
                line = int(split.lines[len(rows) // 2])
                raise DataError(split.path, line, "a sentence is empty after cleaning", "give it, or delete the row")
            known[raw] = row_of.setdefault(cleaned.text, len(row_of)), cleaned.changes
        row, changes = known[raw]
        rows.append(row)
        if changes:
            cleaning.update(changes)
    return list(row_of), np.array(rows, np.int32), cleaning
