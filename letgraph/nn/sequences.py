"""Flat rows as padded sequences, and LSTMs over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


@dataclass(frozen=True)
class Sequences:
    """N rows that make up G sequences, padded on the right to the longest, T.

    ``mask`` (G, T): where a row stands. ``place`` (N,): where each row stands among the G * T places.
    """

    mask: Tensor
    place: Tensor

    @classmethod
    def from_groups(cls, group: Tensor, count: int) -> Self:
        """From the sequence of every row, (N,) in rising order; each of the ``count`` sequences has a row or more."""
        lengths = torch.bincount(group, minlength=count)
        columns = torch.arange(len(group), device=group.device) - (lengths.cumsum(0) - lengths)[group]
        width = int(lengths.max()) if count else 0
        mask = torch.arange(width, device=group.device) < lengths.unsqueeze(1)
        return cls(mask, group * width + columns)

    @property
    def lengths(self) -> Tensor:
        """(G,)"""
        return self.mask.sum(1)

    def pad(self, rows: Tensor) -> Tensor:
        """(N, ...) -> (G, T, ...), zeros where there is no row."""
        places = rows.new_zeros(self.mask.numel(), *rows.shape[1:]).index_copy(0, self.place, rows)
        return places.unflatten(0, tuple(self.mask.shape))

    def flatten(self, padded: Tensor) -> Tensor:
        """(G, T, ...) -> (N, ...), the inverse of `pad`."""
        return padded.flatten(0, 1).index_select(0, self.place)


def partners(sentences: Tensor) -> Tensor:
    """(2B, ...) -> (2B, ...): in each one's place the other sentence of its pair, 2p + 1 for 2p and 2p for 2p + 1."""
    return sentences.unflatten(0, (-1, 2)).flip(1).flatten(0, 1)


class BiLSTM(nn.Module):
    """One layer of LSTM in both directions, over each sequence from its first row to its last.

    ``forward(padded (G, T, in), lengths (G,)) -> states (G, T, 2 out), last (G, 2 out)``: the forward half of ``last``
    is the state after the last row, the backward half the state after the first. Padding gets zeros.
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(in_features, out_features, batch_first=True, bidirectional=True)

    def forward(self, padded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        packed = pack_padded_sequence(padded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, (last, _) = self.lstm(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=padded.shape[1])
        return states, last.transpose(0, 1).flatten(1)
