"""A finished run as far as tables need it: its settings, its metrics, and which pairs it got right.

It is read from a run's own folder or from a kept one, which `keep` writes and which is small:

KEPT/settings.json   without what is of one machine alone: folders, processes
KEPT/metrics.json    as the run wrote it
KEPT/correct.json    by split: pairs, hash of the labels, and a bit a pair, as hexadecimal digits: 1 where it was right
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from letgraph.arguments import parse_settings, recipes
from letgraph.checkpoint import read_json
from letgraph.data.corpora import KNOWN
from letgraph.errors import DataError, LetgraphError
from letgraph.output import whole_file
from letgraph.run_folder import FILES, REPEATABLE
from letgraph.scores import read_scores, scores_path
from letgraph.settings import ModelSettings

SPLITS = ("test", "dev")
"""What tables show, the first that there is."""

KEPT_OUTCOMES = "correct.json"
_MEND = "give a finished run's folder, or keep it again"


@dataclass(frozen=True)
class Outcome:
    """``correct`` (pairs,): which pairs of a split were right; ``labels``: their `SplitScores.labels_hash`."""

    correct: NDArray[np.bool_]
    labels: str


@dataclass(frozen=True)
class Result:
    """``settings`` as `portable` gives them; ``outcomes`` by split, none for a run that has kept no scores; ``corpus``:
    the path of a corpus that has no name of its own, as long as the run is not kept."""

    folder: Path
    settings: Mapping[str, Any]
    metrics: Mapping[str, Any]
    outcomes: Mapping[str, Outcome]
    corpus: Path | None = None

    @property
    def seed(self) -> int:
        return int(self.settings["seed"])

    @property
    def dataset(self) -> str:
        return str(self.settings["dataset"])


def portable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A run's settings without those that change no result, and with names in place of paths: of these the last part
    counts, wherever it lies."""
    values = {name: value for name, value in settings.items() if name not in REPEATABLE}
    for name in FILES:
        if values.get(name):
            values[name] = Path(values[name]).resolve().name
    if path := corpus_path(values):
        values["dataset"] = f"./{path.name}" if path.name in KNOWN else path.name
    return {"model": "let"} | values  # earlier versions had no other model


def corpus_path(settings: Mapping[str, Any]) -> Path | None:
    """Where the corpus of a run lies; None for one that is known by name."""
    dataset = str(settings["dataset"])
    return None if dataset in KNOWN or dataset.startswith("hf:") else Path(dataset).resolve()


def differences(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Where `portable` settings are not the defaults of their corpus and model; without corpus, model and seed."""
    encoder = settings.get("encoder")
    defaults = _defaults(str(settings["dataset"]), str(settings["model"]), encoder)
    made = {**settings, "set": [item for item in settings.get("set", []) if not _says_default(item, settings)]}
    return {
        name: made[name]
        for name, default in defaults.items()
        if name in made and made[name] != default and name not in ("dataset", "model", "seed")
    } | ({"encoder": encoder} if encoder else {})


def _says_default(item: str, settings: Mapping[str, Any]) -> bool:
    """Whether ``--set NAME=VALUE`` gives the model what it has anyway."""
    variant = {name: settings[name] for name in ("model", "preset") if name in settings}
    try:
        plain, said = (ModelSettings(**variant, set=made).model_config().to_dict() for made in ([], [item]))
    except LetgraphError:  # an earlier version had this setting
        return False
    return bool(plain == said)


def identity(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Equal for runs that would be the same; a setting that an earlier version had not yet counts as not set."""
    return {name: settings[name] for name in ("dataset", "model", "seed")} | differences(settings)


def recipe_of(dataset: str, model: str, encoder: str) -> list[str]:
    """``--config NAME`` where a recipe says how a model is trained on an encoder of this name, else nothing."""
    recipe = _recipes().get((dataset, model, encoder))
    return ["--config", recipe] if recipe else []


@cache
def _recipes() -> dict[tuple[str, str, str], str]:
    """The package's recipes by corpus, model and the last part of their encoder's name."""
    settings = {name: portable(parse_settings(["--config", name]).to_dict()) for name in recipes()}
    return {(it["dataset"], it["model"], it["encoder"]): name for name, it in settings.items()}


@cache
def _defaults(dataset: str, model: str, encoder: str | None) -> dict[str, Any]:
    more = [*recipe_of(dataset, model, encoder), "--encoder", encoder] if encoder else []
    return portable(parse_settings(["--dataset", dataset, "--model", model, *more]).to_dict())


def run_name(settings: Mapping[str, Any]) -> str:
    """A folder name that says what is special about a run, such as ``bq-let-jieba-no-senses-limit30000-seed1``."""
    parts = [str(settings["dataset"]), str(settings["model"])]
    for name, value in differences(settings).items():
        if name == "set":
            parts += sorted(value)
        elif isinstance(value, bool):
            parts.append(name if value else f"no-{name}")
        else:
            text = as_text(value)
            parts.append(text if name in ("segmenter", "encoder", "preset") else f"{name}{text}")
    return re.sub(r"[^\w.=+-]", "_", "-".join([*parts, f"seed{settings['seed']}"]))


def as_text(value: Any) -> str:
    """The value of a setting as names, titles and messages have it."""
    if isinstance(value, list):
        return " ".join(sorted(map(str, value)))
    return f"{value:g}" if isinstance(value, float) else str(value)


def read_result(folder: Path) -> Result:
    """A finished run from its own folder or a kept one. Raises `LetgraphError`."""
    if not (folder / "metrics.json").is_file():
        raise LetgraphError(f"{folder} holds no finished run (no metrics.json)")
    metrics, settings = read_json(folder / "metrics.json", _MEND), read_json(folder / "settings.json", _MEND)
    if not isinstance(settings.get("dataset"), str) or not isinstance(settings.get("seed"), int):
        raise DataError(folder / "settings.json", None, "no settings of a run", _MEND)
    kept = (folder / KEPT_OUTCOMES).is_file()
    corpus = None if kept else corpus_path(settings)
    return Result(folder, portable(settings), metrics, _outcomes(folder, metrics), corpus)


def find_results(folder: Path) -> list[Result]:
    """The finished runs in ``folder``, which may be one itself. Raises `LetgraphError` where one is damaged."""
    places = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())] if folder.is_dir() else []
    return [read_result(place) for place in places if (place / "metrics.json").is_file()]


