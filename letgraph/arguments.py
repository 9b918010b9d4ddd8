"""The command line of a training run: arguments, files of settings, and the recipes that come with the package."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentDefaultsHelpFormatter, Namespace
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

import yaml
from transformers import HfArgumentParser

from letgraph.errors import DataError
from letgraph.settings import OFF, DataSettings, ModelSettings, Settings, TrainingSettings, check, nearest

RECIPE_FOLDER = Path(__file__).parent / "recipes"

CORPUS_DEFAULTS: dict[str | None, dict[str, float]] = {
    None: {"epochs": 6.0, "batch_size": 32},
    "bq": {"epochs": 6.0, "batch_size": 64},
    "demo": {"epochs": 3.0, "batch_size": 32},
}
"""What suits a corpus where the user does not say; under None, any other corpus. Source: LET (AAAI 2021) for all but
demo, whose three passes fit into the minutes that a demonstration may take."""

LEARNING_RATES: dict[str | None, float] = {None: 5e-4, "esim": 1e-3}
"""What suits a model where the user does not say; under None, any other model. Source: LET (AAAI 2021), for LET; for
ESIM it is measured in docs/results.md."""


class _Parser(HfArgumentParser):
    """Errors in one line, with the nearest right name for an unknown option."""

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            name = next((word for word in unknown.split() if word.startswith("-")), unknown)
            options = [option for option in self._option_string_actions if "_" not in option]
            message = f"no option {name.partition('=')[0]}{nearest(name.partition('=')[0], options)}"
        print(f"error: {message}", file=sys.stderr)
        sys.exit(2)


def parse_settings(arguments: Sequence[str] | None = None) -> Settings:
    """Settings from command-line arguments (default: those of this process).

    ``--config FILE.yaml`` gives defaults that other arguments override. Unknown and contradictory settings raise
    `LetgraphError`, or end the process with status 2 where argparse finds them.
    """
    groups: list[Any] = [DataSettings, ModelSettings, TrainingSettings]
    parser = _Parser(
        groups,
        prog="python -m letgraph.train",
        description="Train LET or a baseline on a corpus of sentence pairs; score its dev and test splits.",
        formatter_class=_OneSpelling,
        allow_abbrev=False,
    )
    for action in parser._actions:  # a switch that is on is only ever switched off
        if action.dest in OFF:
            off = f"--no-{action.dest}" in action.option_strings
            action.help = OFF[action.dest] if off else SUPPRESS
    parser.add_argument(
        "--config",
        metavar="FILE.yaml",
        help=f"settings by name, which other arguments override; a file, or one of {', '.join(recipes())}",
    )
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    known, _ = parser.parse_known_args(arguments)
    if known.config:
        # As arguments before the others, so that argparse checks types and choices of both.
        arguments = [
            *_from_yaml(_config_file(known.config), {f.name for group in groups for f in fields(group)}),
            *arguments,
        ]
    values = vars(parser.parse_args(arguments))
    values.pop("config")
    unset = object()
    explicit = vars(parser.parse_args(arguments, Namespace(**dict.fromkeys(values, unset))))
    given = {name for name in values if explicit[name] is not unset}
    data, model, training = (group(**{f.name: values[f.name] for f in fields(group)}) for group in groups)
    recipe = CORPUS_DEFAULTS.get(data.dataset, CORPUS_DEFAULTS[None])
    if training.epochs is None:
        training.epochs = recipe["epochs"]
    if training.batch_size is None:
        training.batch_size = int(recipe["batch_size"])
    # As in any option the last value of a name counts; the order of names makes no difference.
    model.set = sorted({item.partition("=")[0]: item for item in model.set}.values())
    if training.learning_rate is None:
        training.learning_rate = LEARNING_RATES.get(model.model, LEARNING_RATES[None])
    settings = Settings(data, model, training)
    check(settings, given)
    return settings


class _OneSpelling(ArgumentDefaultsHelpFormatter):
    """Help that shows --an-option but not --an_option, which is accepted as well."""

    def _format_action_invocation(self, action: Any) -> str:
        action.option_strings = [option for option in action.option_strings if "_" not in option]
        return super()._format_action_invocation(action)


def recipes() -> list[str]:
    """The names of the recipes that come with the package, files of settings for ``--config``."""
    return sorted(path.stem for path in RECIPE_FOLDER.glob("*.yaml"))


def _config_file(name: str) -> Path:
    return RECIPE_FOLDER / f"{name}.yaml" if name in recipes() and not Path(name).is_file() else Path(name)


def _from_yaml(path: Path, known: set[str]) -> list[str]:
    """The file's settings as command-line arguments."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        raise DataError(
            path, None, "no such file", f"give a YAML file of settings, or one of {', '.join(recipes())}"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise DataError(path, line, "not YAML", "write one NAME: VALUE a line") from None
    if not isinstance(values, dict):
        raise DataError(path, 1, "not a mapping", "write one NAME: VALUE a line")
    arguments = []
    for name, value in values.items():
        name = str(name).replace("-", "_")
        if name not in known:
            raise DataError(path, None, f"no setting {name!r}", f"remove it{nearest(name, known)}")
        if isinstance(value, list):
            arguments += [f"--{name}", *map(str, value)]
        elif value is not None:
            arguments.append(f"--{name}={value}")
    return arguments
