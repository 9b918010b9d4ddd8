"""Corpora of the Hugging Face hub, through the package ``datasets``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from letgraph.data.corpora import SPLIT_NAMES, Corpus, PairSplit, gather
from letgraph.data.formats import OnBad, ReadReport, checked_rows
from letgraph.data.layout import KEYED_KINDS, Columns, Format, columns_by_name
from letgraph.data.sniffer import unknown_names
from letgraph.errors import DataError, LetgraphError, MissingDependency


@dataclass(frozen=True)
class HubCorpus(Corpus):
    """A corpus whose splits are tables of ``datasets``. Its paths only name them; its lines are row numbers from 1."""

    tables: Mapping[str, Any] = field(default_factory=dict)

    def load(
        self, split: str, limit: int | None = None, skip_bad_rows: bool = False, labelled: bool | None = None
    ) -> PairSplit:
        path = self.path_of(split)
        table = self.tables[split]
        format = self.format or _sniff(table.column_names, path)
        missing = [column for column in format.columns if column is not None and column not in table.column_names]
        if missing:
            raise unknown_names(str(path), None, "hf", table.column_names)
        a, b, label = format.columns
        if label is not None and labelled is None and set(table.unique(label)) <= {-1, None}:
            # The hub's mark for labels that are kept back.
            label = None
            format = Format("hf", False, Columns(a, b, None), note=f"{format.columns.label!r} holds no labels")
        if labelled and label is None:
            raise DataError(path, None, f"labels are needed, but there are none: {format}", "take another split")
        rows = list(table.select_columns([column for column in (a, b, label) if column is not None]))
        table_hash = hashlib.sha256(json.dumps(rows, default=str).encode()).hexdigest()
        report = ReadReport()
        on_bad: OnBad = "skip" if skip_bad_rows else "raise"
        checked = checked_rows(enumerate(rows, 1), format, str(path), report, on_bad, labelled is not False)
        return gather(self, split, checked, format, report, limit, table_hash)


def open_hub(name: str, format: Format | None) -> HubCorpus:
    """Load ``hf:NAME[:CONFIG]``, from the network at the first time and from the cache of ``datasets`` later.

    Raises `LetgraphError` where that fails, with the reason that ``datasets`` gives.
    """
    if format is not None and format.kind not in KEYED_KINDS:
        raise LetgraphError(f"format {format.spec}: {name} needs names of columns: hf:a=NAME,b=NAME,label=NAME")
    try:
        import datasets
    except ImportError:
        raise MissingDependency(f"{name} needs the package datasets; run `pip install datasets`") from None
    repository, _, config = name.removeprefix("hf:").partition(":")
    if not repository:
        raise LetgraphError(f"corpus {name!r}: no name after hf:; give hf:NAME or hf:NAME:CONFIG")
    try:
        loaded = datasets.load_dataset(repository, config or None)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise LetgraphError(
            f"corpus {name}: datasets can't load it ({reason}); check the name and the network, or bring the files "
            "and give their folder instead"
        ) from error
    ours = {theirs: split for split, names in SPLIT_NAMES.items() for theirs in names}
    tables = {ours.get(split, split): table for split, table in loaded.items()}
    return HubCorpus(name, {split: Path(name, split) for split in tables}, format, tables=tables)


def _sniff(names: list[str], path: Path) -> Format:
    columns = columns_by_name(names)
    if columns is None:
        raise unknown_names(str(path), None, "hf", names)
    return Format("hf", False, columns)
