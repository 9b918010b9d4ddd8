"""How fast batches are built: one heterograph from flat arrays against single heterographs and `dgl.batch`.

    python benchmarks/batching.py --dataset lcqmc --hownet PATH [--batch-size 32] [--json FILE]

Both ways give the same graph (checked first). Figures are medians over batches that are built in turn, after a warm-up,
on one thread.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import dgl
import numpy as np
import torch

from letgraph.data.collate import Collator, interleave
from letgraph.data.corpora import open_corpus
from letgraph.data.graph import build_arrays, to_dgl
from letgraph.data.store import PreparedPairs
from letgraph.errors import run_cli
from letgraph.inputs import open_knowledge, open_split
from letgraph.text.features import SentenceTable
from letgraph.text.segment import resolve
from letgraph.text.vocabulary import CharVocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="demo")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--hownet")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)

    lexicon = open_knowledge(options.dataset, options.data_dir, options.hownet, None).lexicon
    corpus = open_corpus(options.dataset, options.data_dir)
    pairs = open_split(corpus, options.split, resolve("lattice"), lexicon)
    collator = Collator(CharVocabulary.build(pairs.sentences.chars.values))
    random = np.random.default_rng(0)
    batches = [random.integers(len(pairs), size=options.batch_size) for _ in range(options.batches)]

    ways: dict[str, Callable[[np.ndarray], object]] = {
        "letgraph PairBatch": lambda rows: collator(take(pairs, rows), pairs.labels[rows]),  # type: ignore[index]
        "letgraph graph alone": lambda rows: to_dgl(build_arrays(take(pairs, rows))),
        "single heterographs + dgl.batch": lambda rows: singles(pairs, rows),
    }
    ours, theirs = to_dgl(build_arrays(take(pairs, batches[0]))), singles(pairs, batches[0])
    for etype in ours.canonical_etypes:
        for mine, other in zip(ours.edges(etype=etype), theirs.edges(etype=etype), strict=True):
            assert torch.equal(mine, other), etype

    slow = set(list(ways)[2:])
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number, rows in enumerate(batches):
        for name, build in ways.items():
            if name in slow and number % 10:  # takes a hundred times as long: every tenth batch will do
                continue
            start = time.perf_counter()
            build(rows)
            if number >= len(batches) // 10:
                seconds[name].append(time.perf_counter() - start)
    results = []
    print(f"\n{'way':<34}{'ms a batch':>12}{'(quartiles)':>18}{'pairs/s':>10}")
    for name, times in seconds.items():
        first, median, third = statistics.quantiles(times, n=4)
        speed = options.batch_size / median
        print(f"{name:<34}{median * 1e3:>12.2f}{f'({first * 1e3:.2f} - {third * 1e3:.2f})':>18}{speed:>10,.0f}")
        results.append(
            {"candidate": name, "batch_size": options.batch_size, "ms": median * 1e3, "pairs_per_second": speed}
        )
    if options.json:
        options.json.write_text(
            json.dumps({"dataset": options.dataset, "results": results}, indent=1), encoding="utf-8"
        )


def take(pairs: PreparedPairs, rows: np.ndarray) -> SentenceTable:
    return pairs.sentences.take(interleave(pairs.a[rows], pairs.b[rows]))


def singles(pairs: PreparedPairs, rows: np.ndarray) -> dgl.DGLGraph:
    return dgl.batch([to_dgl(build_arrays(take(pairs, rows[i : i + 1]))) for i in range(len(rows))])


if __name__ == "__main__":
    run_cli(main)
