"""Columns come back from Arrow files as they were written, without a copy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letgraph.data.arrow import read_arrow, write_arrow
from letgraph.errors import DataError
from letgraph.ragged import Ragged


@given(
    st.lists(st.lists(st.integers(0, 65535), max_size=4), max_size=6),
    st.sampled_from([np.uint16, np.int32, np.uint32]),
)
def test_columns_come_back_with_their_types(tmp_path_factory, rows, dtype):
    path = tmp_path_factory.mktemp("arrow") / "columns.arrow"
    numbers = np.arange(len(rows), dtype=np.int8)
    ragged = Ragged.from_lists(rows, dtype)

    write_arrow(path, {"numbers": numbers, "ragged": ragged})
    columns = read_arrow(path)

    assert list(columns) == ["numbers", "ragged"]
    np.testing.assert_array_equal(columns["numbers"], numbers, strict=True)
    np.testing.assert_array_equal(columns["ragged"].values, ragged.values, strict=True)
    np.testing.assert_array_equal(columns["ragged"].offsets, ragged.offsets, strict=True)


def test_columns_live_on_when_the_file_is_deleted(tmp_path):
    path = tmp_path / "columns.arrow"
    write_arrow(path, {"numbers": np.arange(1000)})

    numbers = read_arrow(path)["numbers"]
    path.unlink()

    assert not numbers.flags.owndata
    assert numbers.tolist() == list(range(1000))


@pytest.mark.parametrize("kept", [0, 10, 500, -1])
def test_a_file_that_was_cut_off_is_told(tmp_path, kept):
    path = tmp_path / "columns.arrow"
    write_arrow(path, {"numbers": np.arange(1000)})
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(DataError, match=r"columns\.arrow: not a readable Arrow file"):
        read_arrow(path)
