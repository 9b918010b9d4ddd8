"""The nodes and edges of a batched graph seen as dense blocks, one block a sentence.

Almost every edge of a sentence-pair graph stays inside one sentence (or joins the two sentences of a pair), and the
busiest edge types are complete or about half complete there. Blocks with a mask turn message passing over them into
matrix products that run on any torch device. Sentences of about equal size share a bucket, and a block is padded to the
largest sentence of its bucket only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import dgl
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from letgraph.ragged import offsets_of, ranges

Ints = NDArray[np.int64]

DENSE = 0.1
"""The share of True places from which on matrix products win on a CPU (`benchmarks/message_passing.py`)."""

TILE = 64
"""Destinations of a tile, where blocks are so large that a matrix product of a part costs less than of the whole."""

Tile = tuple[int, slice, slice]
"""A bucket, and a part of each of its blocks: destinations, sources."""


class _Movable:
    """A dataclass of tensors (and of such dataclasses) that moves between devices as a whole."""

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        return self._map(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        return self._map(lambda tensor: tensor.pin_memory())

    def _map(self, function: Any) -> Self:
        moved = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                moved[field.name] = function(value)
            elif isinstance(value, _Movable):
                moved[field.name] = value._map(function)
        return replace(self, **moved)  # type: ignore[type-var]


def bucket_by_size(sizes: NDArray[np.integer], per_bucket: int = 16, max_buckets: int = 16) -> list[Ints]:
    """Items of about equal size together: the item numbers of each bucket.

    Every bucket has ``per_bucket`` items, or more where there would be more than ``max_buckets`` buckets, because each
    costs a round of kernel calls.
    """
    order = np.argsort(sizes, kind="stable")
    count = min(max_buckets, -(-len(order) // per_bucket))
    return np.array_split(order, max(count, 1))


def bucket_pairs(sizes: NDArray[np.integer]) -> list[Ints]:
    """Sentences by the larger of the two ``sizes`` of their pair; 2p and 2p + 1 stand side by side."""
    buckets = bucket_by_size(sizes.reshape(-1, 2).max(1), per_bucket=8)
    return [np.stack([2 * pairs, 2 * pairs + 1], 1).reshape(-1) for pairs in buckets]


@dataclass(frozen=True)
class NodeBlocks(_Movable):
    """The nodes of one type, grouped by sentence: a block is a sentence, bucket b has G_b blocks of N_b places each.

    ``shapes``: (G_b, N_b) of every bucket; P = Σ G_b N_b places in all, bucket after bucket, block after block.
    ``index`` (P,): the node that stands in a place, 0 where none does. ``valid`` (P,): whether one does. ``place``
    (nodes,): where a node stands; every node stands in one place. ``column`` (nodes,): its place inside its block.
    """

    shapes: tuple[tuple[int, int], ...]
    index: Tensor
    valid: Tensor
    place: Tensor
    column: Tensor

    @classmethod
    def from_counts(cls, counts: NDArray[np.integer], buckets: Sequence[Ints] | None = None) -> NodeBlocks:
        """Blocks of consecutive nodes: sentence g owns the next ``counts[g]`` nodes and stands in the bucket that
        names it; without ``buckets`` all sentences share one."""
        if buckets is None:
            buckets = [np.arange(len(counts))]
        shapes = tuple((len(bucket), max(int(counts[bucket].max(initial=0)), 1)) for bucket in buckets)
        widths = np.repeat([width for _, width in shapes], [size for size, _ in shapes])
        first = np.zeros(len(counts), np.int64)
        first[np.concatenate(buckets)] = offsets_of(widths)[:-1]
        column = ranges(counts)
        place = np.repeat(first, counts) + column
        index = np.zeros(sum(size * width for size, width in shapes), np.int64)
        valid = np.zeros(len(index), np.bool_)
        index[place] = np.arange(len(place))
        valid[place] = True
        return cls(shapes, *map(torch.from_numpy, (index, valid, place, column)))

    @classmethod
    def full(cls, shapes: Iterable[tuple[int, int]], device: torch.device) -> NodeBlocks:
        """Blocks without an empty place: consecutive nodes, bucket after bucket."""
        shapes = tuple(shapes) or ((0, 1),)
        places = torch.arange(sum(size * width for size, width in shapes), device=device)
        column = torch.cat([torch.arange(width, device=device).repeat(size) for size, width in shapes])
        return cls(shapes, places, torch.ones_like(places, dtype=torch.bool), places, column)

    def views(self, places: Tensor) -> list[Tensor]:
        """(P, ...) -> for each bucket a view (G_b, N_b, ...)."""
        parts = places.split([size * width for size, width in self.shapes])
        return [part.unflatten(0, shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def pad(self, features: Tensor) -> Tensor:
        """(nodes, ...) -> (P, ...); empty places repeat node 0 and must be masked by who reads them."""
        if not len(features):
            return features.new_zeros(len(self.index), *features.shape[1:])
        return features.index_select(0, self.index)

    def flatten(self, places: Tensor) -> Tensor:
        """(P, ...) -> (nodes, ...), the inverse of `pad`."""
        return places.index_select(0, self.place)

    def partners(self) -> NodeBlocks:
        """Each sentence's block replaced by that of the other sentence of its pair, its neighbour in the bucket."""
        swap = torch.cat(
            [rows.unflatten(0, (-1, 2)).flip(1).flatten() for rows in self.views(torch.arange(len(self.index)))]
        ).to(self.index.device)
        return NodeBlocks(self.shapes, self.index[swap], self.valid[swap], swap[self.place], self.column)


