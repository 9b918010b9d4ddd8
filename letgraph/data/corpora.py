"""Corpora by name or by path: which splits there are, where they lie, and loading one."""

from __future__ import annotations

import difflib
import hashlib
import os
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from letgraph.data.formats import Format, OnBad, ReadReport, Row, read_pairs
from letgraph.errors import LetgraphError


@dataclass(frozen=True)
class Known:
    """What is known of a corpus with a name: the official number of rows of its splits, and how to come by it."""

    rows: Mapping[str, int]
    source: str


KNOWN: dict[str, Known] = {
    "demo": Known({}, "it is part of the package letgraph: install that again"),
    "bq": Known(
        {"train": 100_000, "dev": 10_000, "test": 10_000},
        "its owners give it out for research at http://icrc.hitsz.edu.cn/Article/show/175.html",
    ),
    "lcqmc": Known(
        {"train": 238_766, "dev": 8_802, "test": 12_500},
        "its owners give it out for research at http://icrc.hitsz.edu.cn/Article/show/171.html",
    ),
    "afqmc": Known(
        {"train": 34_334, "dev": 4_316, "test": 3_861},
        "its owners give it out at https://github.com/CLUEbenchmark/CLUE",
    ),
}
"""The registry: a further corpus is one more entry."""

SPLIT_NAMES = {"train": ("train",), "dev": ("dev", "valid", "validation", "val"), "test": ("test",)}
"""What the file of a split may be called."""

SUFFIXES = (".tsv", ".csv", ".jsonl", ".json", ".txt")


@dataclass
class PairSplit:
    """One split, loaded: raw sentences (not cleaned), their labels, and where they come from.

    labels: None where the file has none.
    lines: (n,) line number of every row in the file, from 1.
    skipped: number of rows skipped, by kind.
    content_hash: of the file, the format, and how many of its rows were read; equal hashes mean equal rows.
    warnings: what the user should see, one sentence each.
    """

    corpus: str
    split: str
    path: Path
    a: list[str]
    b: list[str]
    labels: list[int] | None
    lines: NDArray[np.int64]
    format: Format
    skipped: Counter[str]
    content_hash: str
    warnings: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.a)


@dataclass(frozen=True)
class Corpus:
    """A corpus whose splits are files. ``format`` is sniffed, file by file, where it is None."""

    name: str
    splits: dict[str, Path]
    format: Format | None = None
    known: Known | None = None

    def load(
        self, split: str, limit: int | None = None, skip_bad_rows: bool = False, labelled: bool | None = None
    ) -> PairSplit:
        """Read and check a split, or its first ``limit`` good rows.

        labelled: True demands labels, False ignores them, None takes them where there are any.
        Raises `LetgraphError`: no such split, or what `read_pairs` finds.
        """
        path = self.path_of(split)
        on_bad: OnBad = "skip" if skip_bad_rows else "raise"
        with read_pairs(path, format=self.format, labelled=labelled, on_bad=on_bad) as reader:
            with path.open("rb") as stream:
                file_hash = hashlib.file_digest(stream, "sha256").hexdigest()
            return gather(self, split, reader, reader.format, reader.report, limit, file_hash)

    def path_of(self, split: str) -> Path:
        """Where a split lies. Raises `LetgraphError` with the splits that there are, and where to get the other."""
        if split in self.splits:
            return self.splits[split]
        there = ", ".join(self.splits)
        if self.known is None:
            raise LetgraphError(f"corpus {self.name} has no split {split!r}; it has {there}")
        folder = next(iter(self.splits.values())).parent
        raise LetgraphError(
            f"corpus {self.name} has no split {split!r} in {folder}; there is {there}; {self.known.source}; "
            f"put {split}.tsv (a TAB b TAB label) beside the others"
        )


