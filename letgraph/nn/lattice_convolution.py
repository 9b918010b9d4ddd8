"""Convolution over a word lattice: a kernel sees every path of n words through a word, and pooling merges them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import torch
from torch import Tensor, nn

ContextPooling = Literal["max", "ave", "gated"]


@dataclass(frozen=True)
class LatticeWords:
    """The words of the lattices of a batch: half-open spans ``start``, ``end`` (W,) of characters and the ``sentence``
    (W,) of each, sorted by sentence, start and end."""

    start: Tensor
    end: Tensor
    sentence: Tensor

    @classmethod
    def with_characters(cls, start: Tensor, end: Tensor, sentence: Tensor, lengths: Tensor) -> Self:
        """The given spans, empty ones left out, and every single character of sentences of ``lengths`` characters."""
        of_character = torch.repeat_interleave(torch.arange(len(lengths), device=start.device), lengths)
        place = torch.arange(len(of_character), device=start.device) - (lengths.cumsum(0) - lengths)[of_character]
        kept = start < end
        start = torch.cat([start[kept], place])
        end = torch.cat([end[kept], place + 1])
        sentence = torch.cat([sentence[kept], of_character])
        span = int(end.max()) + 1 if len(end) else 1
        keys = torch.unique((sentence * span + start) * span + end)
        return cls(keys.div(span, rounding_mode="floor") % span, keys % span, keys.div(span**2, rounding_mode="floor"))

    def contexts(self, before: int, after: int) -> Tensor:
        """All paths of adjacent words with ``before`` words left of a centre and ``after`` right of it.

        (M, before + 1 + after) word numbers, sorted by centre, which is column ``before``; u and v are adjacent where u
        ends and v starts. Where a path meets the sentence's begin or end, or a gap, -1 stands for the rest of it.
        """
        span = int(self.end.max()) + 1 if len(self.end) else 1
        starts, ends = self.sentence * span + self.start, self.sentence * span + self.end
        paths = torch.arange(len(self.start), device=self.start.device).unsqueeze(1)
        for _ in range(before):
            repeats, added = _join(paths[:, 0], starts, ends)
            paths = torch.cat([added.unsqueeze(1), paths[repeats]], 1)
        for _ in range(after):
            repeats, added = _join(paths[:, -1], ends, starts)
            paths = torch.cat([paths[repeats], added.unsqueeze(1)], 1)
        return paths


def neighbours(width: int) -> tuple[int, int]:
    """How many words a kernel of so many words sees before and after the word it stands on."""
    return (width - 1) // 2, width // 2


def _join(words: Tensor, keys: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """Each of ``words`` with every word whose key in ``others`` is its own key in ``keys``: the number of the row, and
    the word found there; -1 once for a row without any, or with -1 for a word."""
    ordered, order = others.sort(stable=True)
    wanted = keys[words]
    low = torch.searchsorted(ordered, wanted)
    found = torch.searchsorted(ordered, wanted, right=True) - low
    found = found.masked_fill(words < 0, 0)
    rows = torch.repeat_interleave(found.clamp(min=1))
    first = found.clamp(min=1).cumsum(0) - found.clamp(min=1)
    place = low[rows] + torch.arange(len(rows), device=rows.device) - first[rows]
    partner = order[place.clamp(max=len(order) - 1)]
    return rows, partner.masked_fill(found[rows] == 0, -1)


class LatticeConvolution(nn.Module):
    r"""A kernel of width n over a lattice: for every word w and each of its contexts c = (w_1 … w_n), with w in place
    ⌈n / 2⌉,

    .. math::
        z_c = W [x_{w_1}; \dots; x_{w_n}] + b, \qquad out_w = \operatorname{pool}_c z_c

    and x = 0 beyond the sentence. ``pooling``: "max", "ave", or "gated", Σ_c α_c z_c with α = softmax over c of
    g · z_c.

    NOTE: W is applied to the words, block by block, before they are put together, because words are fewer than
    contexts.

    Shapes: ``forward(x (W, in), contexts (M, n) as of `LatticeWords.contexts`) -> (W, out)``.
    Source: Lai et al. 2019, section "Lattice CNNs"; the authors' program.
    """

    def __init__(self, in_features: int, out_features: int, width: int, pooling: ContextPooling) -> None:
        super().__init__()
        self.before, self.after = neighbours(width)
        self.pooling = pooling
        self.weight = nn.Parameter(torch.empty(width, in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        # A word has one context of width 1, so there is nothing to weigh; and softmax does not see a bias.
        self.gate = nn.Linear(out_features, 1, bias=False) if pooling == "gated" and width > 1 else None
        bound = (6 / (width * in_features + out_features)) ** 0.5
        nn.init.uniform_(self.weight, -bound, bound)  # Glorot, as a dense layer of all n words

    def forward(self, x: Tensor, contexts: Tensor) -> Tensor:
        padded = torch.cat([x, x.new_zeros(1, x.shape[1])])  # -1 is the last row
        z = self.bias + sum(
            (padded @ weight)[words] for weight, words in zip(self.weight, contexts.unbind(1), strict=True)
        )
        centre = contexts[:, self.before]
        if self.pooling == "max":
            return group_max(z, centre, len(x))
        weights = z.new_ones(len(z), 1)
        if self.gate is not None:
            scores = self.gate(z)
            weights = (scores - group_max(scores.detach(), centre, len(x))[centre]).exp()
        sums = x.new_zeros(len(x), z.shape[1] + 1).index_add(0, centre, torch.cat([weights * z, weights], 1))
        return sums[:, :-1] / sums[:, -1:]


def group_max(x: Tensor, group: Tensor, count: int) -> Tensor:
    """The largest entries (count, D) of the rows x (N, D) of each group; every group has a row."""
    top = x.new_full((count, x.shape[1]), -torch.inf)
    return top.scatter_reduce(0, group.unsqueeze(1).expand_as(x), x, "amax")
