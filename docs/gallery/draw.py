"""Draw the pictures of docs/visualise.md beside this file: ``python docs/gallery/draw.py [--checkpoint runs/demo]``.

Without a checkpoint they show words and senses (the packaged lexicon's) alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from letgraph.checkpoint import Checkpoint
from letgraph.errors import run_cli
from letgraph.text.lexicon import load_lexicon
from letgraph.text.segment import SEGMENTERS, load_segmenter
from letgraph.viewing.picture import save_picture
from letgraph.viewing.view import look

PAIRS = {
    "polysemy": ("苹果多少钱一斤", "苹果手机怎么卖"),
    "ambiguity": ("南京市长江大桥怎么走", "南京市的长江大桥在哪"),
    "paraphrase": ("信用卡怎么注销", "怎么把信用卡销掉"),
    "near-miss": ("怎么提高信用卡额度", "怎么降低信用卡额度"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, metavar="OUT", help="output folder of letgraph.train")
    options = parser.parse_args()
    checkpoint = Checkpoint.load(options.checkpoint) if options.checkpoint else None
    names = checkpoint.preparation.segmenters if checkpoint else tuple(SEGMENTERS)
    segmenters = [load_segmenter(name) for name in names]
    lexicon = None if checkpoint else load_lexicon("demo")
    for name, pair in PAIRS.items():
        save_picture(look(*pair, segmenters, lexicon, checkpoint), Path(__file__).with_name(f"{name}.png"), dpi=100)


if __name__ == "__main__":
    run_cli(main)