def gather(
    corpus: Corpus,
    split: str,
    rows: Iterator[Row],
    format: Format,
    report: ReadReport,
    limit: int | None,
    source_hash: str,
) -> PairSplit:
    """Read ``rows``, or the first ``limit``, into one split.

    source_hash: of the file or table that the rows are read from.
    Raises `LetgraphError` for a limit below 1, and whatever reading raises.
    """
    if limit is not None and limit < 1:
        raise LetgraphError(f"limit {limit}: it has to be 1 or more; leave it out for all rows")
    a: list[str] = []
    b: list[str] = []
    labels: list[int] = []
    lines = array("q")
    for line, sentence_a, sentence_b, label in islice(rows, limit):
        lines.append(line)
        a.append(sentence_a)
        b.append(sentence_b)
        if label is not None:
            labels.append(label)
    path = corpus.splits[split]
    warnings = []
    official = corpus.known.rows.get(split) if corpus.known else None
    found = report.good + report.skipped.total()
    if official is not None and limit is None and found != official:
        warnings.append(f"{corpus.name} {split} has {found:,} rows here, the official split {official:,}")
    if report.skipped:
        warnings.append(f"{path}: {report}")
    # With the source and the format, the number of good rows read tells which ones they are, whatever the options were.
    identity = f"{source_hash} {format.spec} rows={len(a)} labels={bool(labels)}"
    content_hash = hashlib.sha256(identity.encode()).hexdigest()
    skipped = report.skipped
    return PairSplit(
        corpus.name, split, path, a, b, labels or None, np.array(lines), format, skipped, content_hash, warnings
    )


def open_corpus(
    name_or_path: str | os.PathLike[str],
    data_dir: str | os.PathLike[str] | None = None,
    format: Format | str | None = None,
) -> Corpus:
    """Find a corpus; nothing is read yet.

    name_or_path: a name in `KNOWN`, whose files are ``DATA_DIR/NAME/{train,dev,test}.{tsv,csv,jsonl,json,txt}``;
    ``hf:NAME[:CONFIG]`` for a data set of the Hugging Face hub; else a folder with such files, or one file, which is
    the split that its stem names, or else "train". A folder that is called like a known corpus is ``./bq``.
    data_dir: default ``$LETGRAPH_DATA``, then ``data/``.
    format: overrides the sniffed one, as `Format` or in the notation of `Format.parse`.

    Raises `LetgraphError` where there is nothing to be found, with the layout that is expected.
    """
    name = os.fspath(name_or_path)
    parsed = Format.parse(format) if isinstance(format, str) else format
    if name.startswith("hf:"):
        from letgraph.data.hub import open_hub

        return open_hub(name, parsed)
    if name in KNOWN:
        root = Path(data_dir or os.environ.get("LETGRAPH_DATA") or "data")
        folder = Path(str(files("letgraph").joinpath("demo"))) if name == "demo" else root / name
        splits = find_splits(folder) if folder.is_dir() else {}
        if not splits:
            layout = (
                f"; put train.tsv, dev.tsv and test.tsv (UTF-8, a TAB b TAB label) there, or say where {name}/ lies: "
                "--data-dir, or $LETGRAPH_DATA"
            )
            mend = KNOWN[name].source + ("" if name == "demo" else layout)
            raise LetgraphError(f"corpus {name}: no files in {folder}; {mend}")
        return Corpus(name, splits, parsed, KNOWN[name])
    path = Path(name)
    if path.is_dir():
        splits = find_splits(path)
        if not splits:
            raise LetgraphError(
                f"{path}: no train, dev or test file in this folder; expected are train.tsv, dev.tsv, …"
            )
        return Corpus(path.resolve().name, splits, parsed)
    if path.is_file():
        split = next((split for split, names in SPLIT_NAMES.items() if path.stem.lower() in names), "train")
        return Corpus(path.stem, {split: path}, parsed)
    near = difflib.get_close_matches(name.lower(), KNOWN, 1)
    hint = f"did you mean {near[0]}?" if near else f"give {', '.join(KNOWN)}, a file, a folder, or hf:NAME"
    raise LetgraphError(f"corpus {name!r}: neither a known name nor a file or folder; {hint}")


def find_splits(folder: Path) -> dict[str, Path]:
    """The files of the splits in a folder. Raises `LetgraphError` where a split has two."""
    splits: dict[str, Path] = {}
    for split, stems in SPLIT_NAMES.items():
        found = [path for stem in stems for suffix in SUFFIXES if (path := folder / f"{stem}{suffix}").is_file()]
        if len(found) > 1:
            raise LetgraphError(f"{folder}: {found[0].name} and {found[1].name} are both {split}; remove one of them")
        if found:
            splits[split] = found[0]
    return splits
