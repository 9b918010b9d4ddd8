"""Rows become padded sequences and come back; an LSTM sees a sequence as if it stood alone."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from letgraph.nn.sequences import BiLSTM, Sequences, partners

lengths_of = st.lists(st.integers(1, 4), min_size=1, max_size=5)


@settings(max_examples=30)
@given(lengths_of)
def test_padding_and_back(lengths):
    group = torch.repeat_interleave(torch.tensor(lengths))
    rows = torch.arange(1.0, len(group) + 1).unsqueeze(1).expand(-1, 2)

    sequences = Sequences.from_groups(group, len(lengths))
    padded = sequences.pad(rows)

    assert padded.shape == (len(lengths), max(lengths), 2)
    assert sequences.lengths.tolist() == lengths
    for part, one, mask in zip(rows.split(lengths), padded, sequences.mask, strict=True):
        assert torch.equal(one[: len(part)], part) and not one[len(part) :].any()
        assert mask.tolist() == [place < len(part) for place in range(max(lengths))]
    assert torch.equal(sequences.flatten(padded), rows)


@settings(max_examples=10)
@given(lengths_of)
def test_an_lstm_sees_neither_padding_nor_other_sequences(lengths):
    torch.manual_seed(0)
    layer = BiLSTM(3, 2)
    rows = torch.randn(sum(lengths), 3)
    sequences = Sequences.from_groups(torch.repeat_interleave(torch.tensor(lengths)), len(lengths))

    states, last = layer(sequences.pad(rows), sequences.lengths)

    for part, one, final in zip(rows.split(lengths), states, last, strict=True):
        alone, _ = layer.lstm(part)
        torch.testing.assert_close(one[: len(part)], alone)
        assert not one[len(part) :].any()
        torch.testing.assert_close(final, torch.cat([alone[-1, :2], alone[0, 2:]]))


def test_partners_change_places():
    assert partners(torch.arange(6)).tolist() == [1, 0, 3, 2, 5, 4]
