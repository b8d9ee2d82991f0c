"""A recording that a recorder writes while the inspector follows it: pages, state and pools over time grow with it."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.cli.config import Config
from speckv_debug.cli.inspect import _again, inspection_at
from speckv_debug.cli.policy import Policy
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.manifest import PROCESS
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from speckv_debug.viewers.tui import following
from speckv_debug.viewers.tui.app import InspectorApp
from tests.inspected import text_of
from tests.inspecting import PATIENCE_S, until

FAULT = Path(__file__).parents[1] / "recordings/real/fault-move-source-shifted.jsonl.xz"
HALF, LAST = 60, 169
"""The last step of the first half, and of all; the fault is in the second half."""


class Growing:
    """The recording of a real run, recorded anew step by step."""

    def __init__(self, folder: Path) -> None:
        import_jsonl(FAULT, folder / "whole.speckv")
        whole = Recording.open(folder / "whole.speckv").processes[0]
        self._events = [(e.table, dataclasses.asdict(e)) for e in whole.events()]
        info = json.loads((whole.folder / PROCESS).read_text())
        self.path = folder / "run.speckv"
        self._recorder = Recorder(self.path, info, flush_s=0.05, seal_s=0.2)
        self._at = 0

    def grow(self, to_step: int) -> None:
        """Record all up to the end of a step; it is on disk behind it."""
        while self._at < len(self._events) and (self._events[self._at][1]["step"] or 0) <= to_step:
            table, columns = self._events[self._at]
            self._recorder.emit(table, **columns_of(columns))
            self._at += 1
        deadline = time.monotonic() + PATIENCE_S
        while events_of(self.path) < self._at:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def end(self) -> None:
        self._recorder.close()


def columns_of(event: dict[str, Any]) -> dict[str, Any]:
    """What an engine would tell: place in the order and time are the recorder's."""
    return {name: value for name, value in event.items() if name not in ("seq", "t_ns") and value is not None}


@pytest.fixture
def growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Growing]:
    monkeypatch.setattr(following, "EVERY_S", 0.2)
    made = Growing(tmp_path)
    yield made
    made.end()


async def test_pages_state_and_pools_grow_and_a_late_fault_appears(growing: Growing) -> None:
    growing.grow(HALF)
    policy = Policy(config=Config(), baseline=None)
    looked_at = dataclasses.replace(
        inspection_at(growing.path, policy), reopen=lambda: _again(growing.path, policy)
    )
    app = InspectorApp(looked_at)

    def shows(*words: str) -> Callable[[], bool]:
        return lambda: all(word in text_of(app) for word in words)

    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.press("p")
        await until(pilot, shows("pages of full ▸ step 0", "Pages of pool full over time"))
        await pilot.press("}", "}")
        await until(pilot, shows(f"pages of full ▸ step {HALF}"))
        growing.grow(LAST)
        growing.end()
        await until(pilot, shows(f"pages of full ▸ step {LAST}", "step 0 ", f" {LAST}"))
        await until(pilot, lambda: not app.following and not app.checking)
        await until(pilot, shows("✗ 3 findings"))
        await pilot.press("s")
        await until(pilot, shows(f"state ▸ step {LAST}", "running"))
        await pilot.press("i")
        await until(pilot, shows("MOV-PAIR", f"{LAST}"))
    app.inspection.stop()


def events_of(path: Path) -> int:
    """How many are on disk, in parts and in the spool."""
    return sum(process.rows for process in Recording.open(path).processes)
