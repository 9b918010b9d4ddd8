"""Featurising many sentences in worker processes, with progress and an account of where the time went."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from tqdm import tqdm

from letgraph.errors import LetgraphError
from letgraph.text.features import SentenceTable, featurise
from letgraph.text.lexicon import Lexicon
from letgraph.text.segment import Segmenter, load_segmenter

CHUNK = 1000  # sentences a task: half a second of work, against under a millisecond to hand it over
WORTH_A_PROCESS = 5000  # sentences; below that, loading the segmenters once more takes longer than it saves
MOST_PROCESSES = 8  # unless asked for more: each needs 1.7 GB for the models of all segmenters
LOG_INTERVAL = 10.0  # seconds between reports where stderr is no terminal


@dataclass(frozen=True)
class Effort:
    """What it took: wall seconds, worker processes, what these spent loading and in the segmenters (summed), and the
    peak bytes of memory of all processes together, this one included."""

    seconds: float
    workers: int
    loading: float
    segmenting: float
    peak_bytes: int

    @property
    def segmenting_share(self) -> float:
        """The part of the workers' wall time that went by inside the segmenters."""
        return self.segmenting / (self.seconds * self.workers) if self.seconds else 0.0


def featurise_all(
    sentences: Sequence[str],
    segmenters: Sequence[str],
    lexicon: Lexicon | None,
    *,
    workers: int | None = None,
    progress: bool = True,
) -> tuple[SentenceTable, Effort]:
    """`featurise` in parallel; ``segmenters`` are names. The result does not depend on ``workers``.

    ``workers=None`` takes a process for each usable core, up to 8, fewer for few sentences; 1 works in this process.
    The processes are spawned, so a script that calls this needs the usual ``if __name__ == "__main__"``.
    Progress goes to stderr. Raises `LetgraphError` when a worker dies, and for ``workers`` below 1.
    """
    if workers is not None and workers < 1:
        raise LetgraphError(f"workers {workers}: it has to be 1 or more; leave it out for one a core")
    start = perf_counter()
    if workers is None:
        workers = max(1, min(usable_cores(), MOST_PROCESSES, len(sentences) // WORTH_A_PROCESS))
    size = max(1, min(CHUNK, -(-len(sentences) // workers)))
    chunks = [sentences[i : i + size] for i in range(0, len(sentences), size)] or [[]]
    tables: list[SentenceTable] = []
    accounts: dict[int, _Account] = {}
    with _progress_bar(len(sentences), progress) as bar:
        for part, account in _map(chunks, segmenters, lexicon, workers):
            tables.append(part)
            accounts[account.process] = account
            bar.update(len(part))
    table = SentenceTable.concatenate(tables)
    return table, Effort(
        seconds=perf_counter() - start,
        workers=workers,
        loading=sum(account.loading for account in accounts.values()),
        segmenting=sum(account.segmenting for account in accounts.values()),
        peak_bytes=peak_memory() + sum(it.peak_bytes for it in accounts.values() if it.process != os.getpid()),
    )


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def restart_peak_memory() -> None:
    """Let `peak_memory` count from now on, where the system can (Linux); elsewhere it goes on as before."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_memory() -> int:
    """Peak resident bytes of this process, since its start or the last `restart_peak_memory`."""
    try:
        # getrusage counts what the parent had before this program was started in the process; VmHWM does not.
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@dataclass(frozen=True)
class _Account:
    """What one process has spent so far."""

    process: int
    loading: float
    segmenting: float
    peak_bytes: int


_Result = tuple[SentenceTable, _Account]


class _Featuriser:
    """The segmenters and the lexicon of one process, loaded once, and its account."""

    def __init__(self, segmenters: Sequence[str], lexicon: Lexicon | None) -> None:
        start = perf_counter()
        self.segmenters = [_Timed(load_segmenter(name)) for name in segmenters]
        for segmenter in self.segmenters:
            segmenter.cut("词")  # so that what loads itself at first use is loaded now
            segmenter.seconds = 0.0
        self.lexicon = lexicon
        self.loading = perf_counter() - start

    def __call__(self, sentences: Sequence[str]) -> _Result:
        table = featurise(sentences, self.segmenters, self.lexicon)
        segmenting = sum(segmenter.seconds for segmenter in self.segmenters)
        return table, _Account(os.getpid(), self.loading, segmenting, peak_memory())


class _Timed:
    """A segmenter that adds up the seconds spent in it."""

    def __init__(self, segmenter: Segmenter) -> None:
        self.name, self.version = segmenter.name, segmenter.version
        self.seconds = 0.0
        self._cut = segmenter.cut

    def cut(self, sentence: str) -> list[str]:
        start = perf_counter()
        tokens = self._cut(sentence)
        self.seconds += perf_counter() - start
        return tokens


def _map(
    chunks: Sequence[Sequence[str]], segmenters: Sequence[str], lexicon: Lexicon | None, workers: int
) -> Iterator[_Result]:
    """Results in the order of the chunks."""
    if workers == 1:
        yield from map(_Featuriser(segmenters, lexicon), chunks)
        return
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_start_worker, initargs=(segmenters, lexicon)
    )
    try:
        yield from pool.map(_work, chunks)
    except BrokenProcessPool as error:
        raise LetgraphError(
            f"one of {workers} worker processes died, perhaps for want of memory; try fewer (workers=1 starts none)"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


_worker: _Featuriser  # of a worker process, set as it starts


def _start_worker(segmenters: Sequence[str], lexicon: Lexicon | None) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches all processes: end at once and without a traceback
    threading.Thread(target=_die_with_parent, daemon=True).start()
    _worker = _Featuriser(segmenters, lexicon)


def _work(sentences: Sequence[str]) -> _Result:
    return _worker(sentences)


def _die_with_parent() -> None:
    """A pool's worker would wait for work for ever when the parent is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _progress_bar(total: int, progress: bool) -> tqdm:
    terminal = sys.stderr.isatty()
    kind, interval = (tqdm, 0.1) if terminal else (_LogLines, LOG_INTERVAL)
    return kind(
        total=total, desc="segmenting", unit=" sentences", disable=not progress, mininterval=interval, miniters=1
    )


class _LogLines(tqdm):
    """A progress bar for logs: each report is a line of its own."""

    @staticmethod
    def status_printer(file: Any) -> Callable[[str], None]:
        separator = ""

        def report(text: str) -> None:
            nonlocal separator
            file.write(separator + text)
            file.flush()
            separator = "\n"  # tqdm itself ends the last line

        return report
