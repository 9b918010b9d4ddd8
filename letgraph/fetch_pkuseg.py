"""Bring the pkuseg model: ``python -m letgraph.fetch_pkuseg`` (50 MB from the Python package index, 180 MB on disk)."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from letgraph.errors import LetgraphError, MissingDependency, run_cli
from letgraph.text.segment import has_pkuseg_model, pkuseg_folder

# The model lies in the wheels of pkuseg 0.0.25, which exist for old Pythons only; nothing of the wheel is run.
PIP_DOWNLOAD = (
    "pip download pkuseg==0.0.25 --no-deps --only-binary=:all: --python-version 3.7 --platform manylinux1_x86_64"
)
WHEEL_FOLDER = "pkuseg/models/default"
SHA256 = {
    "features.pkl": "265dcf5534a11d6429776f7e7450a9eef8e075b1a4bedb82ef996994d9c721ac",
    "weights.npz": "95d1632a1fed45993b5006d8ba85939cb110fae71313987673582d24669811dd",
}


def fetch(*, force: bool = False, source: Path | None = None) -> Path:
    """Put the model into `pkuseg_folder()` and return that folder; one that is there stays unless ``force``.

    ``source`` is a pkuseg 0.0.25 wheel, a folder with that wheel, or a folder with the wheel's ``features.pkl`` and
    ``weights.npz``; without it pip downloads the wheel. The files must have the known SHA-256 sums. The folder
    appears whole or not at all.
    """
    target = pkuseg_folder()
    if has_pkuseg_model() and not force:
        return target
    try:
        srsly = importlib.import_module("srsly")
    except ImportError as error:
        raise MissingDependency("package spacy-pkuseg is not installed; run `pip install spacy-pkuseg`") from error
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pkuseg-", dir=target.parent) as temporary:
            work = Path(temporary)
            model = work / "model"
            model.mkdir()
            found = source or _download(work)
            _copy(found, model / "weights.npz")
            _copy(found, work / "features.pkl")
            # In msgpack instead of pickle, what is loaded later can hold nothing but data.
            with open(work / "features.pkl", "rb") as features:
                srsly.write_msgpack(model / "features.msgpack", _DataOnly(features).load())
            if target.exists():
                target.rename(work / "old")
            model.rename(target)
    except OSError as error:
        raise LetgraphError(f"cannot bring the pkuseg model to {target}: {error}") from error
    return target


def _download(work: Path) -> Path:
    """Folder into which pip has downloaded the wheel."""
    wheels = work / "wheels"
    command = [sys.executable, "-m", *PIP_DOWNLOAD.split(), "--dest", str(wheels)]
    # pip reports its progress on stdout; ours is for the result.
    done = subprocess.run(command, stdout=2, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "notice" not in line and line.strip()]
        errors = [line for line in said if line.startswith("ERROR")] or said or ["pip failed"]
        reason = errors[-1].removeprefix("ERROR:").strip()
        raise LetgraphError(
            f"the pkuseg model cannot be downloaded ({reason}); on a machine that is online run "
            f"`{PIP_DOWNLOAD}`, then here `python -m letgraph.fetch_pkuseg --from WHEEL`"
        )
    return wheels


class _DataOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise LetgraphError(f"features.pkl holds {module}.{name}, not only data")


def _copy(source: Path, to: Path) -> None:
    """Copy the model's file of that name out of a wheel or a folder, and check it."""
    with _open(source, to.name) as content, open(to, "wb") as copy:
        shutil.copyfileobj(content, copy)
    with open(to, "rb") as copied:
        found = hashlib.file_digest(copied, "sha256").hexdigest()
    if found != SHA256[to.name]:
        known = SHA256[to.name]
        raise LetgraphError(f"{source}: {to.name} has SHA-256 {found[:12]}…, not {known[:12]}…; fetch it again")


@contextlib.contextmanager
def _open(source: Path, name: str) -> Iterator[IO[bytes]]:
    if (source / name).is_file():
        with open(source / name, "rb") as file:
            yield file
        return
    wheel = next(iter(sorted(source.glob("pkuseg-*.whl"))), source)
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(f"{WHEEL_FOLDER}/{name}") as member:
            yield member
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, IsADirectoryError) as error:
        raise LetgraphError(f"{source}: holds no whole pkuseg model; give a wheel from `{PIP_DOWNLOAD}`") from error


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m letgraph.fetch_pkuseg", description=(__doc__ or "").split(":")[0])
    parser.add_argument("--force", action="store_true", help="bring it even when it is already there")
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="WHEEL_OR_FOLDER",
        help="take it from a pkuseg 0.0.25 wheel or its unpacked models/default folder instead of downloading",
    )
    arguments = parser.parse_args()
    print(f"pkuseg model: {fetch(force=arguments.force, source=arguments.source)}")


if __name__ == "__main__":
    run_cli(main)
