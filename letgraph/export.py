"""Sentence pairs as networkx graphs and as files that graph programs read.

`to_networkx` gives a `networkx.MultiDiGraph` whose attributes are str, int, float and bool only, so that every format
of networkx holds them; `write_graph` writes GraphML, GEXF, DOT or JSON. DGL's own `dgl.to_networkx` knows one node and
one edge type.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from letgraph import schema
from letgraph.errors import LetgraphError
from letgraph.output import whole_file
from letgraph.viewing.view import PairView, view_of

if TYPE_CHECKING:
    from letgraph.data.collate import PairBatch
    from letgraph.nn.attention_record import AttentionRecord
    from letgraph.text.lexicon import Lexicon


def to_networkx(
    pair: PairView | PairBatch,
    index: int = 0,
    *,
    lexicon: Lexicon | None = None,
    records: Sequence[AttentionRecord] = (),
    vectors: bool = False,
) -> nx.MultiDiGraph:
    r"""The graph of one pair.

    Nodes are called by their ``name`` and carry the other attributes of `PairView.nodes`. Every edge has a key of its
    own, ``relation`` (the middle of its type in `letgraph.schema`: in, fw, bw, of, covers, self, cross, ctx, reach)
    and, with a model's attention:

    * ``weight_1``, ``weight_2``, …: :math:`\frac{1}{D} \sum_d \alpha_{ij}[d]` of each layer of SaGT, and ``weight``,
      that of the last one or of the only one;
    * ``alpha_1``, …, or ``alpha``, with ``vectors``: the D values α_ij[d] themselves, as text, joined by blanks;
    * ``matched`` on ``cross`` edges: each of the two characters has the greatest weight for the other.

    Graph attributes: ``text_a``, ``text_b``, ``segmenters`` and ``probability``, where known.

    Parameters
    ----------
    pair: a `PairView`, or a `PairBatch` of which pair ``index`` is taken.
    lexicon, records: for a `PairBatch`, see `letgraph.viewing.view.view_of`.
    vectors: whether edges carry all D values; files grow by about 10 bytes a value.
    """
    view = pair if isinstance(pair, PairView) else view_of(pair, index, lexicon=lexicon, records=records)
    graph = nx.MultiDiGraph(text_a=view.texts[0], text_b=view.texts[1])
    if view.segmenters:
        graph.graph["segmenters"] = " ".join(view.segmenters)
    if view.probability is not None:
        graph.graph["probability"] = view.probability
    for nodes in view.nodes.values():
        for node in nodes:
            graph.add_node(node["name"], **{key: value for key, value in node.items() if key != "name"})
    for etype, (sources, destinations) in view.edges.items():
        names = [[node["name"] for node in view.nodes[ntype]] for ntype in (etype[0], etype[2])]
        weights = _weights(view, etype, vectors)
        for row, (source, destination) in enumerate(zip(sources.tolist(), destinations.tolist(), strict=True)):
            attributes = {name: values[row] for name, values in weights.items()}
            key = f"{etype[0]}.{etype[1]}.{row}"
            graph.add_edge(names[0][source], names[1][destination], key, relation=etype[1], **attributes)
    return graph


def _weights(view: PairView, etype: schema.EdgeType, vectors: bool) -> dict[str, list[Any]]:
    """Attribute -> its value for every edge."""
    found: dict[str, list[Any]] = {}
    layers = view.attention.get(etype, {})
    for layer, alpha in sorted(layers.items()):
        suffix = f"_{layer}" if layer else ""
        found["weight" + suffix] = alpha.mean(1, dtype=np.float64).tolist()
        if vectors:
            found["alpha" + suffix] = [" ".join(f"{value:.9g}" for value in row) for row in alpha.tolist()]
    if layers and 0 not in layers:
        found["weight"] = found[f"weight_{max(layers)}"]
    if etype == schema.CROSS and layers:
        found["matched"] = view.matched().tolist()
    return found


def write_graph(graph: nx.MultiDiGraph, path: Path) -> None:
    """Write what `to_networkx` gives in the format of the suffix, see `FORMATS`; the file appears whole or not at all.

    Raises `LetgraphError` for another suffix, and for characters that XML cannot hold.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise LetgraphError(f"{path}: no graph format {suffix or 'without a suffix'}; one of {', '.join(FORMATS)}")
    content = FORMATS[suffix](graph)
    with whole_file(path) as stream:
        stream.write(content)


def _graphml(graph: nx.MultiDiGraph) -> bytes:
    _check_xml(graph)
    stream = io.BytesIO()
    nx.write_graphml_xml(graph, stream, prettyprint=False)
    return stream.getvalue()


def _gexf(graph: nx.MultiDiGraph) -> bytes:
    _check_xml(graph)
    stream = io.BytesIO()
    nx.write_gexf(graph, stream)
    return stream.getvalue()


def _check_xml(graph: nx.MultiDiGraph) -> None:
    for char in "\ufffe\uffff":
        if any(char in text for text in (graph.graph["text_a"], graph.graph["text_b"])):
            raise LetgraphError(f"the sentences have U+{ord(char):04X}, which XML cannot hold; write .json or .dot")


def _dot(graph: nx.MultiDiGraph) -> bytes:
    lines = ["digraph {", *(f"  {key}={_quoted(value)};" for key, value in graph.graph.items())]
    lines += [f"  {_quoted(node)} {_attributes(data)};" for node, data in graph.nodes(data=True)]
    lines += [f"  {_quoted(u)} -> {_quoted(v)} {_attributes(data)};" for u, v, data in graph.edges(data=True)]
    return "\n".join([*lines, "}", ""]).encode()


def _attributes(data: dict[str, Any]) -> str:
    return f"[{', '.join(f'{key}={_quoted(value)}' for key, value in data.items())}]"


def _quoted(value: object) -> str:
    # A backslash is doubled, or it would escape what follows: the closing quote, or a letter when a label is drawn.
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _json(graph: nx.MultiDiGraph) -> bytes:
    return json.dumps(nx.node_link_data(graph, edges="edges"), ensure_ascii=False, indent=1).encode()


FORMATS: dict[str, Callable[[nx.MultiDiGraph], bytes]] = {
    ".graphml": _graphml,
    ".gexf": _gexf,
    ".dot": _dot,
    ".json": _json,
}
"""Suffix -> what writes the format. GraphML and JSON keep everything. GEXF has no place for graph attributes. DOT has
no numbers: its values are text, and its edges have no keys."""
