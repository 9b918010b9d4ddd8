"""How alike the characters of a pair look to a trained LET, and how much a character's attention is its own.

    python docs/results/likeness.py --checkpoint OUT --dataset lcqmc

prints, as means over the first pairs of the dev split: the cosine between the encoder's vectors of two characters of a
pair, and the total variation distance between what a character takes from the other sentence (cross attention, mean
over features) and what its sentence takes on average: 0 where all characters read the same, 1 where no two do.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from letgraph import schema
from letgraph.checkpoint import Checkpoint
from letgraph.data.corpora import open_corpus
from letgraph.errors import run_cli
from letgraph.text.features import featurise
from letgraph.text.segment import load_segmenter
from letgraph.viewing.view import PairView, look


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", required=True, type=Path)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--pairs", type=int, default=60)
    options = parser.parse_args()
    checkpoint = Checkpoint.load(options.checkpoint)
    split = open_corpus(options.dataset).load("dev", options.pairs)
    segmenters = [load_segmenter(name) for name in checkpoint.preparation.segmenters]
    views = [look(a, b, segmenters, None, checkpoint) for a, b in zip(split.a, split.b, strict=True)]
    cosines = [cosine(checkpoint, view) for view in views]
    print(f"cosine of characters {np.mean(cosines):.3f}, own part of attention {np.mean([*map(own_part, views)]):.3f}")


@torch.no_grad()
def cosine(checkpoint: Checkpoint, view: PairView) -> float:
    texts = [checkpoint.preparation.clean(text).text for text in view.texts]
    batch = checkpoint.collator(featurise(texts, [load_segmenter("jieba")], checkpoint.lexicon))
    tokens, _ = checkpoint.model.encode(batch)  # type: ignore[operator]
    chars = torch.nn.functional.normalize(tokens.flatten(0, 1)[batch.char_token], dim=-1)
    count = len(chars)
    return float(((chars @ chars.T).sum() - count) / (count * (count - 1)))


def own_part(view: PairView) -> float:
    alpha = view.attention[schema.CROSS][0].mean(1)
    sources, destinations = view.edges[schema.CROSS]
    rows = np.zeros((destinations.max() + 1, sources.max() + 1))
    rows[destinations, sources] = alpha
    sides = np.array([char["sentence"] for char in view.nodes[schema.CHAR]])
    return float(np.mean([abs(rows[sides == s] - rows[sides == s].mean(0)).sum(1).mean() / 2 for s in "ab"]))


if __name__ == "__main__":
    run_cli(main)
