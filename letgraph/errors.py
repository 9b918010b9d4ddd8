"""The errors a user can cause, each with the place and the mend."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence


class LetgraphError(Exception):
    """A mistake in input or settings. Command lines print it in one line and exit with status 2."""


class DataError(LetgraphError):
    """A file (and line) that cannot be used as it is.

    The message reads ``PATH:LINE: PROBLEM; MEND`` so that editors can jump to the place.
    """

    def __init__(self, path: str | os.PathLike[str], line: int | None, problem: str, mend: str) -> None:
        self.path, self.line, self.problem, self.mend = os.fspath(path), line, problem, mend
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {problem}; {mend}")


class MissingDependency(LetgraphError):
    """Something optional that is not installed, named together with the command that mends it."""


def require_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raises `LetgraphError`, with the ``choices`` there are, where the setting ``name`` has another value."""
    if value not in choices:
        raise LetgraphError(f"{name}={value!r}: choose one of {', '.join(choices)}")


def run_cli(main: Callable[[], None]) -> None:
    """Run an entry point: a `LetgraphError` becomes one line on stderr and exit status 2."""
    try:
        main()
    except LetgraphError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our stdout has gone; point stdout elsewhere so that the interpreter's last flush is quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
