"""The processes that train one model together: who is first, and where they wait for each other.

``torchrun --nproc-per-node N -m letgraph.train …`` starts N of them, on one device or core each. A batch is divided
among them, so that a step is the step that one process would take.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import torch
from numpy.typing import NDArray
from torch import distributed

PATIENCE = timedelta(days=1)
"""How long a process waits for the others: the first may have a whole corpus to prepare."""


@dataclass(frozen=True)
class Processes:
    """This process's number and how many there are."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes and prints."""
        return self.rank == 0

    def wait(self) -> None:
        """Until all are here."""
        if self.count > 1:
            distributed.barrier()

    @contextmanager
    def first_ahead(self) -> Iterator[None]:
        """The first process does what follows, then the others do, with what it has left in a cache."""
        if not self.first:
            self.wait()
        yield
        if self.first:
            self.wait()

    def share(self, size: int) -> NDArray[np.int64]:
        """The part of ``size`` items that is this process's."""
        return np.arange(self.rank, size, self.count)

    def merge(self, values: NDArray[np.float64], share: NDArray[np.int64]) -> NDArray[np.float64]:
        """All processes' values, each in its place: those of ``share`` are this process's."""
        if self.count == 1:
            return values
        parts: list[tuple[NDArray, NDArray]] = [(share, values)] * self.count
        distributed.all_gather_object(parts, (share, values))
        merged = np.empty(sum(len(part) for part, _ in parts))
        for places, of_part in parts:
            merged[places] = of_part
        return merged


ALONE = Processes()


@contextmanager
def open_processes() -> Iterator[Processes]:
    """The processes that torchrun has started, or this one alone. All but the first are silent on stdout."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield ALONE
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group(timeout=PATIENCE)
    try:
        processes = Processes(distributed.get_rank(), count)
        if processes.first:
            yield processes
        else:
            with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
                yield processes
    finally:
        distributed.destroy_process_group()