@dataclass(frozen=True)
class Neighbourhood(_Movable):
    """The edges of one type as blocks: ``mask``, for every bucket (G_b, N_dst, N_src) flattened, is True where an edge
    leads from source to destination.

    ``graph``: the same edges as a DGL graph on the same device, where there is one. ``dense``: whether so many places
    of the mask are True that matrix products over blocks are faster than sparse kernels over edges. ``tiles``: parts
    of the blocks that hold all edges; every destination is in one of them, a source in any number.
    """

    src: NodeBlocks
    dst: NodeBlocks
    mask: Tensor
    graph: dgl.DGLGraph | None = None
    dense: bool = True
    tiles: tuple[Tile, ...] = ()

    def __post_init__(self) -> None:
        if not self.tiles:
            whole = tuple((bucket, slice(None), slice(None)) for bucket in range(len(self.dst.shapes)))
            object.__setattr__(self, "tiles", whole)

    @classmethod
    def from_edges(
        cls,
        src: NodeBlocks,
        dst: NodeBlocks,
        sources: NDArray[np.integer],
        destinations: NDArray[np.integer],
        tile: int = TILE,
    ) -> Neighbourhood:
        """From edge lists; sources and destinations of an edge must lie in the same block. ``tile``: destinations of a
        tile, in blocks of at least two."""
        widths = np.array([width for _, width in src.shapes])
        rows = np.array([size * width for size, width in dst.shapes])
        first = offsets_of(np.repeat(widths, rows))
        mask = np.zeros(first[-1], np.bool_)
        mask[first[dst.place.numpy()[destinations]] + src.column.numpy()[sources]] = True
        whole = cls(src, dst, torch.from_numpy(mask), dense=len(sources) > DENSE * len(mask))
        return replace(
            whole, tiles=tuple(found for b, part in enumerate(whole.masks) for found in _tiles(b, part, tile))
        )

    @classmethod
    def between(cls, src: NodeBlocks, dst: NodeBlocks) -> Neighbourhood:
        """The complete one: every source of a block is a neighbour of every destination of the same block."""
        blocks = zip(dst.views(dst.valid), src.views(src.valid), strict=True)
        mask = torch.cat([(d.unsqueeze(2) & s.unsqueeze(1)).flatten() for d, s in blocks])
        return cls(src, dst, mask)

    @cached_property
    def masks(self) -> list[Tensor]:
        """For each bucket a view (G_b, N_dst, N_src) of ``mask``."""
        shapes = [(*dst, width) for dst, (_, width) in zip(self.dst.shapes, self.src.shapes, strict=True)]
        parts = self.mask.split([size * rows * width for size, rows, width in shapes])
        return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

    @cached_property
    def penalties(self) -> list[Tensor]:
        """For each bucket float32 (G_b, N_dst, N_src), to be added to scores: 0 where an edge leads, -1e38 elsewhere.

        On a CPU this is much faster than `masked_fill_`, and a row without an edge keeps finite scores.
        """
        return [mask.float().sub_(1).mul_(1e38) for mask in self.masks]

    @cached_property
    def reached(self) -> list[Tensor]:
        """For each bucket float32 (G_b, N_dst, 1): 1 where at least one edge leads to a destination, else 0."""
        return [mask.float().sum(-1, keepdim=True).clamp_(max=1) for mask in self.masks]

    @property
    def has_source(self) -> Tensor:
        """(destinations,): whether an edge leads there."""
        return self.dst.flatten(torch.cat([reached.flatten() for reached in self.reached])) > 0

    @property
    def edges(self) -> tuple[Tensor, Tensor]:
        """Source and destination node of every edge, block after block."""
        sources, destinations = self.src.views(self.src.index), self.dst.views(self.dst.index)
        found = []
        for mask, source, destination in zip(self.masks, sources, destinations, strict=True):
            block, i, j = mask.nonzero(as_tuple=True)
            found.append(torch.stack([source[block, j], destination[block, i]]))
        return tuple(torch.cat(found, 1))

    def edges_into(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Source and destination of every edge that leads to one of the destinations ``rows``, sorted by
        destination."""
        if not self.has_source[rows].any():  # the usual case, and cheaper to see than all edges are to list
            return rows[:0], rows[:0]
        sources, destinations = self.edges
        wanted = torch.zeros(len(self.dst.place), dtype=torch.bool, device=rows.device).index_fill(0, rows, True)
        kept = wanted[destinations].nonzero().squeeze(1)
        order = kept[destinations[kept].argsort(stable=True)]
        return sources[order], destinations[order]

    def to_graph(self) -> dgl.DGLGraph:
        """The edges as a DGL graph of one edge type."""
        if self.graph is not None:
            return self.graph
        sizes = {"source": len(self.src.place), "destination": len(self.dst.place)}
        return dgl.heterograph({("source", "edge", "destination"): self.edges}, sizes)


def _tiles(bucket: int, mask: Tensor, size: int) -> list[Tile]:
    """``size`` destinations after the other with the sources from the first to the last of their neighbours.

    Nodes stand in the order of the text, so neighbours that all lie ahead or all behind fill a triangle of a block, and
    tiles spare the products over its empty half.
    """
    rows = mask.shape[1]
    if rows < 2 * size:
        return [(bucket, slice(None), slice(None))]
    used = mask.any(0)
    tiles = []
    for first in range(0, rows, size):
        columns = used[first : first + size].any(0).nonzero()
        start, stop = (int(columns[0]), int(columns[-1]) + 1) if len(columns) else (0, 0)
        tiles.append((bucket, slice(first, min(first + size, rows)), slice(start, stop)))
    return tiles
