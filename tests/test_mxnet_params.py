"""Parameter files of MXNet come back as they were written; damaged, foreign and hostile ones are one clear error."""

from __future__ import annotations

import resource
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from letgraph.errors import DataError
from letgraph.mxnet_params import read_params

V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
# Type numbers of mshadow (3rdparty/mshadow/mshadow/base.h).
TYPE_NUMBERS = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "uint8": 3,
    "int32": 4,
    "int8": 5,
    "int64": 6,
    "bool": 7,
    "int16": 8,
    "uint16": 9,
    "uint32": 10,
    "uint64": 11,
}


def array_bytes(
    array: np.ndarray, magic: int | None = V2, storage: int = 0, context: tuple[int, int] = (1, 0)
) -> bytes:
    """``magic=None``: the oldest form, which begins with the number of dimensions."""
    if magic is None:
        head = struct.pack(f"<I{array.ndim}I", array.ndim, *array.shape)
    else:
        head = struct.pack("<I", magic) + (b"" if magic == V1 else struct.pack("<i", storage))
        head += struct.pack(f"<I{array.ndim}q", array.ndim, *array.shape)
    values = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return head + struct.pack("<3i", *context, TYPE_NUMBERS[array.dtype.name]) + values


def file_bytes(arrays: dict[str, np.ndarray], **form: object) -> bytes:
    parts = [struct.pack("<3Q", 0x112, 0, len(arrays))]
    parts += [array_bytes(array, **form) for array in arrays.values()]  # type: ignore[arg-type]
    parts.append(struct.pack("<Q", len(arrays)))
    parts += [struct.pack("<Q", len(name.encode())) + name.encode() for name in arrays]
    return b"".join(parts)


def read(folder: Path, content: bytes) -> dict[str, np.ndarray]:
    path = folder / "file.params"
    path.write_bytes(content)
    return read_params(path)


def refused(folder: Path, content: bytes) -> str:
    """The one-line error, made at the cost of little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(DataError) as caught:
            read(folder, content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert "file.params: " in message and "save_parameters" in message and "\n" not in message
    assert peak < 10 * len(content) + 500_000
    return message


SMALL = {"layer.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "层": np.array([7], np.int64)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("params")


arrays = st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=8),
    npst.arrays(
        st.sampled_from(sorted(TYPE_NUMBERS)).map(np.dtype), npst.array_shapes(min_dims=1, max_dims=4, max_side=4)
    ),
    max_size=4,
)


@given(arrays, st.sampled_from([V1, V2, V3, None]), st.sampled_from([(1, 0), (2, 3)]))
def test_what_was_written_comes_back(folder, written, magic, context):
    found = read(folder, file_bytes(written, magic=magic, context=context))

    assert list(found) == list(written)
    for name, array in written.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_arrays_outlive_the_file(folder):
    found = read(folder, file_bytes(SMALL))
    (folder / "file.params").write_bytes(b"\xff" * 500)

    found["层"] += 1
    assert found["层"].tolist() == [8]
    assert found["layer.weight"].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("magic", [V1, V2, V3, None])
def test_a_file_cut_off_anywhere_is_told(folder, magic):
    content = file_bytes(SMALL, magic=magic)
    for length in range(len(content)):
        refused(folder, content[:length])


@given(st.data())
def test_changed_bytes_give_arrays_or_the_error(folder, data):
    content = bytearray(file_bytes(SMALL))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[place] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255))
    try:
        found = read(folder, bytes(content))
    except DataError as error:
        assert "\n" not in str(error)
    else:
        assert sum(array.nbytes for array in found.values()) < len(content)


@given(st.binary(max_size=200), st.booleans())
def test_bytes_of_another_kind_are_told(folder, content, announced):
    refused(folder, struct.pack("<2Q", 0x112, 0) + b"\xff" + content if announced else b"\x80" + content)


HEAD = struct.pack("<3Q", 0x112, 0, 1)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "empty"),
        (b"PK\x03\x04" + bytes(60), "not a parameter file of MXNet"),
        (struct.pack("<3Q", 0x112, 1, 0) + bytes(8), "not a parameter file of MXNet"),
        (struct.pack("<3Q", 0x112, 0, 2**63) + bytes(8), "shape"),
        (struct.pack("<3Q", 0x112, 0, 2**64 - 1), "array 1 of"),
        (HEAD + struct.pack("<IiI", V2, 0, 2**31), "dimensions"),
        (HEAD + struct.pack("<IiI", V2, 0, 0xFFFFFFFF), "dimensions"),
        (HEAD + struct.pack("<I", 33) + bytes(200), "33 dimensions"),
        (HEAD + struct.pack("<IiI", V2, 0, 0) + bytes(64), r"shape \(\)"),
        (HEAD + struct.pack("<IiI2q3i", V2, 0, 2, 0, 5, 1, 0, 0) + bytes(64), r"shape \(0, 5\)"),
        (HEAD + struct.pack("<IiI2q3i", V2, 0, 2, -1, -5, 1, 0, 0) + bytes(64), r"shape \(-1, -5\)"),
        (HEAD + struct.pack("<IiI2q3i", V2, 0, 2, 2**40, 2**40, 1, 0, 0) + bytes(64), "needs"),
        (HEAD + struct.pack("<IiI3q3i", V2, 0, 3, 2**62, 2**62, 2**62, 1, 0, 1) + bytes(64), "needs"),
        (HEAD + struct.pack("<IiIq3i", V2, 0, 1, 2, 1, 0, 12) + bytes(64), "type 12"),
        (HEAD + struct.pack("<IiIq3i", V2, 0, 1, 2, 1, 0, -1) + bytes(64), "type -1"),
        (HEAD + struct.pack("<IiIq3i", V2, 1, 1, 2, 1, 0, 0) + bytes(64), "sparse"),
        (HEAD + struct.pack("<IiIq3i", V2, 2, 1, 2, 1, 0, 0) + bytes(64), "sparse"),
        (file_bytes({"a": SMALL["层"]}) + b"\0", "after the last name"),
        (HEAD + array_bytes(SMALL["层"]) + struct.pack("<Q", 0), "1 arrays and 0 names"),
        (HEAD + array_bytes(SMALL["层"]) + struct.pack("<2Q", 1, 2**63), "needs"),
        (HEAD + array_bytes(SMALL["层"]) + struct.pack("<2Q", 1, 2) + b"\xff\xfe", "not UTF-8"),
        (
            struct.pack("<3Q", 0x112, 0, 2)
            + 2 * array_bytes(SMALL["层"])
            + struct.pack("<Q", 2)
            + 2 * (struct.pack("<Q", 1) + b"w"),
            "two arrays are called 'w'",
        ),
    ],
)
def test_absurd_files_are_told_what_is_wrong_with_them(folder, content, problem):
    with pytest.raises(DataError, match=problem):
        read(folder, content)
    refused(folder, content)


def test_a_million_announced_arrays_in_a_file_of_zeros_cost_nothing(folder):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    refused(folder, struct.pack("<3Q", 0x112, 0, 10**6) + bytes(10**6))

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_what_is_no_file_is_told(tmp_path):
    for path in (tmp_path / "absent.params", tmp_path):
        with pytest.raises(DataError, match="cannot be read"):
            read_params(path)
