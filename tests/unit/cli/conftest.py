"""Pythons to ask what is installed for them."""

from __future__ import annotations

import venv
from pathlib import Path

import pytest


@pytest.fixture
def outside_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that starts in the repository's folder would see our plugin there."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with nothing installed."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return str(folder / "bin" / "python")
