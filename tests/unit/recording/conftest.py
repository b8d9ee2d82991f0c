"""Recordings made in place, by the recorder itself."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.recording.recorder import Recorder

Event = tuple[str, dict[str, Any]]
PROCESS = {"engine": "reference", "rank": {"tp": 0, "pp": 0, "dp": 0}}


@pytest.fixture
def recorder(tmp_path: Path) -> Iterable[Recorder]:
    """An open recorder into `tmp_path / "r.speckv"` that is in no hurry to seal."""
    recorder = Recorder(tmp_path / "r.speckv", PROCESS, flush_s=0.01, seal_s=60)
    yield recorder
    recorder.close()


@pytest.fixture
def record(tmp_path: Path) -> Callable[[Iterable[Event]], ProcessRecording]:
    """Record events and open what became of them."""

    def record(events: Iterable[Event]) -> ProcessRecording:
        recorder = Recorder(tmp_path / "r.speckv", PROCESS)
        for table, columns in events:
            recorder.emit(table, **columns)
        recorder.close()
        return Recording.open(tmp_path / "r.speckv").processes[0]

    return record
