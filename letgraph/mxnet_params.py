"""MXNet's parameter files, read without MXNet.

`gluon.Block.save_parameters` writes, little-endian and without padding (apache/mxnet, src/ndarray/ndarray.cc,
``NDArray::Save``)::

    file    u64 0x112, u64 0, u64 count, array × count, u64 count, name × count
    name    u64 length, UTF-8
    array   u32 0xF993FAC9, i32 storage type (0: dense), shape, context, values          MXNet 1.0 to 1.9
            u32 0xF993FACA, the same                                                     NumPy semantics
            u32 0xF993FAC8, shape, context, values                                       MXNet 0.12
            u32 ndim, u32 × ndim, context, values                                        before
    shape   u32 ndim, i64 × ndim
    context i32 device type, i32 device number
    values  i32 type (`TYPES`), the numbers in row-major order
"""

from __future__ import annotations

import mmap
import os
import struct
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from letgraph.errors import DataError

LIST_MAGIC = 0x112
V1_MAGIC, V2_MAGIC, V3_MAGIC = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
TYPES = ("f4", "f8", "f2", "u1", "i4", "i1", "i8", "?", "i2", "u2", "u4", "u8")
"""NumPy's name of each type number."""
MAX_DIMENSIONS = 32

_MEND = "give the whole of a file that MXNet's save_parameters wrote"


def read_params(path: str | os.PathLike[str]) -> dict[str, NDArray]:
    """The named arrays of a parameter file, in its order.

    What a file announces is believed only as far as the file reaches, so a damaged or hostile one costs no more memory
    than it has bytes. Raises `DataError` for it, and for sparse and empty arrays, which no LET has.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            if not os.fstat(stream.fileno()).st_size:
                raise DataError(path, None, "an empty file", _MEND)
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content, _Reader(path, content) as reader:
                return reader.file()
    except OSError as error:
        raise DataError(path, None, f"cannot be read ({error.strerror or error})", _MEND) from None


class _Reader:
    """Takes a file apart from its begin to its end."""

    def __init__(self, path: Path, content: mmap.mmap) -> None:
        self.path, self.content, self.place = path, memoryview(content), 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.content.release()

    def file(self) -> dict[str, NDArray]:
        if self.numbers("Q", 1, "its first number")[0] != LIST_MAGIC or self.numbers("Q", 1, "its second number")[0]:
            raise DataError(self.path, None, "not a parameter file of MXNet", _MEND)
        (count,) = self.numbers("Q", 1, "the number of arrays")
        arrays = []
        for number in range(1, count + 1):
            arrays.append(self.array(f"array {number:,} of {count:,}"))
        (named,) = self.numbers("Q", 1, "the number of names")
        if named != count:
            raise self.error(f"{count:,} arrays and {named:,} names")
        names = [self.name(f"name {number:,} of {count:,}") for number in range(1, count + 1)]
        if self.place != len(self.content):
            raise self.error(f"{len(self.content) - self.place:,} bytes after the last name")
        if len(set(names)) != count:
            raise self.error(f"two arrays are called {next(name for name in names if names.count(name) > 1)!r}")
        return dict(zip(names, arrays, strict=True))

    def array(self, what: str) -> NDArray:
        shape = self.shape(what)
        if not shape or not all(size > 0 for size in shape):
            raise self.error(f"{what} has the shape {shape}, so no values")
        self.numbers("i", 2, what)
        (number,) = self.numbers("i", 1, what)
        if not 0 <= number < len(TYPES):
            raise self.error(f"{what} has numbers of type {number}, which is none of 0 to {len(TYPES) - 1}")
        dtype = np.dtype(TYPES[number]).newbyteorder("<")
        values = self.take(prod(shape) * dtype.itemsize, f"{what}, which has the shape {shape},")
        return np.frombuffer(values, dtype).reshape(shape).astype(dtype.newbyteorder("="))

    def shape(self, what: str) -> tuple[int, ...]:
        (magic,) = self.numbers("I", 1, what)
        kind = "q"
        if magic in (V2_MAGIC, V3_MAGIC):
            (storage,) = self.numbers("i", 1, what)
            if storage:
                raise self.error(f"{what} is sparse or undefined (storage type {storage})")
        if magic in (V1_MAGIC, V2_MAGIC, V3_MAGIC):
            (dimensions,) = self.numbers("I", 1, what)
        else:
            kind, dimensions = "I", magic
        if dimensions > MAX_DIMENSIONS:
            raise self.error(f"{what} has {dimensions:,} dimensions")
        return self.numbers(kind, dimensions, what)

    def name(self, what: str) -> str:
        (length,) = self.numbers("Q", 1, what)
        try:
            return bytes(self.take(length, what)).decode("utf-8")
        except UnicodeDecodeError:
            raise self.error(f"{what} is not UTF-8") from None

    def numbers(self, kind: str, count: int, what: str) -> tuple[Any, ...]:
        form = f"<{count}{kind}"
        return struct.unpack(form, self.take(struct.calcsize(form), what))

    def take(self, size: int, what: str) -> memoryview:
        """The next ``size`` bytes, without a copy."""
        end = self.place + size
        if end > len(self.content):
            raise self.error(f"{what} needs {size:,} bytes, and the file has {len(self.content) - self.place:,} more")
        part = self.content[self.place : end]
        self.place = end
        return part

    def error(self, problem: str) -> DataError:
        return DataError(self.path, None, f"not a sound parameter file: {problem} (byte {self.place:,})", _MEND)
