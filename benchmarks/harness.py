"""What the benchmarks share: candidates that agree, are timed in turn, and end in a table, a JSON file and a figure."""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from letgraph.errors import LetgraphError
from letgraph.output import whole_file

PATIENCE = 5.0
"""Seconds of one pass from which on a candidate is not timed."""


@dataclass
class Candidate:
    """``run()`` gives the results of one forward pass; a backward pass forms the gradients of ``inputs``.

    ``compared``: whether its results must be those of the first candidate that is. ``first``: seconds of its
    first pass.
    """

    name: str
    run: Callable[[], Sequence[Tensor]]
    inputs: Sequence[Tensor]
    compared: bool = True
    forward: list[float] = field(default_factory=list)
    both: list[float] = field(default_factory=list)
    peak_mb: float = 0.0
    first: float = 0.0

    def backward(self, results: Sequence[Tensor]) -> None:
        for tensor in self.inputs:
            tensor.grad = None
        torch.autograd.backward(list(results), [torch.ones_like(result) for result in results])


@dataclass(frozen=True)
class Row:
    """One line of a results table; times in milliseconds, quartiles in brackets."""

    candidate: str
    forward_ms: float
    forward_backward_ms: float
    forward_quartiles: tuple[float, float]
    forward_backward_quartiles: tuple[float, float]
    peak_mb: float
    passes: int


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dataset", default="demo")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--hownet")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds: under 50 s")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="a .png or .svg figure; needs matplotlib")


def check_agreement(candidates: Iterable[Candidate], tolerance: float = 5e-4) -> None:
    """Raises `AssertionError` where two candidates differ in a result or in a gradient, by more than ``tolerance``
    times its largest entry (or 1, if that is smaller). Gradients of a softmax are differences that nearly cancel, and
    those of weights sum them over all nodes, so float32 leaves few digits in large batches. Notes the time of this
    first pass of every candidate."""
    first: tuple[str, list[Tensor]] | None = None
    for candidate in candidates:
        start = time.perf_counter()
        results = candidate.run()
        candidate.backward(results)
        candidate.first = time.perf_counter() - start
        if not candidate.compared:
            continue
        found = [*(result.detach() for result in results), *(x.grad for x in candidate.inputs if x.grad is not None)]
        first = first or (candidate.name, found)
        for one, other in zip(first[1], found, strict=True):
            error = float((one - other).abs().max() / one.abs().max().clamp(min=1)) if one.numel() else 0.0
            assert error <= tolerance, f"{candidate.name} and {first[0]} differ by {error:.1e} of the largest entry"


def measure(candidates: Sequence[Candidate], seconds: float, min_rounds: int = 3) -> list[Row]:
    """Time all candidates in rounds, after a warm-up, until ``seconds`` are over and every one had ``min_rounds``; in a
    round each has up to five passes, for a tenth of a second. A first pass longer than `PATIENCE` gets no row.
    """
    check_agreement(candidates)
    candidates = [candidate for candidate in candidates if candidate.first <= PATIENCE]
    for candidate in candidates:
        candidate.peak_mb = peak_memory(candidate)
    end = time.perf_counter() + seconds
    order = random.Random(0)
    number = 0
    while number < min_rounds or time.perf_counter() < end:
        # In another order each time, so that none always follows the one that fills the caches.
        for candidate in order.sample(candidates, len(candidates)):
            for _ in range(min(5, 1 + int(0.1 / candidate.first))):
                _time(candidate)
        number += 1
    return [_row(candidate) for candidate in candidates]


def _time(candidate: Candidate) -> None:
    start = time.perf_counter()
    with torch.no_grad():
        candidate.run()
    middle = time.perf_counter()
    candidate.backward(candidate.run())
    candidate.forward.append((middle - start) * 1e3)
    candidate.both.append((time.perf_counter() - middle) * 1e3)


def _row(candidate: Candidate) -> Row:
    forward, both = (statistics.quantiles(times, n=4) for times in (candidate.forward, candidate.both))
    return Row(
        candidate.name,
        forward[1],
        both[1],
        (forward[0], forward[2]),
        (both[0], both[2]),
        candidate.peak_mb,
        len(candidate.both),
    )


def peak_memory(candidate: Candidate) -> float:
    """Megabytes (2^20 bytes) that one forward and backward pass holds at most, beyond what was there before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        candidate.backward(candidate.run())
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak / 2**20


def print_table(title: str, rows: Sequence[Row], reference: str | None = None) -> None:
    """``reference``: the candidate whose time the last column is measured in."""
    unit = next((row.forward_backward_ms for row in rows if row.candidate == reference), None)
    print(f"\n{title}")
    print(f"{'':<34}{'forward':>9} {'(quartiles)':<17}{'forward+backward':>17} {'(quartiles)':<17}{'peak':>8}", end="")
    print(f"{'x ' + reference:>16}" if unit else "")
    for row in rows:
        forward, both = (
            f"({low:.2f} - {high:.2f})" for low, high in (row.forward_quartiles, row.forward_backward_quartiles)
        )
        print(
            f"{row.candidate:<34}{row.forward_ms:>9.2f} {forward:<17}{row.forward_backward_ms:>17.2f} {both:<17}"
            f"{row.peak_mb:>6.1f}MB" + (f"{row.forward_backward_ms / unit:>16.2f}" if unit else "")
        )


def write_json(path: Path | None, results: Sequence[dict[str, Any]], **about: Any) -> None:
    if path is not None:
        with whole_file(path) as stream:
            stream.write(json.dumps({**about, "results": list(results)}, indent=1).encode())
        print(f"\nwrote {path}")


def as_dict(row: Row, **place: Any) -> dict[str, Any]:
    return {**place, **asdict(row)}


def figure(path: Path | None, draw: Callable[[Any], None]) -> None:
    """Let ``draw`` fill a matplotlib figure and save it; without matplotlib say what to install."""
    if path is None:
        return
    try:
        import matplotlib
    except ImportError:
        raise LetgraphError("--plot needs matplotlib: pip install 'letgraph[bench]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    canvas = pyplot.figure(figsize=(10, 5), layout="constrained")
    draw(canvas)
    with whole_file(path) as stream:
        canvas.savefig(stream, format=path.suffix.lstrip(".") or "png", dpi=150)
    print(f"wrote {path}")
