"""Score pairs of sentences with a trained model: ``python -m letgraph.predict --checkpoint OUT --input pairs.tsv``.

What comes out, to stdout or to --output, is TSV whatever came in: the two sentences as they were given, the label
where there is one, and the probability that they mean the same; in the order of the input, below a header where the
input has one. Memory does not grow with the input. Messages go to stderr.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import deque
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from letgraph.commands import add_model_options, open_matcher
from letgraph.errors import LetgraphError, run_cli

if TYPE_CHECKING:
    from letgraph.data.formats import PairReader
    from letgraph.matcher import Matcher

CHUNK = 4096
"""Pairs that are read, sorted by length and scored at a time."""


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m letgraph.predict",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_model_options(parser)
    pairs = parser.add_argument_group("pairs")
    pairs.add_argument("--text-a", metavar="A", help="one pair: its first sentence")
    pairs.add_argument("--text-b", metavar="B", help="and its second")
    pairs.add_argument("--input", metavar="FILE", help="TSV, CSV or JSON lines, with or without labels; - is stdin")
    pairs.add_argument("--format", help="of the input, such as csv+header:a,b, where sniffing gets it wrong")
    pairs.add_argument("--skip-bad-rows", action="store_true", help="count and skip them instead of stopping")
    pairs.add_argument(
        "--output", type=Path, metavar="FILE", help="default: stdout. The file appears when all pairs are scored"
    )
    return parser


def main() -> None:
    options = parser().parse_args()
    _check(options)
    # Imported here, so that --help does not wait for it.
    from letgraph.matcher import TruncationWarning
    from letgraph.output import probability_cell, tsv_row, whole_file
    from letgraph.text.clean import truncation_warning

    if options.input:
        _check_rows(options)
    matcher = open_matcher(options)
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", TruncationWarning)  # said once, at the end
        output = stack.enter_context(whole_file(options.output)) if options.output else sys.stdout.buffer
        if options.input:
            _score_file(options, matcher, output)
        else:
            score = matcher.predict([(options.text_a, options.text_b)])[0]
            output.write(tsv_row(options.text_a, options.text_b, probability_cell(score)))
        output.flush()
    if warning := truncation_warning(matcher.cleaning, matcher.checkpoint.preparation.max_characters):
        print(f"warning: {warning}", file=sys.stderr)


def _check(options: argparse.Namespace) -> None:
    texts = [text for text in (options.text_a, options.text_b) if text is not None]
    if options.input and texts:
        raise LetgraphError("--input and --text-a, --text-b contradict each other; give one of them")
    if not options.input and len(texts) < 2:
        raise LetgraphError("which pairs? Give --text-a A --text-b B, or --input FILE")
    if not options.input and (options.format or options.skip_bad_rows):
        flag = "--format" if options.format else "--skip-bad-rows"
        raise LetgraphError(f"{flag} is about --input, which is not given")


def _read(options: argparse.Namespace) -> PairReader:
    from letgraph.data.formats import read_pairs

    on_bad = "skip" if options.skip_bad_rows else "raise"
    return read_pairs(options.input, format=options.format, on_bad=on_bad)  # type: ignore[arg-type]


def _check_rows(options: argparse.Namespace) -> None:
    """Read a file once for its bad rows: better to stop before anything has been scored and written than half-way."""
    path = Path(options.input)
    can_be_read_once_only = options.input == "-" or (path.exists() and not path.is_file())
    if not options.skip_bad_rows and not can_be_read_once_only:
        with _read(options) as reader:
            deque(reader, maxlen=0)


def _score_file(options: argparse.Namespace, matcher: Matcher, output: IO[bytes]) -> None:
    from tqdm import tqdm

    from letgraph.output import probability_cell, tsv_row

    with _read(options) as reader, tqdm(desc="scoring", unit="pair", leave=False, disable=None) as bar:
        print(f"{reader.name}: {reader.format}", file=sys.stderr)
        if reader.format.header:
            columns = reader.format.columns._asdict().items()
            names = [role if isinstance(name, int) else name for role, name in columns if name is not None]
            output.write(tsv_row(*names, "probability"))
        while rows := list(islice(reader, CHUNK)):
            scores = matcher.predict([(row.a, row.b) for row in rows], options.batch_size)
            for row, score in zip(rows, scores, strict=True):
                label = [] if row.label is None else [str(row.label)]
                output.write(tsv_row(row.a, row.b, *label, probability_cell(score)))
            output.flush()
            bar.update(len(rows))
    report = reader.report
    print(f"scored {report.good:,} pairs" + (f"; {report}" if report.skipped else ""), file=sys.stderr)


if __name__ == "__main__":
    run_cli(main)
