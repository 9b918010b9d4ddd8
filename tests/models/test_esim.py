"""ESIM's soft alignment and enhancement are those of the paper."""

from __future__ import annotations

import math

import torch

from letgraph.models.esim import enhance, soft_align


def test_every_row_is_the_mean_of_the_other_sentence_weighted_by_the_softmax_of_products():
    random = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 3, 4, generator=random), torch.randn(2, 5, 4, generator=random)
    lengths = [5, 2]
    mask = torch.tensor([[place < length for place in range(5)] for length in lengths])

    aligned = soft_align(x, y, mask)

    for g, length in enumerate(lengths):
        for i in range(3):
            weights = [math.exp(sum(float(x[g, i, d] * y[g, j, d]) for d in range(4))) for j in range(length)]
            expected = sum(weight * y[g, j] for j, weight in enumerate(weights)) / sum(weights)
            torch.testing.assert_close(aligned[g, i], expected, rtol=1e-5, atol=1e-6)


def test_a_row_with_one_counterpart_gets_it():
    y = torch.tensor([[[1.0, 2.0], [9.0, 9.0]]])

    assert soft_align(torch.randn(1, 3, 2), y, torch.tensor([[True, False]])).tolist() == [[[1.0, 2.0]] * 3]


def test_enhancement_is_both_their_difference_and_their_product():
    x, aligned = torch.tensor([[3.0, -1.0]]), torch.tensor([[2.0, 4.0]])

    assert enhance(x, aligned).tolist() == [[3, -1, 2, 4, 1, -5, 6, -4]]
