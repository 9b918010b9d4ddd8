"""Flat arrays in Arrow files, read back by memory mapping without a copy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from letgraph.errors import DataError
from letgraph.ragged import Ragged


def write_arrow(path: Path, columns: Mapping[str, NDArray | Ragged]) -> None:
    """Write columns of equal length as one record batch (Arrow IPC file) that has reached the disk on return.

    A `Ragged` becomes a large list. One batch, because only then is each column one contiguous piece of the file.
    """
    batch = pa.record_batch([_encode(column) for column in columns.values()], names=list(columns))
    with path.open("wb") as sink:
        with pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
        sink.flush()
        os.fsync(sink.fileno())


def read_arrow(path: Path) -> dict[str, NDArray | Ragged]:
    """The columns of a file by `write_arrow`, as read-only views of the mapped file.

    Raises DataError where the file is missing, cut off or none of ours.
    """
    try:
        with pa.memory_map(os.fspath(path)) as source:
            batch = pa.ipc.open_file(source).get_batch(0)
    except (OSError, pa.ArrowInvalid) as error:
        reason = str(error).splitlines()[0]
        raise DataError(path, None, f"not a readable Arrow file ({reason})", f"delete {path.parent}") from error
    return {name: _decode(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}


def _encode(column: NDArray | Ragged) -> pa.Array:
    if isinstance(column, Ragged):
        return pa.LargeListArray.from_arrays(pa.array(column.offsets, pa.int64()), pa.array(column.values))
    return pa.array(column)


def _decode(column: pa.Array) -> NDArray | Ragged:
    if isinstance(column, pa.LargeListArray):
        return Ragged(_view(column.values), _view(column.offsets))
    return _view(column)


def _view(array: pa.Array) -> NDArray[Any]:
    return array.to_numpy(zero_copy_only=True)
