"""Which pairs of a split are in train: in either order, and nothing else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from letgraph.overlap import cleaned_pairs, metrics_of_new, not_in_train
from letgraph.scoring import SentencePairs
from tests.helpers import Sentence, to_table

texts = st.sampled_from(["甲", "乙", "丙", "甲乙"])
pair_lists = st.lists(st.tuples(texts, texts), max_size=6)


@given(pair_lists, pair_lists)
def test_a_pair_is_new_where_train_has_it_in_neither_order(pairs, train):
    expected = [(a, b) not in train and (b, a) not in train for a, b in pairs]

    assert not_in_train(pairs, train).tolist() == expected


def test_the_text_of_pairs_is_in_their_order():
    table = to_table([Sentence(text, (), ()) for text in ("存款", "利", "率")])

    pairs = SentencePairs(table, np.array([2, 0, 2]), np.array([0, 0, 2]))

    assert cleaned_pairs(pairs) == [("率", "存款"), ("存款", "存款"), ("率", "率")]


def test_accuracy_of_the_new_pairs_worked_by_hand():
    labels, probabilities = np.array([1, 0, 1, 0]), np.array([0.9, 0.9, 0.1, 0.1])

    assert metrics_of_new(labels, probabilities, np.array([True, True, False, True])) == {
        "n_not_in_train": 3,
        "accuracy_not_in_train": 2 / 3,
    }
    assert metrics_of_new(labels, probabilities, np.zeros(4, np.bool_)) == {
        "n_not_in_train": 0,
        "accuracy_not_in_train": None,
    }
