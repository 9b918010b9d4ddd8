"""Dropout drops in training, keeps the mean, and in mode "pair" treats both sentences alike."""

from __future__ import annotations

import pytest
import torch

from letgraph.nn.dropout import PairDropout

PAIR = torch.tensor([0, 0, 0, 1, 1, 3])


@pytest.mark.parametrize("mode", ["element", "pair"])
def test_nothing_is_dropped_outside_training_or_at_rate_zero(mode):
    x = torch.randn(6, 5)

    assert torch.equal(PairDropout(0.5, mode).eval()(x, PAIR), x)
    assert torch.equal(PairDropout(0.0, mode)(x, PAIR), x)


@pytest.mark.parametrize("mode", ["element", "pair"])
def test_entries_are_dropped_or_scaled_up_at_the_given_rate(mode):
    torch.manual_seed(0)
    x = torch.ones(2000, 8)

    out = PairDropout(0.2, mode)(x, torch.arange(2000))

    assert set(out.unique().tolist()) == {0.0, 1.25}
    assert out.mean().item() == pytest.approx(1, abs=0.02)


def test_all_nodes_of_a_pair_share_one_mask_and_pairs_do_not():
    torch.manual_seed(0)

    out = PairDropout(0.5, "pair")(torch.ones(6, 64), PAIR)

    assert torch.equal(out[0], out[1]) and torch.equal(out[1], out[2]) and torch.equal(out[3], out[4])
    assert not torch.equal(out[0], out[3]) and not torch.equal(out[3], out[5])


def test_each_entry_has_a_mask_value_of_its_own_in_mode_element():
    torch.manual_seed(0)

    out = PairDropout(0.5, "element")(torch.ones(6, 64), PAIR)

    assert not torch.equal(out[0], out[1])


@pytest.mark.parametrize("mode", ["element", "pair"])
def test_no_rows_at_all_are_fine(mode):
    assert PairDropout(0.5, mode)(torch.ones(0, 4), torch.zeros(0, dtype=torch.int64)).shape == (0, 4)


@pytest.mark.parametrize("mode", ["element", "pair"])
def test_the_gradient_has_the_mask_of_the_value(mode):
    x = torch.ones(6, 8, requires_grad=True)

    out = PairDropout(0.5, mode)(x, PAIR)
    out.sum().backward()

    assert torch.equal(x.grad, out)
