"""The prepared store under real processes: killed half-way, or two at once.

They prepare slowly, so that they can be met at a chosen moment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from letgraph.data import store
from letgraph.data.store import PreparedPairs
from tests.data.test_store import PAIRS, assert_same_pairs, split_of

PROGRAM = """
import sys, time
from pathlib import Path
from letgraph.data import store
from letgraph.data.corpora import open_corpus
from letgraph.text import segment

class Slow:
    name, version = "slow", "1"
    missing = staticmethod(lambda: None)
    def cut(self, sentence):
        time.sleep(float(sys.argv[3]))
        return list(sentence)

segment.SEGMENTERS["slow"] = Slow

def write_slowly(path, columns, write=store.write_arrow):
    write(path, columns)
    time.sleep(float(sys.argv[4]))

store.write_arrow = write_slowly

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    split = open_corpus(folder / "train.tsv").load("train")
    prepared = store.prepare(split, ["slow"], None, cache_dir=folder / "cache", workers=int(sys.argv[2]))
    print(prepared.from_cache)
"""


class Program:
    """Runs `PROGRAM` on sentences in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        split_of(folder, [(f"{a}第{i}次", b, label) for i in range(10) for a, b, label in PAIRS])
        self.script = folder / "program.py"
        self.script.write_text(PROGRAM, encoding="utf-8")
        self.environment = {**os.environ, "PYTHONPATH": str(Path(store.__file__).parents[2])}

    def start(self, workers: int = 1, cutting: float = 0, writing: float = 0) -> subprocess.Popen[str]:
        """``cutting``, ``writing``: seconds to sleep at every sentence and after every file."""
        command = [sys.executable, self.script, self.folder, str(workers), str(cutting), str(writing)]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def wait_for(self, pattern: str) -> None:
        until(lambda: any(self.cache.glob(pattern)), f"{pattern} in the cache")

    def finished(self) -> list[Path]:
        return [path for path in self.cache.glob("*") if path.is_dir() and path.suffix != ".tmp"]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def until(condition, what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.strip(), err


@pytest.mark.parametrize(
    ("workers", "slow", "moment"),
    [
        (2, {"cutting": 10}, "*.tmp"),
        (1, {"writing": 2}, "*.tmp/sentences.arrow"),
        (1, {"writing": 2}, "*.tmp/pairs.arrow"),
    ],
)
def test_a_process_killed_at_any_moment_leaves_nothing_that_seems_whole(program, workers, slow, moment):
    process = program.start(workers, **slow)
    program.wait_for(moment)
    if workers > 1:
        until(lambda: len(psutil.Process(process.pid).children()) >= workers, "worker processes")
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()

    assert program.finished() == []
    assert psutil.wait_procs(children, timeout=60)[1] == []  # no worker outlives it

    assert finish(program.start())[0] == "False"
    (whole,) = program.finished()
    kept = PreparedPairs.open(whole)
    shutil.rmtree(program.cache)
    finish(program.start())
    assert_same_pairs(kept, PreparedPairs.open(whole))
    assert list(program.cache.glob("*.tmp")) == []


def test_two_processes_that_prepare_the_same_do_it_once(program):
    processes = [program.start(cutting=0.02), program.start(cutting=0.02)]

    (out_1, err_1), (out_2, err_2) = map(finish, processes)

    assert sorted([out_1, out_2]) == ["False", "True"]
    assert "waiting" in (err_1 if out_1 == "True" else err_2)


def test_who_waits_for_a_process_that_is_killed_takes_over(program):
    first = program.start(cutting=10)
    program.wait_for("*.tmp")
    second = program.start()
    assert "waiting" in second.stderr.readline()
    first.kill()
    first.communicate()

    assert finish(second)[0] == "False"
    assert len(program.finished()) == 1
