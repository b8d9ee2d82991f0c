"""A part of which one column is damaged: no answer mixes rows of different parts, and each says what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.parts import read_part, write_part
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.pool_state import Use, pool_states
from speckv_debug.replay.request_life import request_life
from speckv_debug.replay.slot_history import slot_history
from speckv_debug.replay.timeline import Timeline
from tests.damaged import damage

REAL = Path(__file__).parents[1] / "recordings" / "real" / "eagle_k4_p64_sync.jsonl.xz"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Every table in two parts."""
    import_jsonl(REAL, tmp_path / "x.speckv")
    for part in (tmp_path / "x.speckv").glob("*/*/00000.parquet"):
        table: pa.Table = read_part(part)
        half = table.num_rows // 2
        if half:
            write_part(part, table.slice(0, half))
            write_part(part.with_name("00001.parquet"), table.slice(half))
    return tmp_path / "x.speckv"


def opened(recording: Path) -> ProcessRecording:
    process = Recording.open(recording).processes[0]
    assert not process.problems and not process.gaps(), "the damage shows only when the column is read"
    return process


def split_at(recording: Path, table: str) -> int:
    """`seq` with which the second part begins."""
    (path,) = recording.glob(f"*/{table}/00001.parquet")
    return int(read_part(path, ["seq"]).column("seq")[0].as_py())


@pytest.mark.parametrize(("table", "column"), [("free", "reason"), ("alloc", "slots"), ("cache", "action")])
def test_histories_leave_the_part_out_and_say_so(recording: Path, table: str, column: str) -> None:
    whole = slot_history(opened(recording), page=3)
    life = request_life(opened(recording), "long.1")
    damage(recording, table, column, part=1)
    behind = split_at(recording, table)

    def left(events: Any) -> list[Any]:
        return [e for e in events if e.event.split()[0] != table or e.seq < behind]

    found = slot_history(opened(recording), page=3)
    assert list(found.events) == left(whole.events) != list(whole.events)
    assert any(f"{table} rows after event" in each.why for each in found.unseen)
    told = request_life(opened(recording), "long.1")
    assert list(told.events) == left(life.events) != list(life.events)
    assert any(f"{table} rows after event" in each.why for each in told.unseen)


@pytest.mark.parametrize(("table", "column"), [("free", "reason"), ("alloc", "slots"), ("lengths", "cause")])
def test_pages_are_unknown_behind_what_is_lost(recording: Path, table: str, column: str) -> None:
    damage(recording, table, column, part=1)
    process, behind = opened(recording), split_at(recording, table)
    timeline = Timeline(process)
    (before,) = pool_states(timeline.at(behind - 1))
    (after,) = pool_states(timeline.at(behind + 200))
    assert not before.counts[Use.UNKNOWN] and after.counts[Use.UNKNOWN] > 50
    assert "missing" in (after.why_unknown or "")
