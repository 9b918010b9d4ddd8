"""The runs of a table in the order that gives a readable one soonest, what they will take, and carrying them out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from filelock import FileLock, Timeout

from letgraph.arguments import parse_settings
from letgraph.data.corpora import open_corpus
from letgraph.errors import LetgraphError
from letgraph.reproduction.results import (
    Result,
    as_text,
    differences,
    find_results,
    identity,
    portable,
    recipe_of,
    run_name,
)
from letgraph.reproduction.rows import ABLATIONS, Row, TableRows
from letgraph.reproduction.tables import Family, family_of
from letgraph.run import train
from letgraph.settings import Settings

OURS = ("--seed", "--resume", "--output-dir", "--output_dir")


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
        return f"not run: needs --encoder-dir with {row.encoder}"


@dataclass(frozen=True)
class Run:
    """A run that a table asks for; ``result``, when it is finished already."""

    row: Row
    settings: Settings
    result: Result | None

    @property
    def name(self) -> str:
        return run_name(portable(self.settings.to_dict()))

    @property
    def family(self) -> Family:
        return family_of(str(portable(self.settings.to_dict())["dataset"]), self._special)

    @property
    def _special(self) -> dict[str, object]:
        special = differences(portable(self.settings.to_dict()))
        return {name: value for name, value in special.items() if name not in self.row.settings}

    @property
    def folder(self) -> Path:
        assert self.settings.training.output_dir is not None
        return Path(self.settings.training.output_dir)


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
        if option.partition("=")[0] in OURS:
            raise LetgraphError(f"{option}: give --seeds and --output-dir; runs are resumed by themselves")
    finished = find_results(request.folder)
    rows = [row for row in request.rows if request.lacks(row) is None]
    runs = [
        _run(request, dataset, row, seed, finished)
        for seed in request.seeds
        for dataset in request.datasets
        for row in rows
    ]
    if not runs and rows:
        raise LetgraphError("nothing to run: give --dataset and --seeds")
    return runs


def _run(request: Request, dataset: str, row: Row, seed: int, finished: Sequence[Result]) -> Run:
    arguments = [
        "--dataset",
        dataset,
        *_arguments(row, dataset, request.encoder_dir),
        *request.options,  # last, so that one which contradicts the row is seen below and not overridden
        "--seed",
        str(seed),
    ]
    settings = parse_settings([*arguments, "--resume", "auto"])
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
    result = next((result for result in finished if identity(result.settings) == identity(as_kept)), None)
    folder = request.folder / run_name(as_kept)
    return Run(row, replace(settings, training=replace(settings.training, output_dir=str(folder))), result)


def _arguments(row: Row, dataset: str, encoder_dir: Path | None) -> Iterator[str]:
    if row.encoder:
        yield from recipe_of(dataset, row.settings["model"], row.encoder)
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
    own = portable(run.settings.to_dict())

    def of_row(result: Result) -> bool:
        special = differences(result.settings)
        return of_corpus(result) and {name: special.get(name) for name in ABLATIONS} == {
            name: run.row.settings.get(name) for name in ABLATIONS
        }

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

    A run that another process is at is left to it. One that fails does not stop the others; at the end
    `LetgraphError` names those that did.
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
        except Timeout:
            print("  another process is training it")
            continue
        except LetgraphError as error:
            print(f"  failed: {error}", flush=True)
            failed.append(f"{run.name}: {error}")
            continue
        after_each()
    if failed:
        raise LetgraphError(f"{len(failed)} of {len(runs)} runs failed; first {failed[0]}")
