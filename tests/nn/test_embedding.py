"""A word's vector follows from its characters alone."""

from __future__ import annotations

from itertools import product

import torch

from letgraph.nn.embedding import WordEmbedding


def rows(layer, words):
    word = torch.repeat_interleave(torch.tensor([len(each) for each in words]))
    return layer.rows(torch.tensor([char for each in words for char in each]), word, len(words)).tolist()


def test_a_character_has_its_own_row_and_a_longer_word_one_of_the_buckets():
    layer = WordEmbedding(10, 50, 3)

    one, two, three = rows(layer, [(7,), (7, 8), (7, 8, 9)])

    assert one == 7 and all(10 <= row < 60 for row in (two, three))
    assert layer.table.weight.shape == (60, 3)


def test_the_row_depends_on_the_word_and_not_on_its_neighbours():
    layer = WordEmbedding(10, 1000, 3)
    words = [(4, 5), (5, 4), (4, 5, 4), (4,), (4, 5)]

    together = rows(layer, words)

    assert together == [rows(layer, [word])[0] for word in words]
    assert together[0] == together[4] and len(set(together)) == 4


def test_words_spread_over_the_buckets_about_as_evenly_as_by_chance():
    layer = WordEmbedding(100, 4096, 1)

    used = len(set(rows(layer, list(product(range(4, 68), repeat=2)))))

    # 4096 words thrown into 4096 buckets by chance leave a share of 1/e empty: 2589 in use.
    assert 2450 < used < 2750
