"""The nodes and edges of a batched graph seen as dense blocks, one block a sentence.

Almost every edge of a sentence-pair graph stays inside one sentence (or joins the two sentences of a pair), and the
busiest edge types are complete or about half complete there. Padded blocks with a mask turn message passing over them
into matrix products that run on any torch device.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import dgl
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from letgraph.ragged import ranges


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


class _Pad(torch.autograd.Function):
    """Rows to their places in blocks. Each node has one place, so the gradient is a gather too, never a scatter."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, index: Tensor, valid: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(index, valid, place)
        return features.index_select(0, index.flatten()).view(*index.shape, *features.shape[1:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        index, valid, place = ctx.saved_tensors
        return _Flatten.apply(grad, index, valid, place), None, None, None


class _Flatten(torch.autograd.Function):
    """The inverse of `_Pad`; the gradient of a padded row is zero."""

    @staticmethod
    def forward(ctx: Any, blocks: Tensor, index: Tensor, valid: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(index, valid, place)
        return blocks.flatten(0, 1).index_select(0, place)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        index, valid, place = ctx.saved_tensors
        padded = _Pad.apply(grad, index, valid, place)
        return padded.masked_fill(~valid.view(*valid.shape, *(1,) * (grad.dim() - 1)), 0), None, None, None


@dataclass(frozen=True)
class NodeBlocks(_Movable):
    """The nodes of one type, grouped by sentence: G sentences of at most N nodes each.

    ``index`` (G, N): node numbers, 0 where padded. ``valid`` (G, N): False where padded. ``place`` (nodes,): where a
    node stands in the flattened (G * N) blocks; every node stands in one place.
    """

    index: Tensor
    valid: Tensor
    place: Tensor

    @classmethod
    def from_counts(cls, counts: NDArray[np.integer]) -> NodeBlocks:
        """Blocks of consecutive nodes: sentence g owns the next ``counts[g]`` nodes."""
        width = max(int(counts.max(initial=0)), 1)
        local = ranges(counts)
        place = np.repeat(np.arange(len(counts)) * width, counts) + local
        index = np.zeros(len(counts) * width, np.int64)
        index[place] = np.arange(len(place))
        valid = np.arange(width) < counts[:, None]
        return cls(torch.from_numpy(index).view(-1, width), torch.from_numpy(valid), torch.from_numpy(place))

    def pad(self, features: Tensor) -> Tensor:
        """(nodes, ...) -> (G, N, ...); padded rows repeat node 0 and must be masked by who reads them."""
        if not len(features):
            return features.new_zeros(*self.index.shape, *features.shape[1:])
        return _Pad.apply(features, self.index, self.valid, self.place)

    def flatten(self, blocks: Tensor) -> Tensor:
        """(G, N, ...) -> (nodes, ...), the inverse of `pad`."""
        if not len(self.place):
            return blocks.flatten(0, 1)[:0]
        return _Flatten.apply(blocks, self.index, self.valid, self.place)

    def partners(self) -> NodeBlocks:
        """Each sentence's block replaced by that of the other sentence of its pair (sentences 2p and 2p + 1)."""
        swap = torch.arange(len(self.index), device=self.index.device) ^ 1
        width = self.index.shape[1]
        place = (self.place // width ^ 1) * width + self.place % width
        return NodeBlocks(self.index[swap], self.valid[swap], place)


@dataclass(frozen=True)
class Neighbourhood(_Movable):
    """The edges of one type as blocks: ``mask`` (G, N_dst, N_src) is True where an edge leads from source to
    destination. ``graph``: the same edges as a DGL graph on the same device, where there is one. ``complete``: every
    valid source of a block is a neighbour of every valid destination."""

    src: NodeBlocks
    dst: NodeBlocks
    mask: Tensor
    graph: dgl.DGLGraph | None = None
    complete: bool = False

    @classmethod
    def from_edges(
        cls, src: NodeBlocks, dst: NodeBlocks, sources: NDArray[np.integer], destinations: NDArray[np.integer]
    ) -> Neighbourhood:
        """From edge lists; sources and destinations of an edge must lie in the same block."""
        width_src, width_dst = src.index.shape[1], dst.index.shape[1]
        mask = np.zeros(len(dst.index) * width_dst * width_src, np.bool_)
        local = src.place.numpy()[sources] % width_src
        mask[dst.place.numpy()[destinations] * width_src + local] = True
        return cls(src, dst, torch.from_numpy(mask).view(-1, width_dst, width_src))

    @classmethod
    def between(cls, src: NodeBlocks, dst: NodeBlocks) -> Neighbourhood:
        """The complete one: every source of a block is a neighbour of every destination of the same block."""
        return cls(src, dst, dst.valid[:, :, None] & src.valid[:, None, :], complete=True)

    def to_graph(self) -> dgl.DGLGraph:
        """The edges as a DGL graph of one edge type."""
        if self.graph is not None:
            return self.graph
        block, i, j = self.mask.nonzero(as_tuple=True)
        sources, destinations = self.src.index[block, j], self.dst.index[block, i]
        sizes = {"source": len(self.src.place), "destination": len(self.dst.place)}
        return dgl.heterograph({("source", "edge", "destination"): (sources, destinations)}, sizes)
