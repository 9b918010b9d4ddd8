"""BiMPM's four strategies are those of the paper, and its words tile the sentence."""

from __future__ import annotations

import math

import pytest
import torch

from letgraph.models.bimpm import Strategies
from letgraph.nn.sequences import partners
from tests.helpers import Sentence, batch_for, random_pairs, tiny_model

H, PERSPECTIVES = 4, 3


def cosine(x, y):
    dot = sum(a * b for a, b in zip(x, y, strict=True))
    return dot / math.sqrt(sum(a * a for a in x)) / math.sqrt(sum(b * b for b in y))


def matching(x, y, weights):
    """m(x, y; W): one cosine for every row of W."""
    return [
        cosine([w * a for w, a in zip(row, x, strict=True)], [w * b for w, b in zip(row, y, strict=True)])
        for row in weights
    ]


@pytest.fixture
def case():
    """Two groups of three states, against five and two others; the strategies and what they make of them."""
    random = torch.Generator().manual_seed(1)
    h, others = torch.randn(2, 3, H, generator=random), torch.randn(2, 5, H, generator=random)
    lengths = [5, 2]
    mask = torch.tensor([[place < length for place in range(5)] for length in lengths])
    last = torch.stack([others[g, length - 1] for g, length in enumerate(lengths)])
    torch.manual_seed(0)
    layer = Strategies(H, PERSPECTIVES)
    out = layer(h, others, mask, last).unflatten(-1, (4, PERSPECTIVES))
    rows = [(h[g, i].tolist(), others[g, : lengths[g]].tolist(), out[g, i]) for g in range(2) for i in range(3)]
    return layer, rows


def test_full_matching_is_with_the_last_state(case):
    layer, rows = case
    for h, others, out in rows:
        assert out[0].tolist() == pytest.approx(matching(h, others[-1], layer.full.weight.tolist()), abs=1e-5)


def test_max_pooling_matching_is_the_best_of_all_for_every_perspective(case):
    layer, rows = case
    for h, others, out in rows:
        every = [matching(h, other, layer.max_pooling.weight.tolist()) for other in others]
        expected = [max(values) for values in zip(*every, strict=True)]
        assert out[1].tolist() == pytest.approx(expected, abs=1e-5)


def test_attentive_matching_is_with_the_mean_weighted_by_cosines(case):
    layer, rows = case
    signs = set()
    for h, others, out in rows:
        alpha = [cosine(h, other) for other in others]
        mean = [sum(a * other[d] for a, other in zip(alpha, others, strict=True)) / sum(alpha) for d in range(H)]
        assert out[2].tolist() == pytest.approx(matching(h, mean, layer.attentive.weight.tolist()), abs=1e-5)
        signs.add(sum(alpha) > 0)
    assert signs == {True, False}  # the sum of the weights may be negative, and turns the mean around


def test_max_attentive_matching_is_with_the_nearest(case):
    layer, rows = case
    for h, others, out in rows:
        nearest = max(others, key=lambda other: cosine(h, other))
        assert out[3].tolist() == pytest.approx(matching(h, nearest, layer.max_attentive.weight.tolist()), abs=1e-5)


def test_forward_and_backward_states_meet_their_like_in_the_partner(monkeypatch):
    """Forward states meet the partner's forward states and the one behind its last word; backward ones likewise, and
    the one of its first word."""
    model = tiny_model("bimpm")
    seen = {}
    for name in ("forwards", "backwards"):
        getattr(model, name).register_forward_hook(lambda _, inputs, __, name=name: seen.update({name: inputs}))
    contexts = []
    model.context.register_forward_hook(lambda _, inputs, output: contexts.append((inputs[1], output[0])))

    with torch.no_grad():
        model(batch_for(model, random_pairs(2)))

    ((lengths, states),) = contexts
    ahead, behind = states.chunk(2, -1)
    rows = torch.arange(len(states))
    ends = {"forwards": ahead[rows, lengths - 1], "backwards": behind[:, 0]}
    for name, half in (("forwards", ahead), ("backwards", behind)):
        h, others, mask, last = seen[name]
        assert torch.equal(h, half) and torch.equal(others, partners(half))
        assert mask.sum(1).tolist() == partners(lengths).tolist()
        torch.testing.assert_close(last, partners(ends[name]))


def test_words_are_those_of_the_path_of_fewest_words():
    model = tiny_model("bimpm")
    long = Sentence("存款利率", ((0, 2), (0, 1), (1, 2), (2, 4), (2, 3), (3, 4)), ((),) * 6)
    tiled = Sentence("存款利率", ((0, 2), (2, 4)), ((),) * 2)
    other = random_pairs(0)[0]
    with torch.no_grad():
        scores = [model(batch_for(model, [sentence, other])).logits for sentence in (long, tiled)]

    assert torch.equal(*scores)
