"""Ragged arrays behave as lists of lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from letgraph.ragged import Ragged, offsets_of, ranges

rows_of_numbers = st.lists(st.lists(st.integers(0, 1000), max_size=5), max_size=8)


def as_lists(ragged: Ragged) -> list[list[int]]:
    return [ragged[row].tolist() for row in range(len(ragged))]


@given(rows_of_numbers)
def test_rows_come_back_as_they_were_given(rows):
    ragged = Ragged.from_lists(rows, np.int32)

    assert as_lists(ragged) == rows
    assert ragged.lengths.tolist() == [len(row) for row in rows]
    assert ragged.values.dtype == np.int32
    assert ragged.offsets.dtype == np.int64


@given(rows_of_numbers.filter(len), st.data())
def test_take_gives_the_asked_rows_in_the_asked_order(rows, data):
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=12))

    taken = Ragged.from_lists(rows, np.uint16).take(np.array(wanted, np.int64))

    assert as_lists(taken) == [rows[row] for row in wanted]
    assert taken.values.dtype == np.uint16


@given(st.lists(rows_of_numbers, min_size=1, max_size=4))
def test_concatenate_appends_rows(parts):
    whole = Ragged.concatenate([Ragged.from_lists(rows, np.uint32) for rows in parts])

    assert as_lists(whole) == [row for rows in parts for row in rows]
    assert whole.values.dtype == np.uint32


@given(st.lists(st.integers(0, 6), max_size=10))
def test_offsets_and_ranges_count_inside_rows(lengths):
    array = np.array(lengths, np.int64)

    assert offsets_of(array).tolist() == [sum(lengths[:row]) for row in range(len(lengths) + 1)]
    assert ranges(array).tolist() == [place for length in lengths for place in range(length)]
