"""The files around the package agree with each other, and `make` sets a fresh machine up, interrupted or not."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
# Distributions whose import name is another one.
DISTRIBUTIONS = {"sklearn": "scikit-learn", "yaml": "pyyaml", "torch_geometric": "torch-geometric"}


@pytest.fixture(scope="module")
def setup_arguments() -> dict[str, Any]:
    """The keyword arguments of the call of `setup` in setup.py, from a process that has imported nothing else."""
    printing = (
        "import json, runpy, setuptools\n"
        "setuptools.setup = lambda **arguments: print(json.dumps(arguments))\n"
        "runpy.run_path('setup.py')"
    )
    done = subprocess.run([sys.executable, "-c", printing], cwd=ROOT, capture_output=True, text=True, check=True)
    arguments: dict[str, Any] = json.loads(done.stdout)
    return arguments


@pytest.fixture(scope="module")
def lock() -> dict[str, str]:
    """Version of every package in requirements.lock, by canonical name."""
    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    pins = [re.fullmatch(r"([A-Za-z0-9_.-]+)==([A-Za-z0-9.]+)", line) for line in lines]
    assert all(pins), f"not exact: {[line for line, pin in zip(lines, pins, strict=True) if pin is None]}"
    versions: dict[str, str] = {canonicalize_name(pin[1]): pin[2] for pin in pins if pin}
    assert len(versions) == len(lines), "a package is locked twice"
    return versions


def requirements_of(arguments: dict[str, Any], *extras: str) -> list[Requirement]:
    groups = [arguments["install_requires"], *(arguments["extras_require"][extra] for extra in extras)]
    return [Requirement(text) for group in groups for text in group]


# --- setup.py, requirements.lock, environment.yml, pyproject.toml


def test_lock_satisfies_every_range_of_setup(setup_arguments: dict[str, Any], lock: dict[str, str]) -> None:
    for requirement in requirements_of(setup_arguments, "test", "bench", "viz", "serve"):
        version = lock.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not locked"
        assert version in requirement.specifier, f"{requirement} does not admit the locked {version}"


def test_lock_holds_what_its_packages_need(lock: dict[str, str]) -> None:
    absent = []
    for name, version in lock.items():
        try:
            installed = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            absent.append(name)
            continue
        if installed.version.partition("+")[0] != version:
            absent.append(f"{name}=={version}")
            continue
        for need in map(Requirement, installed.requires or []):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                found = lock.get(canonicalize_name(need.name))
                # The CUDA builds of torch need packages that its CPU build, which the lock is made with, does not.
                if found is None and name == "torch" and "+cpu" not in installed.version:
                    continue
                assert found is not None, f"{name} needs {need}, which is not locked"
                assert found in need.specifier, f"{name} needs {need}, locked is {found}"
    if absent:
        pytest.skip(f"not checked, because this environment lacks them: {', '.join(absent)}")


def test_extras_are_the_documented_ones(setup_arguments: dict[str, Any]) -> None:
    assert set(setup_arguments["extras_require"]) == {"test", "bench", "viz", "serve", "pkuseg"}


def test_every_file_names_the_same_python(setup_arguments: dict[str, Any]) -> None:
    admitted = SpecifierSet(setup_arguments["python_requires"])
    assert [minor for minor in range(8, 16) if f"3.{minor}.0" in admitted] == [11]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert settings["ruff"]["target-version"] == "py311"
    assert settings["mypy"]["python_version"] == "3.11"
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert "python=3.11" in environment["dependencies"]


def test_environment_installs_lock_and_package() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert pip[-2:] == ["-r requirements.lock", "-e ."]


def test_package_declares_what_it_imports(setup_arguments: dict[str, Any]) -> None:
    declared = {canonicalize_name(r.name) for r in requirements_of(setup_arguments, "viz", "serve", "pkuseg")}
    undeclared = set()
    for file in (ROOT / "letgraph").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            for top in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"letgraph"}:
                if canonicalize_name(DISTRIBUTIONS.get(top, top)) not in declared:
                    undeclared.add(f"{file.relative_to(ROOT)}: {top}")
    assert not undeclared


def test_wheel_leaves_no_file_of_the_package_out(setup_arguments: dict[str, Any]) -> None:
    files = [file for file in (ROOT / "letgraph").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    packages = {ROOT / name.replace(".", "/") for name in setup_arguments["packages"]}
    patterns = setup_arguments["package_data"]["letgraph"]
    data = {file for pattern in patterns for file in (ROOT / "letgraph").glob(pattern)}
    assert [file for file in files if file.suffix == ".py" and file.parent not in packages] == []
    assert [file for file in files if file.suffix != ".py" and file not in data] == []


def test_version_and_licence(setup_arguments: dict[str, Any]) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", setup_arguments["version"])
    assert setup_arguments["license"] == "Apache-2.0"
    assert "Apache License\n" in (ROOT / "LICENSE").read_text()


# --- .gitignore


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("data/bq/train.tsv", True),
        ("runs/demo/metrics.json", True),
        (".venv/bin/python", True),
        ("letgraph/text/__pycache__/clean.cpython-311.pyc", True),
        ("letgraph.egg-info/PKG-INFO", True),
        ("letgraph/data/store.py", False),
        ("letgraph/demo/train.tsv", False),
        ("tests/data/test_store.py", False),
    ],
)
def test_gitignore_hides_products_and_no_source(path: str, ignored: bool, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    checked = subprocess.run(["git", "-C", tmp_path, "check-ignore", "-q", path], check=False)
    assert (checked.returncode == 0) == ignored


# --- Makefile and .ci/run, with a stand-in for Python that writes down what it is asked for

FAKE_PYTHON = """#!/bin/sh
echo "$*" >> "$FAKE_LOG"
case "$*" in *"$FAKE_FAILS"*) echo "this part fails"; exit 1 ;; esac
case "$*" in
    "-m venv "*) for folder; do :; done; mkdir -p "$folder/bin"; cp "$0" "$folder/bin/python" ;;
    "-m pytest "*) echo "3 passed in 0.01s" ;;
