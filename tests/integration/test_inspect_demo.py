"""Somebody who has never seen the inspector finds the planted fault of `make demo` in four keys."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from speckv_debug.cli.config import Config
from speckv_debug.cli.inspect import inspection_at
from speckv_debug.cli.policy import Policy
from speckv_debug.viewers.tui.app import InspectorApp
from tests.inspected import text_of
from tests.inspecting import until

ROOT = Path(__file__).parents[2]
KEYS = ("enter", "p", "n", "escape")
"""Open the root cause, see the pages there, walk on to the next finding, come back."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the Makefile records for `make demo`."""
    line = next(line for line in (ROOT / "Makefile").read_text().splitlines() if "speckv-debug demo" in line)
    options = shlex.split(line.split("speckv-debug ", 1)[1])[:-1]
    recording = tmp_path_factory.mktemp("demo") / "demo.speckv"
    command = [sys.executable, "-m", "speckv_debug", *options, str(recording)]
    subprocess.run(command, check=False, capture_output=True)
    return recording


async def test_from_the_first_screen_to_the_fault_in_four_keys(demo: Path) -> None:
    inspection = inspection_at(demo, Policy(config=Config(), baseline=None))
    app = InspectorApp(inspection)
    try:
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: app.outcome is not None and app.outcome.complete)
            shown = text_of(app)
            assert "✗ 1 root cause" in shown and "MOV-PAIR" in shown and "the move runs backwards" in shown
            await pilot.press(KEYS[0])
            await until(pilot, lambda: "From accept_index to the slot" in text_of(app))
            shown = text_of(app)
            due = re.search(r"due +(\d+) <- (\d+)", shown)
            assert due is not None
            target, source = due.groups()
            assert f"✗ ran {source} ← {target}" in shown, "the wrong move is marked on the first screenful"
            await pilot.press(KEYS[1])
            await until(pilot, lambda: "pages of full" in text_of(app) and "one cell a page" in text_of(app))
            await pilot.press(*KEYS[2:])
            assert "MOV-PAIR" in text_of(app)
    finally:
        app.inspection.stop()
