"""Fixtures of several test files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny import tiny_checkpoint


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a saved `tiny_checkpoint`, to be read only."""
    folder = tmp_path_factory.mktemp("model")
    tiny_checkpoint().save(folder)
    return folder
