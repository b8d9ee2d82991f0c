"""Steps, lanes, and the order of events that are held back."""

from __future__ import annotations

from typing import Any

import pytest

from speckv_debug.collectors.sglang.journal import FORWARD, PREPARE, SETTLE, Journal


class Rows:
    """A sink that keeps what it is given."""

    active = True

    def __init__(self) -> None:
        self.rows: list[tuple[str, dict[str, Any]]] = []

    def emit(self, table: str, /, **columns: Any) -> None:
        self.rows.append((table, columns))

    @property
    def tables(self) -> list[str]:
        return [table for table, _ in self.rows]


def test_preparation_carries_the_step_that_it_prepares():
    sink = Rows()
    journal = Journal(sink)
    journal.launched = 4
    with journal.during(PREPARE):
        journal.emit("alloc")
        with journal.during(SETTLE):
            journal.emit("release")
    with journal.during(FORWARD):
        journal.emit("accept")
    assert [row["step"] for _, row in sink.rows] == [5, 4, 4]


def test_lanes_exist_only_under_overlap():
    sink = Rows()
    journal = Journal(sink)
    journal.emit("note")
    journal.overlap = True
    journal.emit("note")
    with journal.during(FORWARD):
        journal.emit("note")
    assert [row.get("lane") for _, row in sink.rows] == [None, "schedule", "forward"]


def test_an_explicit_step_wins():
    sink = Rows()
    Journal(sink).emit("lengths", step=9)
    assert sink.rows[0][1]["step"] == 9


def test_held_events_follow_the_one_that_leads():
    sink = Rows()
    journal = Journal(sink)
    with journal.hold() as held:
        journal.emit("move")
        journal.emit("compact")
        assert sink.tables == []
        journal.lead(held, "accept")
    assert sink.tables == ["accept", "move", "compact"]


def test_holds_nest():
    sink = Rows()
    journal = Journal(sink)
    with journal.hold() as outer:
        with journal.hold() as inner:
            journal.emit("free")
            journal.lead(inner, "cache")
        assert sink.tables == []
        journal.lead(outer, "release")
    assert sink.tables == ["release", "cache", "free"]


def test_what_is_held_is_not_lost_when_the_engine_raises():
    sink = Rows()
    journal = Journal(sink)
    with pytest.raises(RuntimeError), journal.hold():
        journal.emit("move")
        raise RuntimeError
    assert sink.tables == ["move"]


def test_nothing_is_live_before_the_scheduler_is_known():
    sink = Rows()
    journal = Journal(sink)
    assert not journal.is_live
    journal.bound = True
    assert journal.is_live
    sink.active = False
    assert not journal.is_live
