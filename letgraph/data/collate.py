"""From rows of a prepared split to one `PairBatch`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import dgl
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from letgraph import schema
from letgraph.blocks import Neighbourhood, NodeBlocks, bucket_by_size, bucket_pairs
from letgraph.data.cut import cut_pairs
from letgraph.data.graph import GraphArrays, build_arrays, to_dgl
from letgraph.data.injection import TokenRows, inject, that_fit
from letgraph.data.word_path import WordPath
from letgraph.ragged import Ragged, offsets_of, ranges
from letgraph.text.features import SentenceTable
from letgraph.text.tokens import Tokens
from letgraph.text.triples import Triples
from letgraph.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class PairBatch:
    """B sentence pairs as one batched heterograph plus the tokens of the character encoder.

    ``graph``: DGL heterograph with the types of `letgraph.schema`. ``edges``: its edge types as dense blocks, one a
    sentence (sentence 2p is a of pair p, 2p + 1 is b). ``sentences``: edges from every character to one node for its
    sentence. ``pair`` (nodes,) of each node type: the pair of every node. ``boundary`` (2, 2B): the begin and the end
    word of every sentence. ``input_ids``, ``token_type_ids``, ``position_ids``, ``attention_mask`` (B, L): ``[CLS] a
    [SEP] b [SEP]``; types are 0 up to the last token before b and 1 from there on; positions by
    `letgraph.schema.Positions`. ``char_token`` (characters,): where the token of a character stands in the flattened
    (B * L) tokens. ``senses`` (S,): the lexicon's sense ids. ``labels`` (B,) or None.
    ``word_of_char`` (characters,), where it was asked for: the batch's words, when each sentence is cut into the fewest
    (`letgraph.text.lattice.fewest_words`), numbered through, and of each character which it belongs to.
    ``visible`` (B, L, L), where triples are injected: whether token i may attend to token j; then tokens and positions
    are those of `letgraph.data.injection.inject`, triples included.
    """

    graph: dgl.DGLGraph
    edges: dict[schema.EdgeType, Neighbourhood]
    sentences: Neighbourhood
    pair: dict[str, Tensor]
    boundary: Tensor
    input_ids: Tensor
    token_type_ids: Tensor
    position_ids: Tensor
    attention_mask: Tensor
    char_token: Tensor
    senses: Tensor
    labels: Tensor | None = None
    word_of_char: Tensor | None = None
    visible: Tensor | None = None

    def __len__(self) -> int:
        return len(self.input_ids)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        """All tensors on ``device``. The DGL graph follows where DGL was built for that device; else it stays on the
        CPU and its kernels are not used: dense blocks serve for all edge types."""
        moved = self._map("to", device, non_blocking=non_blocking)
        has_kernels = torch.device(device).type == "cpu" or _dgl_has_cuda()
        graph = self.graph.to(device) if has_kernels else self.graph
        edges = {
            etype: replace(neighbourhood, graph=graph[etype] if has_kernels else None)
            for etype, neighbourhood in moved.edges.items()
        }
        return replace(moved, graph=graph, edges=edges)

    def pin_memory(self) -> Self:
        return self._map("pin_memory")

    def _map(self, method: str, *args: object, **options: object) -> Self:
        def call(value: object) -> object:
            if isinstance(value, dict):
                return {key: call(item) for key, item in value.items()}
            return getattr(value, method)(*args, **options)

        values = {name: value for name, value in vars(self).items() if name != "graph" and value is not None}
        return replace(self, **{name: call(value) for name, value in values.items()})  # type: ignore[arg-type]


@lru_cache
def _dgl_has_cuda() -> bool:
    try:
        dgl.graph(([], [])).to("cuda")
    except (dgl.DGLError, RuntimeError, AssertionError):
        return False
    return True


@dataclass(frozen=True)
class Collator:
    """Builds a `PairBatch` from a table of 2B sentences.

    ``senses``, ``sense_sememes``, ``sememe_context``, ``dummy_sememe``, ``boundary_chars`` and ``edges`` choose the
    graph, see `letgraph.data.graph.build_arrays`; ``word_path`` asks for ``word_of_char``. Pairs of more than
    ``max_tokens`` tokens are cut by `letgraph.data.cut.cut_pairs`, before the first ``max_triples`` of ``triples`` are
    injected behind each word of the path of fewest words, as long as a pair has no more than ``max_tree`` tokens.
    """

    vocabulary: Vocabulary
    senses: bool = True
    sense_sememes: Ragged | None = None
    sememe_context: schema.SememeContext = "sense"
    dummy_sememe: bool = False
    boundary_chars: bool = False
    positions: schema.Positions = "restart"
    max_tokens: int | None = None
    word_path: bool = False
    edges: bool = True
    triples: Triples | None = None
    max_triples: int = 0
    max_tree: int | None = None

    def __call__(self, table: SentenceTable, labels: Sequence[int] | NDArray | None = None) -> PairBatch:
        tokens = self.vocabulary.tokens(table.chars)
        if self.max_tokens is not None:
            table, tokens = cut_pairs(table, tokens, self.max_tokens - len(self.vocabulary.template))
        arrays = build_arrays(
            table,
            senses=self.senses,
            sense_sememes=self.sense_sememes,
            sememe_context=self.sememe_context,
            dummy_sememe=self.dummy_sememe,
            boundary_chars=self.boundary_chars,
            edges=self.edges,
        )
        senses = arrays.nodes[schema.SENSE]["sense"] if self.senses else np.zeros(0, np.int64)
        graph = to_dgl(arrays)
        path = WordPath.through(table) if self.word_path or self.max_triples else None
        rows, first = self._token_rows(tokens)
        if path is not None and self.max_triples:
            rows = self._inject(rows, first, table, tokens, path)
        return PairBatch(
            graph=graph,
            edges=_neighbourhoods(arrays, graph) if self.edges else {},
            sentences=_to_sentences(arrays.counts[schema.CHAR]),
            pair={ntype: _pairs(counts) for ntype, counts in arrays.counts.items()},
            boundary=torch.from_numpy(_boundary(arrays.counts[schema.WORD])),
            senses=torch.from_numpy(senses),
            labels=None if labels is None else torch.as_tensor(np.asarray(labels), dtype=torch.float32),
            word_of_char=torch.from_numpy(path.of_char) if path is not None and self.word_path else None,
            input_ids=torch.from_numpy(rows.ids),
            token_type_ids=torch.from_numpy(rows.types),
            position_ids=torch.from_numpy(rows.positions),
            attention_mask=torch.from_numpy(rows.valid),
            char_token=torch.from_numpy(rows.char_token),
            visible=None if rows.visible is None else torch.from_numpy(rows.visible),
        )

    def lengths(self, table: SentenceTable) -> NDArray[np.int64]:
        """About how many tokens each sentence becomes, to put like beside like: its characters, and the tokens of the
        triples that are injected, before anything is cut."""
        lengths = table.chars.lengths.astype(np.int64)
        if self.triples is None or not self.max_triples:
            return lengths
        path = WordPath.through(table)
        sememes = self.triples.of_words(path.senses(table), self.max_triples)
        sentence = np.repeat(path.sentence, sememes.lengths)
        tokens = self.triples.branches.lengths[sememes.values]
        return lengths + np.bincount(sentence, tokens, len(table)).astype(np.int64)

    def _inject(
        self, rows: TokenRows, first: NDArray[np.int64], table: SentenceTable, tokens: Tokens, path: WordPath
    ) -> TokenRows:
        """``first`` (2B,): where the tokens of each sentence begin."""
        assert self.triples is not None
        sememes = self.triples.of_words(path.senses(table), self.max_triples)
        word = np.repeat(np.arange(len(sememes)), sememes.lengths)
        branches = self.triples.branches.take(sememes.values)
        char, start = tokens.of_char.offsets[path.sentence], first[path.sentence]
        begin = start + tokens.of_char.values[char + path.start]
        end = start + tokens.of_char.values[char + path.end - 1]
        begin, end = begin[word], end[word]
        if self.max_tree is not None:
            fits = that_fit(rows, end, branches.lengths, self.max_tree)
            begin, end, branches = begin[fits], end[fits], branches.take(np.flatnonzero(fits))
        return inject(rows, begin, end, branches, self.vocabulary.pad)

    def _token_rows(self, tokens: Tokens) -> tuple[TokenRows, NDArray[np.int64]]:
        """The tokens of pairs, and where those of each sentence begin (2B,) in the flattened rows."""
        template, lengths = self.vocabulary.template, tokens.ids.lengths
        a, b = lengths[0::2], lengths[1::2]
        begin = np.full(len(a), len(template.prefix))  # of a
        middle = begin + a
        second = middle + len(template.middle)  # where b begins
        end = second + b
        total = end + len(template.suffix)
        width = int(total.max(initial=1))
        row, columns = np.arange(len(a)), np.arange(width)
        valid = columns < total[:, None]
        ids = np.full((len(a), width), self.vocabulary.pad, np.int64)
        for start, special in ((begin * 0, template.prefix), (middle, template.middle), (end, template.suffix)):
            for place, token in enumerate(special):
                ids[row, start + place] = token
        first = np.stack([row * width + begin, row * width + second], 1).reshape(-1)
        ids.reshape(-1)[np.repeat(first, lengths) + ranges(lengths)] = tokens.ids.values
        of_char, chars = tokens.of_char.values, tokens.of_char.lengths
        if self.boundary_chars:
            of_char, chars = _with_ends(tokens), chars + 2
        in_b = columns >= second[:, None]
        restarts = in_b if self.positions == "restart" else np.zeros_like(in_b)
        position = np.where(restarts, columns - (second - 1)[:, None], columns) * valid
        types = (in_b & valid).astype(np.int64)
        return TokenRows(ids, types, position, valid, np.repeat(first, chars) + of_char), first


def _with_ends(tokens: Tokens) -> NDArray[np.int64]:
    """`Tokens.of_char` with the special tokens before and behind each sentence as characters of their own."""
    chars = tokens.of_char
    ends = np.stack([np.full(len(chars), -1), tokens.ids.lengths], 1).reshape(-1)
    return np.insert(chars.values, np.stack([chars.offsets[:-1], chars.offsets[1:]], 1).reshape(-1), ends)


def _pairs(counts: NDArray[np.integer]) -> Tensor:
    """The pair of every node, from the nodes of every sentence."""
    return torch.from_numpy(np.repeat(np.arange(len(counts)) // 2, counts))


def _to_sentences(chars: NDArray[np.integer]) -> Neighbourhood:
    """Edges from every character to one node for its sentence."""
    buckets = bucket_by_size(chars)
    one = NodeBlocks.from_counts(np.ones_like(chars), buckets)
    return Neighbourhood.between(NodeBlocks.from_counts(chars, buckets), one)


def _boundary(words: NDArray[np.integer]) -> NDArray[np.int64]:
    """The first and the last word of every sentence."""
    offsets = offsets_of(words)
    return np.stack([offsets[:-1], offsets[1:] - 1])


def _neighbourhoods(arrays: GraphArrays, graph: dgl.DGLGraph) -> dict[schema.EdgeType, Neighbourhood]:
    # Characters meet those of the other sentence, so the two of a pair share a bucket; the rest stays in its sentence.
    chars = NodeBlocks.from_counts(arrays.counts[schema.CHAR], bucket_pairs(arrays.counts[schema.CHAR]))
    by_size = bucket_by_size(arrays.counts[schema.SENSE if schema.SENSE in arrays.counts else schema.WORD])
    blocks = {ntype: NodeBlocks.from_counts(counts, by_size) for ntype, counts in arrays.counts.items()}
    edges = {
        schema.SELF: Neighbourhood.between(chars, chars),
        schema.CROSS: Neighbourhood.between(chars.partners(), chars),
    }
    for etype, (sources, destinations) in arrays.edges.items():
        if etype not in edges:
            edges[etype] = Neighbourhood.from_edges(blocks[etype[0]], blocks[etype[2]], sources, destinations)
    return {etype: replace(neighbourhood, graph=graph[etype]) for etype, neighbourhood in edges.items()}


def interleave(a: NDArray[np.integer], b: NDArray[np.integer]) -> NDArray[np.int64]:
    """Rows ``[a_0, b_0, a_1, b_1, …]``: the order of sentences that a `Collator` expects."""
    return np.stack([a, b], 1).reshape(-1).astype(np.int64)
