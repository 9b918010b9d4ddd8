"""From sentence features to the node and edge arrays of one batched heterograph.

Nodes are numbered pair by pair and, inside a pair, sentence a before sentence b: what `dgl.batch` of the graphs of
single pairs would give. No function here loops over nodes, edges or pairs in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import dgl
import numpy as np
import torch
from numpy.typing import NDArray

from letgraph import schema
from letgraph.ragged import Ragged, offsets_of, ranges
from letgraph.text.features import SentenceTable

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class GraphArrays:
    """A batch of graphs as flat arrays.

    ``counts[ntype]`` (2B,): nodes per sentence. ``edges[etype]``: source and destination node numbers.
    ``nodes[ntype][name]``: node data (``char``: ``code``; ``word``: ``start``, ``end``; ``sense``: ``sense`` id;
    ``sememe``: ``sememe`` id; all: ``sentence``, 0 for a and 1 for b).
    """

    counts: Mapping[str, Ints]
    edges: Mapping[schema.EdgeType, tuple[Ints, Ints]]
    nodes: Mapping[str, Mapping[str, Ints]]


def build_arrays(
    table: SentenceTable,
    *,
    senses: bool = True,
    sense_sememes: Ragged | None = None,
    sememe_context: schema.SememeContext = "sense",
    dummy_sememe: bool = False,
    boundary_chars: bool = False,
    edges: bool = True,
) -> GraphArrays:
    """The graph arrays of a batch of pairs.

    Parameters
    ----------
    table: features of 2B sentences; pair p is made of sentences 2p and 2p + 1.
    senses: with senses, words reach senses; without, words reach words.
    sense_sememes: sense id -> sememe ids; given, the sememe nodes are part of the graph.
    sememe_context: which sememes share a context, see `letgraph.schema.SememeContext`.
    dummy_sememe: with context "sentence", whether every sentence has sememe 0, though none of its senses has it; the
        lexicon's sememe i is number i + 1 then.
    boundary_chars: True gives the begin and the end word one character node each, which they cover.
    edges: False gives characters and words alone, for models that pass no messages. DGL knows no graph without edge
        types, so there is one, char -in-> word, without edges.
    """
    char_counts = table.chars.lengths
    word_counts = table.word_start.lengths
    sentences = np.arange(len(table))
    partner = sentences ^ 1
    word_sentence = np.repeat(sentences, word_counts)
    start = table.word_start.values.astype(np.int64)
    end = table.word_end.values.astype(np.int64)
    codes = table.chars.values.astype(np.int64)
    if boundary_chars:
        last = table.word_start.offsets[1:] - 1
        start += 1
        end += 1
        start[table.word_start.offsets[:-1]] -= 1
        end[last] += 1
        padded = np.full(len(codes) + 2 * len(table), -1, np.int64)
        padded[np.arange(len(codes)) + 2 * np.repeat(sentences, char_counts) + 1] = codes
        codes, char_counts = padded, char_counts + 2

    char_offsets = offsets_of(char_counts)
    word_offsets = table.word_start.offsets
    char_sentence = np.repeat(sentences, char_counts)
    counts = {schema.CHAR: char_counts, schema.WORD: word_counts}
    nodes: dict[str, dict[str, Ints]] = {
        schema.CHAR: {"code": codes, "sentence": char_sentence % 2},
        schema.WORD: {"start": start, "end": end, "sentence": word_sentence % 2},
    }
    if not edges:
        return GraphArrays(counts, {schema.IN: (np.zeros(0, np.int64), np.zeros(0, np.int64))}, nodes)
    length = end - start
    covered = np.repeat(char_offsets[word_sentence] + start, length) + ranges(length)
    covering = np.repeat(np.arange(len(start)), length)

    def complete(of: Ints) -> tuple[Ints, Ints]:
        """Each character's edges from all characters of sentence ``of[its sentence]``."""
        degree = char_counts[of][char_sentence]
        first = char_offsets[of][char_sentence]
        return np.repeat(first, degree) + ranges(degree), np.repeat(np.arange(len(char_sentence)), degree)

    found: dict[schema.EdgeType, tuple[Ints, Ints]] = {
        schema.IN: (covered, covering),
        schema.COVERS: (covering, covered),
        schema.SELF: complete(sentences),
        schema.CROSS: complete(partner),
    }
    edge_sentence = np.repeat(sentences, table.reach_from.lengths)
    reach_from = word_offsets[edge_sentence] + table.reach_from.values
    reach_to = word_offsets[edge_sentence] + table.reach_to.values
    if not senses:
        apart = reach_from != reach_to
        # DGL takes the edges of a batch to stand graph by graph.
        order = np.argsort(np.concatenate([edge_sentence, edge_sentence[apart]]), kind="stable")
        found[schema.REACH] = (
            np.concatenate([reach_to, reach_from[apart]])[order],
            np.concatenate([reach_from, reach_to[apart]])[order],
        )
        return GraphArrays(counts, found, nodes)

    word_senses = table.word_senses.values.astype(np.int64)
    sense_offsets = offsets_of(word_senses)
    sense_ids = table.senses.values.astype(np.int64)
    sense_sentence = np.repeat(sentences, table.senses.lengths)

    def to_senses(sources: Ints, words: Ints) -> tuple[Ints, Ints]:
        """Edges word -> word as edges word -> each sense of the destination."""
        copies = word_senses[words]
        return np.repeat(sources, copies), np.repeat(sense_offsets[words], copies) + ranges(copies)

    found[schema.FORWARD] = to_senses(reach_to, reach_from)
    found[schema.BACKWARD] = to_senses(reach_from, reach_to)
    found[schema.SENSE_OF] = (np.arange(len(sense_ids)), np.repeat(np.arange(len(start)), word_senses))
    counts[schema.SENSE] = table.senses.lengths
    nodes[schema.SENSE] = {"sense": sense_ids, "sentence": sense_sentence % 2}
    if sense_sememes is not None:
        leaves = sense_sememes.take(sense_ids)
        leaf_sense = np.repeat(np.arange(len(sense_ids)), leaves.lengths)
        leaf_sentence = sense_sentence[leaf_sense]
        sememe_ids = leaves.values.astype(np.int64)
        if sememe_context == "sentence":
            if dummy_sememe:
                sememe_ids = np.concatenate([sememe_ids + 1, np.zeros(len(sentences), np.int64)])
                leaf_sentence = np.concatenate([leaf_sentence, sentences])
            span = int(sememe_ids.max(initial=0)) + 1
            keys, node = np.unique(leaf_sentence * span + sememe_ids, return_inverse=True)
            node = node[: len(leaf_sense)]
            sememe_ids, leaf_sentence, group = keys % span, keys // span, keys // span
        else:
            node, group = np.arange(len(sememe_ids)), leaf_sense
        found[schema.SEMEME_OF] = (node, leaf_sense)
        found[schema.CONTEXT] = _complete_groups(group)
        counts[schema.SEMEME] = np.bincount(leaf_sentence, minlength=len(table))
        nodes[schema.SEMEME] = {"sememe": sememe_ids, "sentence": leaf_sentence % 2}
    return GraphArrays(counts, found, nodes)


