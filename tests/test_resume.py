"""A training run that is killed and started again ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TINY = [
    *("--dataset", "demo", "--segmenter", "jieba", "--limit", "200", "--batch-size", "8", "--seed", "3"),
    *("--max-steps", "40", "--eval-steps", "20", "--save-steps", "10", "--workers", "1"),
    *("--set", "hidden_size=16", "encoder_size=16", "encoder_layers=1", "encoder_intermediate_size=32"),
]


def start(folder: Path, cache: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "letgraph.train", *TINY, "--output-dir", str(folder), *more],
        env={**os.environ, "LETGRAPH_CACHE": str(cache), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return output


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    finish(start(folder, folder.parent.parent / "cache"))
    return folder


def test_a_killed_run_ends_with_the_weights_of_an_uninterrupted_one(uninterrupted: Path, tmp_path: Path) -> None:
    cache, folder = uninterrupted.parent.parent / "cache", tmp_path / "run"
    process = start(folder, cache)
    deadline = time.monotonic() + 200
    while not list(folder.glob("states/checkpoint-*")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (folder / "metrics.json").exists()

    output = finish(start(folder, cache, "--resume", "auto"))
    assert "going on from" in output
    for name in ("model.safetensors", "last/model.safetensors"):
        assert (folder / name).read_bytes() == (uninterrupted / name).read_bytes()
    speed = ("train_pairs_per_second", "predict_pairs_per_second", "peak_rss_mb")
    ours, theirs = (json.loads((run / "metrics.json").read_text(encoding="utf-8")) for run in (folder, uninterrupted))
    assert {k: v for k, v in ours.items() if k not in speed} == {k: v for k, v in theirs.items() if k not in speed}


def test_a_finished_run_is_not_trained_again(uninterrupted: Path) -> None:
    before = (uninterrupted / "model.safetensors").stat().st_mtime_ns
    output = finish(start(uninterrupted, uninterrupted.parent.parent / "cache", "--resume", "auto"))
    assert "holds a finished run" in output
    assert (uninterrupted / "model.safetensors").stat().st_mtime_ns == before


def test_another_setting_is_not_resumed(uninterrupted: Path) -> None:
    process = start(uninterrupted, uninterrupted.parent.parent / "cache", "--resume", "auto", "--learning-rate", "0.1")
    output, _ = process.communicate(timeout=200)
    assert process.returncode == 2
    assert "was begun with learning_rate = 0.0005, not 0.1" in output
