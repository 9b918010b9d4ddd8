"""How fast MD-GAT's messages pass: letgraph's kernels against the ways that other libraries offer.

    python benchmarks/message_passing.py [--dataset lcqmc] [--quick] [--json FILE] [--plot FILE.png]

Every candidate computes the same layer (the same weights, checked first) from nodes of one edge type of LET's graph:
projections, feature-wise softmax, sum. `projections` does the matrix products of the layer and no message passing: no
way to compute it can be faster. Candidates run in turn, after a warm-up; figures are medians with quartiles. Peak is
what torch allocates in one forward and backward pass; what DGL allocates for itself is not seen.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import dgl.function as fn
import numpy as np
import torch
from dgl.nn.functional import edge_softmax
from harness import Candidate, add_options, as_dict, figure, measure, print_table, write_json
from torch import Tensor

from letgraph import schema
from letgraph.blocks import Neighbourhood, NodeBlocks
from letgraph.data.collate import Collator, PairBatch
from letgraph.data.corpora import open_corpus
from letgraph.errors import LetgraphError, run_cli
from letgraph.inputs import open_knowledge
from letgraph.nn.md_attention import md_attention_definition
from letgraph.nn.mdgat import MDGAT
from letgraph.text.clean import clean
from letgraph.text.features import featurise
from letgraph.text.lexicon import Lexicon
from letgraph.text.segment import load_segmenter, resolve
from letgraph.text.vocabulary import CharVocabulary

FEATURES = 128
CHARACTERS = 800
"""Of the a sentences of a batch together, where lengths are compared: longer sentences are fewer."""

MAX_BYTES = 1.5e9
"""Candidates that would make a tensor larger than this are left out, and said to be."""

OTHERS = (
    "tab:blue",
    "tab:orange",
    "tab:green",
    "tab:purple",
    "tab:brown",
    "tab:pink",
    "tab:gray",
    "tab:olive",
    "tab:cyan",
)
"""Colours of the candidates that are not ours: red is."""

Attend = Callable[[Neighbourhood, Tensor, Tensor, Tensor, Tensor], Tensor]
"""Neighbourhood, q, k, f, v -> sums; the last four are (nodes, 1, features)."""


def dgl_edge_softmax(n: Neighbourhood, q: Tensor, k: Tensor, f: Tensor, v: Tensor) -> Tensor:
    """DGL's built-in functions over (edges, features)."""
    graph = n.to_graph()
    with graph.local_scope():
        graph.srcdata.update({"k": k / k.shape[-1] ** 0.5, "f": f, "v": v})
        graph.dstdata["q"] = q
        graph.apply_edges(fn.v_dot_u("q", "k", "s"))
        graph.apply_edges(fn.copy_u("f", "f"))
        graph.edata["a"] = edge_softmax(graph, graph.edata["s"] + graph.edata["f"])
        graph.update_all(fn.u_mul_e("v", "a", "m"), fn.sum("m", "out"))
        return graph.dstdata["out"]


def dgl_user_defined(n: Neighbourhood, q: Tensor, k: Tensor, f: Tensor, v: Tensor) -> Tensor:
    return md_attention_definition(n.to_graph(), q, k, f, v)


def pyg(n: Neighbourhood, q: Tensor, k: Tensor, f: Tensor, v: Tensor) -> Tensor:
    """PyG's softmax over the edges of each destination, then `index_add`."""
    from torch_geometric.utils import softmax

    sources, destinations = n.to_graph().edges()
    logits = (q[destinations] * k[sources]).sum(-1, keepdim=True) / k.shape[-1] ** 0.5 + f[sources]
    alpha = softmax(logits, destinations, num_nodes=len(q))
    return torch.zeros_like(q).index_add(0, destinations, alpha * v[sources])


