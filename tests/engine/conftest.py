"""Recordings of real runs, made once a session."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from running import Run, Runs


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder drives the engine."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.engine)


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Runs by the names of their scenarios; those that the selected tests name begin at once."""
    made = Runs(tmp_path_factory.mktemp("engine"))
    wanted = [
        item.callspec.params.get("scenario") for item in request.session.items if hasattr(item, "callspec")
    ]
    made.prefetch(dict.fromkeys(name for name in wanted if isinstance(name, str)))
    yield made
    made.close()


@pytest.fixture
def run(runs: Runs, scenario: str) -> Run:
    """The run of the scenario that the test is parametrized with."""
    return runs[scenario]