def _complete_groups(group: Ints) -> tuple[Ints, Ints]:
    """Complete graphs, loops included, among consecutive nodes of equal group number."""
    if not len(group):
        return group, group
    sizes = np.diff(np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1], [True]])))
    first = np.repeat(offsets_of(sizes)[:-1], sizes)
    degree = np.repeat(sizes, sizes)
    return np.repeat(first, degree) + ranges(degree), np.repeat(np.arange(len(group)), degree)


def to_dgl(arrays: GraphArrays) -> dgl.DGLGraph:
    """The arrays as one batched heterograph, with batch information for `dgl.unbatch`."""
    graph = dgl.heterograph(
        {etype: (torch.from_numpy(src), torch.from_numpy(dst)) for etype, (src, dst) in arrays.edges.items()},
        num_nodes_dict={ntype: int(counts.sum()) for ntype, counts in arrays.counts.items()},
    )
    per_pair = {ntype: counts.reshape(-1, 2).sum(1) for ntype, counts in arrays.counts.items()}
    graph.set_batch_num_nodes({ntype: torch.from_numpy(counts) for ntype, counts in per_pair.items()})
    graph.set_batch_num_edges(
        {etype: torch.from_numpy(_edges_per_pair(per_pair[etype[2]], dst)) for etype, (_, dst) in arrays.edges.items()}
    )
    for ntype, data in arrays.nodes.items():
        for name, values in data.items():
            graph.nodes[ntype].data[name] = torch.from_numpy(values)
    return graph


def _edges_per_pair(nodes_per_pair: Ints, destinations: Ints) -> Ints:
    pair = np.repeat(np.arange(len(nodes_per_pair)), nodes_per_pair)
    return np.bincount(pair[destinations], minlength=len(nodes_per_pair))
