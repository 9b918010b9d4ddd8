"""Look at a sentence pair: ``python -m letgraph.visualize --text-a A --text-b B --output FILE``.

What FILE is called decides what it shows: .png and .svg the two sentences with their words and senses, .html a page to
explore offline, .graphml, .gexf, .dot and .json the graph. With --checkpoint also what the model made of it: attention
weights, matched characters, the probability.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from letgraph.errors import LetgraphError, run_cli

if TYPE_CHECKING:
    from letgraph.checkpoint import Checkpoint
    from letgraph.text.lexicon import Lexicon
    from letgraph.text.segment import Segmenter
    from letgraph.viewing.view import PairView

PICTURES = (".png", ".svg")
PAGES = (".html",)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m letgraph.visualize",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--text-a", required=True, metavar="A", help="the first sentence")
    parser.add_argument("--text-b", required=True, metavar="B", help="the second")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE")
    parser.add_argument("--checkpoint", type=Path, metavar="OUT", help="output folder of letgraph.train")
    parser.add_argument(
        "--segmenter",
        help="jieba, pkuseg, thulac, several joined by +, or lattice (default: the model's, else lattice)",
    )
    parser.add_argument(
        "--hownet",
        metavar="PATH",
        help="sense lexicon (default: the model's own copy, else demo); beside a model it must be the same one, and "
        "adds the English names of sememes",
    )
    parser.add_argument("--sememe-vectors", type=Path, metavar="PATH", help="names the sememes of a .json lexicon")
    parser.add_argument("--vectors", action="store_true", help="graph files carry attention weights of every feature")
    return parser


def main() -> None:
    options = parser().parse_args()
    # Imported here, so that --help and a wrong suffix do not wait for it.
    from letgraph.export import FORMATS, to_networkx, write_graph

    suffix = options.output.suffix.lower()
    known = (*PICTURES, *PAGES, *FORMATS)
    if suffix not in known:
        raise LetgraphError(f"--output {options.output}: its suffix says what to write; one of {', '.join(known)}")
    if options.vectors and suffix not in FORMATS:
        raise LetgraphError(f"--vectors is about graph files ({', '.join(FORMATS)}), not about {suffix}")
    if options.vectors and options.checkpoint is None:
        raise LetgraphError("--vectors are those of a model; give --checkpoint OUT with it")
    from letgraph.viewing.view import look, look_by_segmenter

    pair = options.text_a, options.text_b, *_sources(options)
    if suffix in PAGES:
        from letgraph.output import whole_file
        from letgraph.viewing.page import page

        views = look_by_segmenter(*pair)
        _warn(next(iter(views.values())))
        content = page(views)
        with whole_file(options.output) as stream:
            stream.write(content)
    elif suffix in PICTURES:
        from letgraph.viewing.picture import save_picture

        save_picture(_warn(look(*pair)), options.output)
    else:
        write_graph(to_networkx(_warn(look(*pair)), vectors=options.vectors), options.output)


def _warn(view: PairView) -> PairView:
    if view.warning:
        print(f"warning: {view.warning}", file=sys.stderr)
    return view


def _sources(options: argparse.Namespace) -> tuple[list[Segmenter], Lexicon | None, Checkpoint | None]:
    """Where words, senses and weights come from."""
    from letgraph.commands import open_checkpoint
    from letgraph.inputs import named_lexicon
    from letgraph.text.lexicon import load_lexicon
    from letgraph.text.segment import LATTICE, load_segmenter, resolve

    chosen = None if options.segmenter is None else resolve(options.segmenter)
    if options.checkpoint is None:
        lexicon = named_lexicon(options.hownet, options.sememe_vectors) or load_lexicon("demo")
        return [load_segmenter(name) for name in chosen or resolve(LATTICE)], lexicon, None
    checkpoint, own = open_checkpoint(options)
    checkpoint.preparation.check_versions()
    return [load_segmenter(name) for name in chosen or checkpoint.preparation.segmenters], own, checkpoint


if __name__ == "__main__":
    run_cli(main)