def padded(n: Neighbourhood, q: Tensor, k: Tensor, f: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    """Mask (G, N_dst, N_src) and the features in blocks of the longest sentence of the batch."""
    (mask,) = n.masks
    (q, *sources) = (x.squeeze(1) for x in (q, k, f, v))
    blocks = [n.src.views(n.src.pad(x))[0] for x in sources]
    return mask, n.dst.views(n.dst.pad(q))[0], *blocks


def padded_feature_wise(n: Neighbourhood, q: Tensor, k: Tensor, f: Tensor, v: Tensor) -> Tensor:
    """torch alone, the softmax over a tensor (G, N_dst, N_src, features)."""
    mask, q, k, f, v = padded(n, q, k, f, v)
    scores = (q @ k.transpose(1, 2)).unsqueeze(-1) / k.shape[-1] ** 0.5 + f.unsqueeze(1)
    alpha = scores.masked_fill(~mask.unsqueeze(-1), -torch.inf).softmax(2).nan_to_num(0)
    return n.dst.flatten((alpha * v.unsqueeze(1)).sum(2).flatten(0, 1)).unsqueeze(1)


def padded_factored(n: Neighbourhood, q: Tensor, k: Tensor, f: Tensor, v: Tensor) -> Tensor:
    """torch alone, the factored form by masked matrix products."""
    mask, q, k, f, v = padded(n, q, k, f, v)
    scores = (q @ k.transpose(1, 2) / k.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
    a = (scores - scores.detach().amax(-1, keepdim=True).clamp_min(-1e30)).exp()
    e = (f - f.detach().flatten(0, 1).amax(0)).exp()
    numerator, denominator = (a @ torch.cat([e * v, e], -1)).chunk(2, -1)
    return n.dst.flatten((numerator / denominator.clamp_min(1e-30)).flatten(0, 1)).unsqueeze(1)


def candidates(etype: schema.EdgeType, batch: PairBatch) -> tuple[list[Candidate], list[str]]:
    """The candidates for one edge type of the batch, and the names of those that are too large for it."""
    edges = batch.edges[etype]
    one_bucket = _one_bucket(edges, batch, etype)
    torch.manual_seed(0)
    layer = MDGAT(FEATURES, FEATURES)
    destinations = torch.randn(len(edges.dst.place), FEATURES, requires_grad=True)
    sources = torch.randn(len(edges.src.place), FEATURES, requires_grad=True)
    inputs = [destinations, sources, *layer.parameters()]

    def project() -> tuple[Tensor, ...]:
        return layer.project(destinations, sources)

    def ours(kernel: Any) -> Callable[[], Sequence[Tensor]]:
        def run() -> Sequence[Tensor]:
            layer.kernel = kernel
            return [layer(edges, destinations, sources)]

        return run

    def theirs(attend: Attend, neighbourhood: Neighbourhood) -> Callable[[], Sequence[Tensor]]:
        return lambda: [attend(neighbourhood, *project()).flatten(1)]

    over_edges = edges.to_graph().num_edges() * FEATURES * 4
    over_places = len(one_bucket.mask) * FEATURES * 4
    found: list[tuple[str, Callable[[], Sequence[Tensor]], float]] = [
        ("letgraph", ours("auto"), 0),
        ("letgraph blocks", ours("blocks"), 0),
        ("letgraph edges", ours("edges"), 0),
        ("letgraph scatter", ours("scatter"), over_edges),
        ("padded dense, factored", theirs(padded_factored, one_bucket), 0),
        ("padded dense, feature-wise", theirs(padded_feature_wise, one_bucket), over_places),
        ("DGL edge_softmax, feature-wise", theirs(dgl_edge_softmax, edges), over_edges),
        ("DGL user-defined functions", theirs(dgl_user_defined, edges), over_edges),
        ("PyG softmax, feature-wise", theirs(pyg, edges), over_edges),
    ]
    kept = [Candidate(name, run, inputs) for name, run, size in found if size <= MAX_BYTES]
    floor = Candidate("projections", project, inputs, compared=False)
    return [floor, *kept], [name for name, _, size in found if size > MAX_BYTES]


def _one_bucket(edges: Neighbourhood, batch: PairBatch, etype: schema.EdgeType) -> Neighbourhood:
    """The same edges, every block padded to the longest sentence of the batch."""

    def blocks(ntype: str) -> NodeBlocks:
        sentence = 2 * batch.pair[ntype] + batch.graph.nodes[ntype].data["sentence"]
        return NodeBlocks.from_counts(np.bincount(sentence.numpy(), minlength=2 * len(batch)))

    src, dst = blocks(etype[0]), blocks(etype[2])
    if etype == schema.CROSS:
        src = src.partners()
    sources, destinations = (part.numpy() for part in edges.to_graph().edges())
    one = Neighbourhood.from_edges(src, dst, sources, destinations)
    assert len(one.masks) == 1
    return one


class Texts:
    """Sentence pairs of a corpus, and batches of them in any size and length."""

    def __init__(self, dataset: str, data_dir: Any, lexicon: Lexicon) -> None:
        split = open_corpus(dataset, data_dir).load("dev")
        self.pairs = [(clean(a).text, clean(b).text) for a, b in zip(split.a, split.b, strict=True)]
        self.lexicon = lexicon
        self.segmenters = [load_segmenter(name) for name in resolve("lattice")]

    def batch(self, size: int, length: int | None = None) -> PairBatch:
        """``size`` pairs, as they are or, with ``length``, of sentences of so many characters strung together."""
        random = np.random.default_rng(0)
        chosen = [self.pairs[i] for i in random.integers(len(self.pairs), size=size)]
        if length is not None:
            chosen = [(self._long(random, length), self._long(random, length)) for _ in range(size)]
        table = featurise([sentence for pair in chosen for sentence in pair], self.segmenters, self.lexicon)
        return Collator(CharVocabulary.build(table.chars.values))(table)

    def _long(self, random: np.random.Generator, length: int) -> str:
        text = ""
        while len(text) < length:
            text += self.pairs[random.integers(len(self.pairs))][0] + "，"
        return text[:length]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--edge-type", choices=[etype[1] for etype in schema.edge_types(sememes=False)])
    parser.add_argument("--batch-sizes", type=int, nargs="*")
    parser.add_argument("--lengths", type=int, nargs="*", help=f"characters a sentence, {CHARACTERS} a batch and side")
    parser.add_argument("--seconds", type=float, help="for the rounds of each table")
    options = parser.parse_args()
    if min([*(options.batch_sizes or []), *(options.lengths or []), 1]) < 1:
        raise LetgraphError("batch sizes and lengths have to be 1 or more")
    torch.set_num_threads(options.threads)
    quick = options.quick
    sizes = options.batch_sizes if options.batch_sizes is not None else [32] if quick else [8, 32, 64, 128, 256, 512]
    lengths = options.lengths if options.lengths is not None else [] if quick else [10, 25, 50, 100, 200, 400]
    seconds = options.seconds or (1.5 if quick else 8.0)
    wanted = [etype for etype in schema.edge_types(sememes=False) if options.edge_type in (None, etype[1])]

    lexicon = open_knowledge(options.dataset, options.data_dir, options.hownet, None).lexicon
    texts = Texts(options.dataset, options.data_dir, lexicon)
    results: list[dict[str, Any]] = []
    by_length = ((max(CHARACTERS // length, 1), length) for length in lengths)
    for size, length in [*((size, None) for size in sizes), *by_length]:
        batch = texts.batch(size, length)
        for etype in wanted:
            results += run(etype, batch, length, seconds)
    write_json(options.json, results, dataset=options.dataset, threads=options.threads, features=FEATURES)
    figure(options.plot, lambda canvas: draw(canvas, results))


def run(etype: schema.EdgeType, batch: PairBatch, length: int | None, seconds: float) -> list[dict[str, Any]]:
    chosen, left_out = candidates(etype, batch)
    edges = batch.graph.num_edges(etype)
    text = f"{length} characters a sentence" if length else "sentences as they are"
    rows = measure(chosen, seconds)
    counts = f"{batch.graph.num_nodes(etype[0]):,} -> {batch.graph.num_nodes(etype[2]):,} nodes, {edges:,} edges"
    print_table(f"{'-'.join(etype)}, {len(batch)} pairs, {text}: {counts}; ms", rows, "projections")
    for candidate in chosen:
        if not candidate.both:
            print(f"{candidate.name:<34}left out: its first pass took {candidate.first:.1f} s")
    for name in left_out:
        print(f"{name:<34}left out: it would make a tensor of more than {MAX_BYTES / 1e9} GB")
    place = {"edge_type": etype[1], "batch_size": len(batch), "length": length, "edges": edges}
    return [as_dict(row, **place) for row in rows]


def draw(canvas: Any, results: Sequence[dict[str, Any]]) -> None:
    """Forward and backward of word -> sense (or else the first edge type) over batch size and over length."""
    edge_types = {row["edge_type"] for row in results}
    shown = "fw" if "fw" in edge_types else sorted(edge_types)[0]
    rows = [row for row in results if row["edge_type"] == shown]
    panels = [
        ("pairs a batch", "batch_size", [row for row in rows if row["length"] is None]),
        (
            f"characters a sentence, {CHARACTERS} a batch and side",
            "length",
            [row for row in rows if row["length"] is not None],
        ),
    ]
    panels = [panel for panel in panels if panel[2]]
    for number, (label, key, part) in enumerate(panels):
        axes = canvas.add_subplot(1, len(panels), number + 1)
        axes.set_prop_cycle(color=OTHERS)
        for name in dict.fromkeys(row["candidate"] for row in part):
            line = [(row[key], row["forward_backward_ms"]) for row in part if row["candidate"] == name]
            style = {"projections": "k--", "letgraph": "ro-"}.get(name, ".-")
            axes.plot(*zip(*line, strict=True), style, label=name, linewidth=2.5 if name == "letgraph" else 1.2)
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel="forward and backward, ms")
        axes.grid(alpha=0.3, which="both")
        axes.set_title(f"MD-GAT over edge type '{shown}'")
    handles, labels = axes.get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)


if __name__ == "__main__":
    run_cli(main)
