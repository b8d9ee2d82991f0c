"""How tests are shared out among processes."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a file share its recordings and its browser; those of the engine share its runs."""
    for item in items:
        place = item.path.relative_to(HERE)
        item.add_marker(pytest.mark.xdist_group("engine" if place.parts[0] == "engine" else place.as_posix()))
