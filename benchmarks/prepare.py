"""How fast text becomes prepared pairs, and the share of each segmenter.

    python benchmarks/prepare.py [--dataset lcqmc] [--split train] [--limit N] [--quick] [--json FILE] [--plot FILE.png]

First the stages one by one over the split's distinct sentences, in this process, in turn over equal parts of the
sentences: each segmenter alone, and `featurise` with all of them, of which lattice, reach and senses are the rest. Then
the whole, as `letgraph.prepare` does it, into an empty cache, with one process a core; and again, from the cache.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness import add_options, figure, write_json

from letgraph.data.corpora import open_corpus
from letgraph.errors import run_cli
from letgraph.inputs import load_split, open_knowledge, prepare_split
from letgraph.text.clean import clean
from letgraph.text.features import featurise
from letgraph.text.segment import load_segmenter, resolve

PARTS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--split", default="train")
    parser.add_argument("--limit", type=int, help="only the first N pairs")
    parser.add_argument("--segmenter", default="lattice")
    options = parser.parse_args()
    limit = options.limit or (2000 if options.quick else None)

    lexicon = open_knowledge(options.dataset, options.data_dir, options.hownet, None).lexicon
    split = load_split(open_corpus(options.dataset, options.data_dir), options.split, limit=limit)
    sentences = sorted({clean(text).text for text in (*split.a, *split.b)})
    segmenters = [load_segmenter(name) for name in resolve(options.segmenter)]
    stages: dict[str, Callable[[Sequence[str]], object]] = {
        segmenter.name: lambda part, segmenter=segmenter: [segmenter.cut(text) for text in part]
        for segmenter in segmenters
    }
    stages["all, with lattice and senses"] = lambda part: featurise(part, segmenters, lexicon)
    seconds = time_stages(stages, sentences)
    whole = seconds["all, with lattice and senses"]
    print(f"\n{len(split):,} pairs, {len(sentences):,} distinct sentences; one process")
    print(f"{'stage':<34}{'s':>8}{'share':>8}{'sentences/s':>14}")
    results: list[dict[str, Any]] = []
    for name, taken in [*seconds.items(), ("lattice, reach, senses alone", 2 * whole - sum(seconds.values()))]:
        print(f"{name:<34}{taken:>8.2f}{taken / whole:>8.0%}{len(sentences) / taken:>14,.0f}")
        results.append({"candidate": name, "seconds": taken, "share": taken / whole})

    with tempfile.TemporaryDirectory() as cache:
        for name in ("prepare", "prepare, from the cache"):
            print()
            start = time.perf_counter()
            prepare_split(split, resolve(options.segmenter), lexicon, cache_dir=Path(cache))
            taken = time.perf_counter() - start
            print(f"{name}: {taken:.2f} s, {len(split) / taken:,.0f} pairs/s")
            results.append({"candidate": name, "seconds": taken, "pairs_per_second": len(split) / taken})
    write_json(options.json, results, dataset=options.dataset, split=options.split, pairs=len(split))
    figure(options.plot, lambda canvas: draw(canvas, results[: len(stages) + 1]))


def time_stages(stages: dict[str, Callable[[Sequence[str]], object]], sentences: Sequence[str]) -> dict[str, float]:
    """Seconds of each stage for all sentences; the stages take turns, part by part."""
    size = -(-len(sentences) // PARTS)
    for stage in stages.values():
        stage(sentences[:20])
    seconds = dict.fromkeys(stages, 0.0)
    for start in range(0, len(sentences), size):
        for name, stage in stages.items():
            begun = time.perf_counter()
            stage(sentences[start : start + size])
            seconds[name] += time.perf_counter() - begun
    return seconds


def draw(canvas: Any, results: Sequence[dict[str, Any]]) -> None:
    axes = canvas.add_subplot()
    axes.barh([row["candidate"] for row in results], [row["seconds"] for row in results])
    axes.invert_yaxis()
    axes.set(xlabel="seconds, one process", title="Preparation by stage")


if __name__ == "__main__":
    run_cli(main)
