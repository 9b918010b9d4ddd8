"""How fast batches are built: one heterograph from flat arrays against graphs of single pairs that are batched.

    python benchmarks/batching.py [--dataset lcqmc] [--batch-size 32] [--quick] [--json FILE] [--plot FILE.png]

`graph` candidates end in one batched graph with the same edges (checked first); `PairBatch` adds the dense blocks and
the tokens that a model reads. `received from a worker` is the time in which the process that trains takes over a
`PairBatch` that another process has built ahead. Batches are built in turn, after a warm-up; figures are medians with
quartiles.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import dgl
import numpy as np
import torch
from harness import add_options, figure, write_json
from torch.utils.data import DataLoader

from letgraph.data.collate import Collator, PairBatch, interleave
from letgraph.data.corpora import open_corpus
from letgraph.data.graph import GraphArrays, build_arrays, to_dgl
from letgraph.data.store import PreparedPairs
from letgraph.errors import LetgraphError, run_cli
from letgraph.inputs import open_knowledge, open_split
from letgraph.text.features import SentenceTable
from letgraph.text.segment import resolve
from letgraph.text.vocabulary import CharVocabulary

SLOW = 10
"""Graphs of single pairs take a hundred times as long: they are built for every tenth batch only."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.set_defaults(threads=1)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--batches", type=int)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    count = options.batches or (60 if options.quick else 200)
    if count < 4 * SLOW:
        raise LetgraphError(f"--batches {count}: give at least {4 * SLOW}")

    lexicon = open_knowledge(options.dataset, options.data_dir, options.hownet, None).lexicon
    corpus = open_corpus(options.dataset, options.data_dir)
    pairs = open_split(corpus, options.split, resolve("lattice"), lexicon)
    collator = Collator(CharVocabulary.build(pairs.sentences.chars.values))
    random = np.random.default_rng(0)
    batches = [random.integers(len(pairs), size=options.batch_size) for _ in range(count)]

    def build(rows: np.ndarray) -> PairBatch:
        return collator(take(pairs, rows), pairs.labels[rows])  # type: ignore[index]

    ways: dict[str, Callable[[np.ndarray], Any]] = {
        "letgraph, PairBatch": build,
        "letgraph, graph": lambda rows: to_dgl(build_arrays(take(pairs, rows))),
        "singles + dgl.batch, graph": lambda rows: dgl.batch([to_dgl(one) for one in singles(pairs, rows)]),
        "singles + PyG from_data_list, graph": lambda rows: pyg_batch(singles(pairs, rows)),
    }
    check_agreement(*(way(batches[0]) for way in list(ways.values())[1:]))
    worker = iter(DataLoader(batches, batch_size=None, num_workers=1, collate_fn=build))  # type: ignore[arg-type]
    ways["letgraph, received from a worker"] = lambda rows: next(worker)
    seconds = time_ways(ways, batches)

    results = []
    print(f"\n{options.batch_size} pairs a batch\n{'way':<38}{'ms a batch':>12}{'(quartiles)':>20}{'pairs/s':>10}")
    for name, times in seconds.items():
        first, median, third = (quartile * 1e3 for quartile in statistics.quantiles(times, n=4))
        speed = options.batch_size / median * 1e3
        print(f"{name:<38}{median:>12.2f}{f'({first:.2f} - {third:.2f})':>20}{speed:>10,.0f}")
        results.append({"candidate": name, "batch_size": options.batch_size, "ms": median, "pairs_per_second": speed})
    ratio = results[2]["ms"] / results[1]["ms"]
    print(f"\none graph from flat arrays is {ratio:.0f} times as fast as single graphs and dgl.batch")
    write_json(options.json, results, dataset=options.dataset, threads=options.threads)
    figure(options.plot, lambda canvas: draw(canvas, results))


def take(pairs: PreparedPairs, rows: np.ndarray) -> SentenceTable:
    return pairs.sentences.take(interleave(pairs.a[rows], pairs.b[rows]))


def singles(pairs: PreparedPairs, rows: np.ndarray) -> list[GraphArrays]:
    return [build_arrays(take(pairs, rows[i : i + 1])) for i in range(len(rows))]


def pyg_batch(graphs: Sequence[GraphArrays]) -> Any:
    from torch_geometric.data import Batch, HeteroData

    found = []
    for arrays in graphs:
        data = HeteroData()
        for ntype, counts in arrays.counts.items():
            data[ntype].num_nodes = int(counts.sum())
            for name, values in arrays.nodes[ntype].items():
                data[ntype][name] = torch.from_numpy(values)
        for etype, (sources, destinations) in arrays.edges.items():
            data[etype].edge_index = torch.from_numpy(np.stack([sources, destinations]))
        found.append(data)
    return Batch.from_data_list(found)


def check_agreement(ours: dgl.DGLGraph, theirs: dgl.DGLGraph, pyg: Any) -> None:
    for etype in ours.canonical_etypes:
        edges = torch.stack(ours.edges(etype=etype))
        assert torch.equal(edges, torch.stack(theirs.edges(etype=etype))), etype
        assert torch.equal(edges, pyg[etype].edge_index), etype


def time_ways(ways: dict[str, Callable[[np.ndarray], Any]], batches: Sequence[np.ndarray]) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number, rows in enumerate(batches):
        for name, build in ways.items():
            if name.startswith("singles") and number % SLOW:
                continue
            start = time.perf_counter()
            build(rows)
            if number >= len(batches) // 10:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def draw(canvas: Any, results: Sequence[dict[str, Any]]) -> None:
    axes = canvas.add_subplot()
    axes.barh([row["candidate"] for row in results], [row["pairs_per_second"] for row in results])
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="pairs a second", title="Building batches")


if __name__ == "__main__":
    run_cli(main)
