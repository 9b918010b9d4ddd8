"""The default kernels make no tensor of size edges x features, forward or backward."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from letgraph.blocks import Neighbourhood, NodeBlocks
from letgraph.nn.mdgat import MDGAT

FEATURES = 32


class Largest(TorchDispatchMode):
    """Remembers the size of the largest tensor that any operation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        sizes = [x.untyped_storage().nbytes() // x.element_size() for x in tree_leaves(result) if torch.is_tensor(x)]
        self.elements = max(self.elements, *sizes, 0)
        return result


@pytest.mark.parametrize("kernel", ["auto", "blocks", "edges"])
@pytest.mark.parametrize("density", [0.02, 0.6])
def test_memory_is_that_of_nodes_times_features_or_edges(kernel, density):
    random = np.random.default_rng(0)
    nodes = NodeBlocks.from_counts(np.full(8, 40))
    edges = (random.random((8, 40, 40)) < density).nonzero()
    sources, destinations = 40 * edges[0] + edges[2], 40 * edges[0] + edges[1]
    neighbourhood = Neighbourhood.from_edges(nodes, nodes, sources, destinations)
    layer = MDGAT(FEATURES, FEATURES, kernel=kernel)
    h = torch.randn(320, FEATURES, requires_grad=True)

    with Largest() as largest:
        layer(neighbourhood, h, h).sum().backward()

    # [k; v; W_1 h] has three features a node and feature, a block's mask one place an edge that might be.
    assert largest.elements <= max(3 * 320 * FEATURES, 8 * 40 * 40)
    if density == 0.6:
        assert largest.elements < len(sources) * FEATURES / 4


def test_the_definition_does_make_it():
    """What the other test measures can be large."""
    nodes = NodeBlocks.from_counts(np.full(2, 20))
    layer = MDGAT(FEATURES, FEATURES, kernel="definition")
    h = torch.randn(40, FEATURES)

    with Largest() as largest:
        layer(Neighbourhood.between(nodes, nodes), h, h)

    assert largest.elements >= 2 * 20 * 20 * FEATURES