def keep(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write the small files of each run into ``folder``/NAME; returns these folders.

    Raises `LetgraphError`, before anything is written, where NAME is that of another run of the same settings.
    """
    places: dict[Path, Result] = {}
    for result in results:
        place = folder / run_name(result.settings)
        before = read_result(place) if (place / "metrics.json").is_file() else result
        other = places.get(place, before)
        if place in places or _scores(other) != _scores(result):
            raise LetgraphError(f"{result.folder} and {other.folder} have the same settings; move one of them away")
        places[place] = result
    for place, result in places.items():
        place.mkdir(parents=True, exist_ok=True)
        correct = {
            split: {
                "n": len(outcome.correct),
                "labels": outcome.labels,
                "correct": np.packbits(outcome.correct).tobytes().hex(),
            }
            for split, outcome in result.outcomes.items()
        }
        _write(place / "settings.json", result.settings)
        if correct or not (place / KEPT_OUTCOMES).is_file():
            _write(place / KEPT_OUTCOMES, correct)
        _write(place / "metrics.json", result.metrics)  # last: it says that all is there
    return list(places)


def _scores(result: Result) -> list[Any]:
    """What two runs have in common only if they are one."""
    return [result.metrics.get(split, {}).get(name) for split in SPLITS for name in ("n", "accuracy", "f1")]


def _outcomes(folder: Path, metrics: Mapping[str, Any]) -> dict[str, Outcome]:
    kept = folder / KEPT_OUTCOMES
    if kept.is_file():
        try:
            return {split: _unpack(**values) for split, values in read_json(kept, _MEND).items()}
        except (TypeError, ValueError) as error:
            raise DataError(kept, None, f"not what keep writes ({error})", _MEND) from None
    outcomes = {}
    for split in SPLITS:
        if split in metrics and scores_path(folder, split).is_file():
            if "n" not in metrics[split]:
                raise DataError(folder / "metrics.json", None, f"no 'n' of a split ({split})", _MEND)
            scores = read_scores(folder, split)
            if len(scores.labels) != metrics[split]["n"]:
                raise DataError(
                    scores_path(folder, split),
                    None,
                    f"{len(scores.labels)} scores of {metrics[split]['n']} pairs",
                    "remove it and run letgraph.train with the run's settings and --resume auto, which scores again",
                )
            outcomes[split] = Outcome(scores.correct, scores.labels_hash)
    return outcomes


def _unpack(n: int, labels: str, correct: str) -> Outcome:
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(correct), np.uint8)).astype(np.bool_)
    if len(bits) != -(-n // 8) * 8:
        raise ValueError(f"{len(bits)} bits for {n} pairs")
    return Outcome(bits[:n], labels)


def _write(path: Path, value: Mapping[str, Any]) -> None:
    with whole_file(path) as stream:
        stream.write((json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode())
