"""The folder of a run: whose it is, and whether a run may go on in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from letgraph.errors import LetgraphError
from letgraph.processes import Processes
from letgraph.settings import Settings, defaults

REPEATABLE = (
    *("output_dir", "data_dir", "cache_dir"),
    *("resume", "workers", "logging_steps", "save_steps", "eval_batch_size"),
)
"""Settings that may differ between a run and its resumption: where files lie, and what changes no result."""

FILES = ("hownet", "sememe_vectors", "embeddings", "encoder")
"""Settings that name a file or folder, or something that is known by name, as the corpus is."""


def claim(settings: Settings, processes: Processes) -> Path:
    """The output folder. Raises `LetgraphError` where it holds another run, or one that nobody asked to resume."""
    training = settings.training
    parts = processes.count * training.accumulate
    if training.batch_size is not None and training.batch_size % parts:
        raise LetgraphError(
            f"--batch-size {training.batch_size} cannot be divided among {processes.count} processes"
            + (f" and {training.accumulate} parts each" if training.accumulate > 1 else "")
            + f"; choose a multiple of {parts}"
        )
    folder = Path(training.output_dir or f"runs/{settings.data.dataset}")
    before = folder / "settings.json"
    if before.is_file():
        if training.resume == "never":
            raise LetgraphError(
                f"{folder} holds a run already; go on with it by --resume auto, or name another --output-dir"
            )
        # A setting that an earlier version had not yet is what it is by default.
        old = defaults() | json.loads(before.read_text(encoding="utf-8"))
        new = settings.to_dict()
        changed = [name for name in new if name not in REPEATABLE and not _same(name, old.get(name), new[name])]
        if changed:
            name = changed[0]
            raise LetgraphError(
                f"{folder} was begun with {name} = {old.get(name)!r}, not {new[name]!r}; "
                "resume with the same settings, or name another --output-dir"
            )
    elif folder.is_dir() and any(folder.iterdir()):
        raise LetgraphError(f"{folder} is not empty and holds no run of ours; name another --output-dir")
    return folder


def _same(name: str, old: Any, new: Any) -> bool:
    """Whether a setting is the same, from wherever it names a file."""
    if name in ("dataset", *FILES) and isinstance(old, str) and isinstance(new, str):
        return os.path.realpath(old) == os.path.realpath(new)
    return bool(old == new)
