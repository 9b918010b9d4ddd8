"""The runs of a table in the order that gives a readable one soonest, what they will take, and carrying them out."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from letgraph.arguments import parse_settings
from letgraph.data.corpora import open_corpus
from letgraph.errors import LetgraphError
from letgraph.reproduction.results import (
    Result,
    as_text,
    corpus_path,
    differences,
    find_results,
    identity,
    portable,
    recipe_of,
    run_name,
)
from letgraph.reproduction.rows import ABLATIONS, Row, TableRows
from letgraph.reproduction.tables import Family, assign, family_of
from letgraph.run import train
from letgraph.settings import OF_LEXICON, ModelSettings, Settings

OURS = {
    **dict.fromkeys(("--seed", "--output-dir", "--output_dir"), "give --seeds and --output-dir"),
    "--resume": "runs are resumed by themselves",
    "--config": "rows on pre-trained weights have recipes of their own; give the file's settings as options",
}
"""Options of letgraph.train that a table does not take, and why."""


@dataclass(frozen=True)
class Request:
    """``options``: further arguments of letgraph.train, for all runs. ``encoder_dir``: where the folders of pre-trained
    weights lie."""

    table: TableRows
    datasets: Sequence[str]
    rows: Sequence[Row]
    seeds: Sequence[int]
    folder: Path
    encoder_dir: Path | None = None
    options: Sequence[str] = ()

    def lacks(self, row: Row) -> str | None:
        """Why a row cannot be run here."""
        if row.encoder is None or (self.encoder_dir and (self.encoder_dir / row.encoder).is_dir()):
            return None
        there = f"; there is none in {self.encoder_dir}" if self.encoder_dir else ""
        return f"not run: needs --encoder-dir with {row.encoder}{there}"


@dataclass(frozen=True)
class Run:
    """A run that a table asks for; ``result``, when it is finished already."""

    row: Row
    settings: Settings
    result: Result | None

    @property
    def as_kept(self) -> dict[str, Any]:
        return portable(self.settings.to_dict())

    @property
    def name(self) -> str:
        return run_name(self.as_kept)

    @property
    def family(self) -> Family:
        as_kept = self.as_kept
        special = {name: value for name, value in differences(as_kept).items() if name not in self.row.settings}
        return family_of(str(as_kept["dataset"]), special)

    @property
    def folder(self) -> Path:
        assert self.settings.training.output_dir is not None
        return Path(self.settings.training.output_dir)

    def as_result(self) -> Result:
        """What will be found in its folder, without metrics."""
        return Result(self.folder, self.as_kept, {}, {}, corpus_path(self.settings.to_dict()))


@dataclass(frozen=True)
class Estimate:
    """``seconds`` of training at ``pairs_per_second``, the mean of ``source``; without any finished run None."""

    seconds: float | None
    pairs_per_second: float | None = None
    source: str | None = None


def plan(request: Request) -> list[Run]:
    """All runs of the table that can be run here: first all rows with the first seed, then with the second, ….

    Raises `LetgraphError` for options that training refuses, and for those that the table itself sets.
    """
    for option in request.options:
        if why := OURS.get(option.partition("=")[0]):
            raise LetgraphError(f"{option}: {why}")
    finished = find_results(request.folder)
    rows = [row for row in request.rows if request.lacks(row) is None]
    if not rows:
        raise LetgraphError("; ".join(f"{row.title}: {request.lacks(row)}" for row in request.rows))
    runs = [
        _run(request, dataset, row, seed, finished)
        for seed in request.seeds
        for dataset in request.datasets
        for row in rows
    ]
    if not runs:
        raise LetgraphError("nothing to run: give --dataset and --seeds")
    planned = (run.as_result() for run in runs if run.result is None)
    assign(request.table, [*finished, *planned], {run.family for run in runs})  # before hours are spent
    return runs


def _run(request: Request, dataset: str, row: Row, seed: int, finished: Sequence[Result]) -> Run:
    arguments = [
        "--dataset",
        dataset,
        *_arguments(row, request.encoder_dir),
        # Last, so that one which contradicts the row is seen below and not overridden.
        *(request.options if _reads_lexicon(row) else _without(OF_LEXICON, request.options)),
        "--seed",
        str(seed),
        "--resume",
        "auto",
    ]
    settings = parse_settings(arguments)
    as_kept = portable(settings.to_dict())
    if as_kept["encoder"] and (recipe := recipe_of(dataset, as_kept["model"], as_kept["encoder"])):
        settings = parse_settings([*recipe, *arguments])
        as_kept = portable(settings.to_dict())
    special = {"model": as_kept["model"]} | differences(as_kept)
    if (needed := request.table.needs) and needed not in special:
        raise LetgraphError(f"{request.table.name} is a table of one {needed}: give --{needed}")
    for name in (*request.table.varies, *ABLATIONS):
        if special.get(name) != row.settings.get(name):
            flag = name.replace("_", "-")
            raise LetgraphError(
                f"{flag} {as_text(special.get(name))} contradicts row {row.title!r} of {request.table.name}"
            )
    wanted, corpus = identity(as_kept), corpus_path(settings.to_dict())
    same = (it for it in finished if identity(it.settings) == wanted and it.corpus in (None, corpus))
    result = next(same, None)
    folder = request.folder / run_name(as_kept)
    return Run(row, replace(settings, training=replace(settings.training, output_dir=str(folder))), result)


def _reads_lexicon(row: Row) -> bool:
    model = ModelSettings(model=row.settings["model"], senses=row.settings.get("senses", True))
    return bool(model.model_config().needs_lexicon)


def _without(names: Collection[str], options: Sequence[str]) -> Iterator[str]:
    """The options but ``--NAME VALUE`` and ``--NAME=VALUE`` of these settings."""
    skip = False
    for option in options:
        name, equals, _ = option.partition("=")
        ours = name.startswith("--") and name.removeprefix("--").replace("-", "_") in names
        if not ours and not (skip and not option.startswith("--")):
            yield option
        skip = ours and not equals


def _arguments(row: Row, encoder_dir: Path | None) -> Iterator[str]:
    for name, value in row.settings.items():
        flag = name.replace("_", "-")
        if name == "encoder":
            assert encoder_dir is not None
            yield f"--encoder={encoder_dir / str(value)}"
        elif isinstance(value, list):
            yield from (f"--{flag}", *value)
        else:
            yield f"--no-{flag}" if value is False else f"--{flag}={value}"


def estimate(runs: Sequence[Run], folder: Path) -> list[Estimate]:
    """For each run, from the speed of finished ones in ``folder``: of the same row and corpus, else of the same model
    and corpus, else of the same model. Training alone: scoring and preparing are not in it."""
    finished = [result for result in find_results(folder) if (result.metrics["train_pairs_per_second"] or 0) > 0]
    return [_estimate(run, finished) for run in runs]


def _estimate(run: Run, finished: Sequence[Result]) -> Estimate:
    own = run.as_kept
    mine = differences(own)

    def of_row(result: Result) -> bool:
        special = differences(result.settings)
        return of_corpus(result) and all(special.get(name) == mine.get(name) for name in (*ABLATIONS, "set"))

    def of_corpus(result: Result) -> bool:
        return of_model(result) and result.dataset == own["dataset"]

    def of_model(result: Result) -> bool:
        return all(result.settings.get(name) == own.get(name) for name in ("model", "encoder"))

    for likeness, source in (
        (of_row, "this row on this corpus"),
        (of_corpus, "this model on this corpus"),
        (of_model, "this model on another corpus"),
    ):
        speeds = [float(result.metrics["train_pairs_per_second"]) for result in finished if likeness(result)]
        if speeds:
            speed = sum(speeds) / len(speeds)
            return Estimate(_training_pairs(run.settings) / speed, speed, source)
    return Estimate(None)


def _training_pairs(settings: Settings) -> float:
    """Pairs that the run trains on, repetitions counted."""
    training, data = settings.training, settings.data
    assert training.batch_size is not None and training.epochs is not None
    if training.max_steps > 0:
        return training.max_steps * training.batch_size
    assert data.dataset is not None
    return training.epochs * _train_size(data.dataset, data.data_dir, data.format, data.limit, data.skip_bad_rows)


@cache
def _train_size(dataset: str, data_dir: str | None, format: str | None, limit: int | None, skip_bad_rows: bool) -> int:
    return len(open_corpus(dataset, data_dir, format).load("train", limit, skip_bad_rows))


def carry_out(runs: Sequence[Run], after_each: Callable[[], object]) -> None:
    """Train what is not finished; ``after_each`` is called after every run.

    A run that another process is at is left to it. One that fails, for whatever reason, does not stop the others; at
    the end `LetgraphError` names those that did.
    """
    failed = []
    for number, run in enumerate(runs, 1):
        if run.result is not None:
            continue
        print(f"[{number}/{len(runs)}] {run.name}", flush=True)
        run.folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(run.folder.parent / f".{run.name}.lock", timeout=0):
                train(run.settings)
            after_each()
        except Timeout:
            print("  another process is training it")
        except Exception as error:  # memory, disk, a damaged state: the rows that follow may still be trained
            why = str(error)
            if not isinstance(error, LetgraphError):
                traceback.print_exc()
                why = f"{type(error).__name__}: {error}"
            print(f"  failed: {why}", flush=True)
            failed.append(f"{run.name}: {why}")
    if failed:
        raise LetgraphError(f"{len(failed)} of {len(runs)} runs failed; first {failed[0]}")
