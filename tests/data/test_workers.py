"""Featurising in processes: accounts of the time, reports of progress, and workers that die."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from letgraph.data import workers
from letgraph.data.workers import featurise_all, peak_memory


class Sleeper:
    name, version = "sleeper", "1"

    def cut(self, sentence: str) -> list[str]:
        time.sleep(0.01)
        return list(sentence)


@pytest.fixture
def sleeper(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(workers, "load_segmenter", lambda name: Sleeper())
    return "sleeper"


def test_time_in_the_segmenters_is_told_from_the_rest(sleeper):
    table, effort = featurise_all(["还款"] * 20, [sleeper], None, workers=1, progress=False)

    assert len(table) == 20
    assert 0.2 <= effort.segmenting <= effort.seconds
    assert effort.segmenting_share == effort.segmenting / effort.seconds
    assert 0 < effort.peak_bytes <= peak_memory()


def test_silent_when_asked(sleeper, capfd):
    featurise_all(["还款"], [sleeper], None, progress=False)

    assert capfd.readouterr() == ("", "")


def test_logs_get_whole_lines_of_progress(sleeper, capfd):
    featurise_all(["还款"] * 3, [sleeper], None)

    out, err = capfd.readouterr()
    assert out == ""
    assert "\r" not in err
    assert err.endswith("\n")
    assert "3/3" in err.splitlines()[-1]


def test_no_sentences_are_an_empty_table(sleeper):
    assert len(featurise_all([], [sleeper], None, progress=False)[0]) == 0


def test_a_worker_that_dies_is_an_error_and_not_a_wait(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os\n"
        "from letgraph.data.workers import featurise_all\n"
        "from letgraph.errors import run_cli\n"
        "from letgraph.text import segment\n"
        "class Dies:\n"
        "    name, version = 'dies', '1'\n"
        "    missing = staticmethod(lambda: None)\n"
        "    def cut(self, sentence):\n"
        "        os._exit(9)\n"
        "segment.SEGMENTERS['dies'] = Dies\n"
        "if __name__ == '__main__':\n"
        "    run_cli(lambda: featurise_all(['还款'] * 10, ['dies'], None, workers=2, progress=False))\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(workers.__file__).parents[2])}

    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert done.stderr.startswith("error: one of 2 worker processes died")
