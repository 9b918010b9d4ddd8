"""Dropout drops in training, keeps the mean, and in mode "pair" treats both sentences alike."""

from __future__ import annotations

import pytest
import torch

from letgraph.nn.dropout import Dropout, PairDropout, use_fast_dropout

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


@pytest.mark.parametrize("p", [0.1, 0.2, 0.5, 0.9])
def test_fast_dropout_drops_independent_entries_at_the_given_rate_and_keeps_the_mean(p):
    torch.manual_seed(0)
    x = torch.full((1001, 1003), 2.0, requires_grad=True)

    out = Dropout(p)(x)
    out.sum().backward()

    kept = out != 0
    assert kept.float().mean().item() == pytest.approx(1 - p, abs=0.002)
    assert out.mean().item() == pytest.approx(2, abs=0.02)
    assert torch.equal(x.grad, out / 2)
    # Four neighbours share a random number, but not their fate.
    pairs = kept.flatten()[: 1000 * 1000].view(-1, 4).float()
    assert torch.corrcoef(pairs.t()).fill_diagonal_(0).abs().max() < 0.01


@pytest.mark.parametrize("shape", [(0, 4), (1,), (3, 1), (5, 7)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_fast_dropout_keeps_shape_and_type(shape, dtype):
    out = Dropout(0.3)(torch.ones(shape, dtype=dtype))

    assert out.shape == shape and out.dtype == dtype


@pytest.mark.parametrize("p", [0.0, 1.0, 1e-9])
def test_fast_dropout_at_the_ends_of_its_range_is_that_of_torch(p):
    x = torch.ones(4, 4)

    assert torch.equal(Dropout(p)(x), torch.nn.Dropout(p)(x))
    assert torch.equal(Dropout(0.5).eval()(x), x)


def test_every_dropout_of_a_module_is_replaced_and_nothing_else():
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Dropout(0.3), PairDropout(0.2)))

    use_fast_dropout(module)

    assert [type(m) for m in module.modules()][3:] == [Dropout, PairDropout]
    assert module[1][0].p == 0.3
