r"""The attention weights of a model, which its fast kernels never form: recorded on request.

The kernels of `letgraph.nn.md_attention` sum over in-edges without a weight for each edge and feature. To look at the
weights, run the model inside `record_attention` and ask each record for its α:

.. math::
    \alpha_{ij}[d] = \operatorname{softmax}_{j \in \mathcal{N}(i)}(s_{ij} + f_j[d]), \qquad
    s_{ij} = q_i \cdot k_j / \sqrt{d}

or, with the bound of the authors' program, exp of the clipped scores over their sum plus 1e-12.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from letgraph.blocks import Neighbourhood
from letgraph.nn.mdgat import MDGAT
from letgraph.nn.pooling import AttentivePooling


@dataclass(frozen=True)
class AttentionRecord:
    """One call of a multi-dimensional attention: what went in, see `letgraph.nn.md_attention.md_attention`.

    ``module``: the layer's name in the model, such as ``sagt.layers.0.word_step``.
    """

    module: str
    neighbourhood: Neighbourhood
    q: Tensor | None
    k: Tensor | None
    f: Tensor
    v: Tensor
    clip: float | None

    def weights(self) -> Tensor:
        """α (edges, heads, d_head) of every edge, in the order of ``neighbourhood.edges``, by the definition.

        Over the in-edges of a destination they sum to 1 in every feature (with ``clip``: to just below 1).
        """
        sources, destinations = self.neighbourhood.edges
        logits = self.f[sources]
        if self.q is not None and self.k is not None:
            score = (self.q[destinations] * self.k[sources]).sum(-1, keepdim=True) / self.k.shape[-1] ** 0.5
            if self.clip is not None:
                score, logits = score.clamp(max=self.clip), logits.clamp(max=self.clip)
            logits = logits + score
        elif self.clip is not None:
            logits = logits.clamp(max=self.clip)
        shape = (len(self.neighbourhood.dst.place), *logits.shape[1:])
        index = destinations.view(-1, 1, 1).expand_as(logits)
        if self.clip is None:
            top = logits.new_full(shape, -torch.inf).scatter_reduce(0, index, logits, "amax")
            logits = logits - top[destinations]
        weights = logits.exp()
        total = weights.new_zeros(shape).index_add(0, destinations, weights)
        return weights / (total[destinations] + (0 if self.clip is None else 1e-12))


@contextmanager
def record_attention(model: nn.Module) -> Iterator[list[AttentionRecord]]:
    """Record every attention of ``model`` while the context is open; the list grows call by call.

    One thread at a time may run the model meanwhile.
    """
    records: list[AttentionRecord] = []
    with ExitStack() as stack:
        for name, module in model.named_modules():
            if isinstance(module, MDGAT):
                # Layers call `attend` several times for one `forward`, or without it, so a hook would miss calls.
                module.attend = partial(_attend, records, name, module)  # type: ignore[method-assign]
                stack.callback(module.__dict__.pop, "attend")
            elif isinstance(module, AttentivePooling):
                stack.callback(module.register_forward_hook(partial(_pooled, records, name)).remove)
        yield records


def _attend(
    records: list[AttentionRecord],
    name: str,
    module: MDGAT,
    neighbourhood: Neighbourhood,
    q: Tensor,
    k: Tensor,
    f: Tensor,
    v: Tensor,
) -> Tensor:
    records.append(AttentionRecord(name, neighbourhood, q, k, f, v, module.clip))
    return MDGAT.attend(module, neighbourhood, q, k, f, v)


def _pooled(
    records: list[AttentionRecord], name: str, module: AttentivePooling, inputs: tuple[Any, ...], output: Tensor
) -> None:
    neighbourhood, x = inputs
    f, v = (part.unsqueeze(1) for part in module.project(x))
    records.append(AttentionRecord(name, neighbourhood, None, None, f, v, module.clip))
