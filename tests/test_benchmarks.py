"""Each benchmark runs on the demo corpus and writes what its readers count on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


def run(name: str, *options: str, plot: Path, json_file: Path) -> tuple[str, list[dict]]:
    """Standard output, and the rows of the JSON file."""
    command = [sys.executable, str(FOLDER / name), "--quick", *options, "--json", str(json_file), "--plot", str(plot)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(json_file.read_text(encoding="utf-8"))["results"]


@pytest.fixture
def files(tmp_path):
    return {"plot": tmp_path / "figure.png", "json_file": tmp_path / "results.json"}


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


def test_message_passing_compares_every_kernel_with_the_floor(files):
    options = ("--batch-sizes", "2", "--lengths", "12", "--edge-type", "fw", "--seconds", "0.01")
    printed, rows = run("message_passing.py", *options, **files)

    names = {row["candidate"] for row in rows}
    assert names >= {"projections", "letgraph", "letgraph blocks", "letgraph edges", "DGL user-defined functions"}
    assert {(row["batch_size"], row["length"]) for row in rows} == {(2, None), (66, 12)}
    for row in rows:
        assert row["edge_type"] == "fw"
        assert row["forward_ms"] > 0 and row["forward_backward_ms"] > 0 and row["peak_mb"] > 0
        assert row["passes"] >= 3
    assert "x projections" in printed
    assert is_png(files["plot"])


def test_batching_compares_with_batches_of_single_graphs(files):
    printed, rows = run("batching.py", "--batch-size", "4", "--batches", "40", **files)

    assert [row["candidate"].split(",")[0] for row in rows] == [
        "letgraph",
        "letgraph",
        "singles + dgl.batch",
        "singles + PyG from_data_list",
        "letgraph",
    ]
    assert all(row["pairs_per_second"] > 0 for row in rows)
    assert "times as fast as single graphs and dgl.batch" in printed
    assert is_png(files["plot"])


def test_training_step_names_its_parts_and_the_floor(files):
    printed, rows = run("training_step.py", "--batch-size", "4", "--steps", "4", **files)

    times = {row["candidate"]: row.get("ms", row.get("forward_backward_ms")) for row in rows}
    assert times["step"] == pytest.approx(sum(times[name] for name in ("data", "forward", "backward", "optimiser")))
    assert times["projections"] < times["step"]
    assert {"character encoder", "sense embedding", "SaGT", "matching", "classifier"} <= set(times)
    assert "pairs/s" in printed
    assert is_png(files["plot"])


def test_prepare_names_the_share_of_each_segmenter(files):
    printed, rows = run("prepare.py", "--limit", "50", **files)

    shares = {row["candidate"]: row.get("share") for row in rows}
    whole = "all, with lattice and senses"
    assert {"jieba", "thulac", "pkuseg", whole} <= set(shares)
    assert shares[whole] == 1
    seconds = {row["candidate"]: row["seconds"] for row in rows}
    assert seconds["prepare, from the cache"] < seconds["prepare"]
    assert "from the cache" in printed
    assert is_png(files["plot"])


def test_a_wrong_option_is_one_line_and_exit_status_2():
    command = [sys.executable, str(FOLDER / "message_passing.py"), "--batch-sizes", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert done.returncode == 2
    assert done.stderr.splitlines() == ["error: batch sizes and lengths have to be 1 or more"]
