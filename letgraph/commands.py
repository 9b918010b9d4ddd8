"""What the command lines that use a trained model have in common."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from letgraph.errors import LetgraphError

if TYPE_CHECKING:
    from letgraph.checkpoint import Checkpoint
    from letgraph.matcher import Matcher
    from letgraph.text.lexicon import Lexicon


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Options for `open_matcher`, and ``--batch-size``."""
    model = parser.add_argument_group("model")
    model.add_argument("--checkpoint", required=True, type=Path, metavar="OUT", help="output folder of letgraph.train")
    model.add_argument(
        "--hownet",
        metavar="PATH",
        help="check that the model was trained with this sense lexicon (it has its own copy)",
    )
    model.add_argument("--sememe-vectors", type=Path, metavar="PATH", help="names the sememes of a .json lexicon")
    model.add_argument("--device", help="such as cpu or cuda:1 (default: cuda where there is one, else cpu)")
    model.add_argument("--batch-size", type=int, default=128, metavar="N", help="pairs a batch (default: 128)")


def open_matcher(options: argparse.Namespace) -> Matcher:
    """The model that the options name. Raises `LetgraphError`."""
    from letgraph.matcher import Matcher

    if options.batch_size < 1:
        raise LetgraphError(f"--batch-size {options.batch_size}: it has to be 1 or more")
    return Matcher(open_checkpoint(options)[0], options.device)


def open_checkpoint(options: argparse.Namespace) -> tuple[Checkpoint, Lexicon | None]:
    """The checkpoint that the options name, and the lexicon that they name beside it, which is the model's.

    Raises `LetgraphError`, also where it is another one.
    """
    from letgraph.checkpoint import Checkpoint
    from letgraph.inputs import named_lexicon

    checkpoint = Checkpoint.load(options.checkpoint)
    # A lexicon's words are cleaned as the model's sentences are, so the model comes first.
    lexicon = named_lexicon(options.hownet, options.sememe_vectors, checkpoint.preparation.width)
    checkpoint.check_lexicon(lexicon, options.checkpoint)
    return checkpoint, lexicon
