"""Prepare corpora ahead of training: ``python -m letgraph.prepare --dataset lcqmc --hownet PATH``."""

from __future__ import annotations

import argparse
from pathlib import Path

from letgraph.data.corpora import open_corpus
from letgraph.errors import LetgraphError, run_cli
from letgraph.inputs import open_knowledge, open_split
from letgraph.preparation import TEXT_PRESETS, Preparation
from letgraph.text.segment import resolve


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m letgraph.prepare", description=__doc__, allow_abbrev=False)
    data = parser.add_argument_group("data")
    data.add_argument("--dataset", required=True, help="demo, bq, lcqmc, afqmc, a file, a folder, or hf:NAME[:CONFIG]")
    data.add_argument("--data-dir", type=Path, help="folder of the named corpora (default: $LETGRAPH_DATA, then data/)")
    data.add_argument("--format", help="of the files, such as tsv:a,b,label, where sniffing gets it wrong")
    data.add_argument("--splits", nargs="+", metavar="SPLIT", help="which splits (default: all there are)")
    data.add_argument("--limit", type=int, metavar="N", help="only the first N pairs of each split")
    data.add_argument("--skip-bad-rows", action="store_true", help="count and skip them instead of stopping")
    text = parser.add_argument_group("lattice and senses")
    text.add_argument("--preset", choices=TEXT_PRESETS, default="paper", help="of the model that is to be trained")
    text.add_argument(
        "--segmenter", default="lattice", help="jieba, pkuseg, thulac, several joined by +, or lattice: all (default)"
    )
    text.add_argument(
        "--hownet",
        metavar="PATH",
        help="sense lexicon: demo, a .tsv, a .json or an OpenHowNet folder (default: demo for the demo corpus, else "
        "the only .tsv in DATA_DIR/hownet)",
    )
    text.add_argument("--sememe-vectors", type=Path, metavar="PATH", help="names the sememes of a .json lexicon")
    text.add_argument("--no-senses", action="store_true", help="words without senses, for training without them")
    work = parser.add_argument_group("work")
    work.add_argument("--cache-dir", type=Path, help="default: $LETGRAPH_CACHE, then ~/.cache/letgraph/prepared")
    work.add_argument(
        "--workers", type=int, metavar="N", help="processes (default: one a core, up to 8, fewer for little data)"
    )
    return parser


def main() -> None:
    options = parser().parse_args()
    preparation = Preparation.current(resolve(options.segmenter), options.preset)
    corpus = open_corpus(options.dataset, options.data_dir, options.format)
    lexicon = None
    if not options.no_senses:
        knowledge = open_knowledge(
            options.dataset, options.data_dir, options.hownet, options.sememe_vectors, preparation.width
        )
        lexicon = knowledge.lexicon
    elif options.hownet:
        raise LetgraphError("--hownet and --no-senses contradict each other; give one of them")
    for name in options.splits or corpus.splits:
        prepared = open_split(
            corpus,
            name,
            preparation.segmenters,
            lexicon,
            limit=options.limit,
            skip_bad_rows=options.skip_bad_rows,
            cache_dir=options.cache_dir,
            workers=options.workers,
            **preparation.text_options,
        )
        print(f"  {prepared.folder}", flush=True)


if __name__ == "__main__":
    run_cli(main)
