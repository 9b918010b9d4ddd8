"""A run divided among several processes is the run of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from letgraph.processes import ALONE, Processes

TINY = [
    *("--dataset", "demo", "--segmenter", "jieba", "--limit", "64", "--workers", "1"),
    *("--max-steps", "6", "--eval-steps", "3", "--save-steps", "3", "--learning-rate", "0.001"),
    *("--set", "hidden_size=16", "encoder_size=16", "encoder_layers=1", "encoder_intermediate_size=32", "dropout=0"),
]


def run(folder: Path, cache: Path, *launcher: str, batch_size: int = 16) -> subprocess.CompletedProcess[str]:
    places = ["--output-dir", str(folder), "--cache-dir", str(cache), "--batch-size", str(batch_size)]
    return subprocess.run(
        [sys.executable, "-m", *launcher, "letgraph.train", *TINY, *places],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


TWO = ("torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for name, launcher in (("one", ()), ("two", TWO)):
        done = run(folder / name, folder / "cache", *launcher)
        assert done.returncode == 0, done.stderr
        (folder / f"{name}.txt").write_text(done.stdout, encoding="utf-8")
    return {name: folder / name for name in ("one", "two")}


def test_two_processes_take_the_steps_that_one_would(runs: dict[str, Path]) -> None:
    one, two = (load_file(folder / "last/model.safetensors") for folder in runs.values())

    assert one.keys() == two.keys()
    for name, weight in one.items():
        torch.testing.assert_close(two[name], weight, rtol=1e-3, atol=1e-4, msg=name)


def test_two_processes_score_every_pair_once(runs: dict[str, Path]) -> None:
    one, two = (json.loads((folder / "metrics.json").read_text(encoding="utf-8")) for folder in runs.values())

    for split in ("train", "dev", "test"):
        assert two[split]["n"] == one[split]["n"] == 64
        assert two[split]["loss"] == pytest.approx(one[split]["loss"], abs=1e-3)
        assert two[split]["accuracy"] == pytest.approx(one[split]["accuracy"], abs=0.04)


def test_only_the_first_process_prints_and_nothing_is_left_behind(runs: dict[str, Path]) -> None:
    printed = runs["two"].with_suffix(".txt").read_text(encoding="utf-8")

    assert printed.count("the model is in") == printed.count("step 3:") == printed.count("step 6:") == 1
    assert sorted(p.name for p in runs["two"].iterdir()) == sorted(p.name for p in runs["one"].iterdir())


def test_a_batch_that_cannot_be_divided_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    done = run(tmp_path / "run", runs["one"].parent / "cache", *TWO, batch_size=15)

    assert done.returncode != 0
    assert "error: --batch-size 15 cannot be divided among 2 processes; choose a multiple" in done.stderr
    assert not (tmp_path / "run").exists()


def test_shares_cover_everything_once() -> None:
    shares = [Processes(rank, 3).share(10) for rank in range(3)]

    assert sorted(np.concatenate(shares)) == list(range(10))
    assert list(ALONE.share(4)) == [0, 1, 2, 3]