esac
"""


class Checkout:
    """A copy of the project's files on a machine where Python is `FAKE_PYTHON`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder / "checkout", folder / "log"
        self.folder.mkdir()
        for name in ("Makefile", "requirements.lock", "setup.py", ".ci"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, self.folder / name)
        self.python = folder / "python3.11"
        self.python.write_text(FAKE_PYTHON)
        self.python.chmod(0o755)
        # What .ci/run would bring is not brought from inside a test.
        self.programs = folder / "programs"
        self.programs.mkdir()
        for name in ("apt-get", "chromium", "chromedriver"):
            (self.programs / name).symlink_to("/bin/true")

    def run(self, *command: str, fails: str = "nothing fails", **variables: str) -> tuple[int, str, list[str]]:
        """Exit status, everything printed, and what Python was asked for."""
        self.log.write_text("")
        # A `make` around this test must not pass its own settings on.
        foreign = ("MAKE", "MFLAGS", "VENV", "TORCH_INDEX", "WORKERS")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        fake = {"PYTHON": str(self.python), "FAKE_LOG": str(self.log), "FAKE_FAILS": fails}
        fake["PATH"] = f"{self.programs}:{os.environ['PATH']}"
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=kept | fake | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        asked = [line for line in self.log.read_text().splitlines() if not line.startswith("-c ")]
        return done.returncode, done.stdout, asked


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@needs_make
def test_one_command_sets_up_and_tests(checkout: Checkout) -> None:
    status, output, asked = checkout.run("make", "test")
    assert status == 0, output
    expected = ["venv", "setuptools==", "torch==", "-r requirements.lock", "-e .", "letgraph.fetch_pkuseg", "pytest"]
    assert len(asked) == len(expected)
    for command, part in zip(asked, expected, strict=True):
        assert part in command


@needs_make
def test_second_setup_installs_nothing(checkout: Checkout) -> None:
    checkout.run("make", "setup")
    assert checkout.run("make", "setup")[2] == ["-m letgraph.fetch_pkuseg"]


@needs_make
@pytest.mark.parametrize("name", ["requirements.lock", "setup.py"])
def test_changed_requirements_update_the_environment(checkout: Checkout, name: str) -> None:
    checkout.run("make", "setup")
    with (checkout.folder / name).open("a") as file:
        file.write("# another\n")
    _, _, asked = checkout.run("make", "setup")
    assert asked[0] == "-m venv .venv"
    assert any("-r requirements.lock" in command for command in asked)


@needs_make
@pytest.mark.parametrize("part", ["-m venv", "-r requirements.lock", "-e ."])
def test_interrupted_setup_is_redone_from_nothing(checkout: Checkout, part: str) -> None:
    assert checkout.run("make", "setup", fails=part)[0] != 0
    status, output, asked = checkout.run("make", "setup")
    assert status == 0, output
    assert asked[0] == "-m venv --clear .venv"
    assert checkout.run("make", "setup")[2] == ["-m letgraph.fetch_pkuseg"]


@needs_make
def test_torch_comes_from_the_cpu_index_else_from_the_configured_one(checkout: Checkout) -> None:
    _, _, asked = checkout.run("make", "setup")
    assert "--index-url https://download.pytorch.org/whl/cpu" in asked[2]
    status, output, _ = checkout.run("make", "setup", "VENV=other", fails="--index-url")
    assert status == 0 and "taking the build of pip's own index" in output
    _, _, asked = checkout.run("make", "setup", "VENV=third", TORCH_INDEX="")
    assert not any("--index-url" in command for command in asked)


@needs_make
def test_other_pythons_are_refused_with_a_mend(checkout: Checkout) -> None:
    status, output, asked = checkout.run("make", "setup", fails="-c ")
    assert status != 0 and asked == []
    assert "Python 3.11" in output and "make PYTHON=/path/to/python3.11" in output
    assert not (checkout.folder / ".venv").exists()


@needs_make
def test_a_folder_that_is_no_environment_is_left_alone(checkout: Checkout) -> None:
    status, output, asked = checkout.run("make", "setup", "VENV=.")
    assert status != 0 and asked == []
    assert "remove it or give VENV=FOLDER" in output
    assert (checkout.folder / "Makefile").exists()


@needs_make
def test_ci_runs_every_check_in_a_fresh_environment_and_ends_with_the_tests(checkout: Checkout) -> None:
    status, output, asked = checkout.run("bash", ".ci/run")
    assert status == 0, output
    assert output.splitlines()[-1] == "3 passed in 0.01s"
    checks = [command.split()[1] for command in asked if re.match(r"-m (ruff|mypy|pytest)", command)]
    assert checks == ["ruff", "ruff", "mypy", "pytest"]
    assert not (checkout.folder / ".venv").exists()


@needs_make
@pytest.mark.parametrize("part", ["ruff check", "ruff format", "mypy", "pytest"])
def test_ci_fails_with_any_of_its_checks(checkout: Checkout, part: str) -> None:
    assert checkout.run("bash", ".ci/run", fails=part)[0] != 0
