"""OWN: what can't be judged where events, tables or slots are missing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ledgers import Run, span
from tests.owned_pages import OWN


@pytest.mark.parametrize("table", ["alloc", "free", "free_group"])
def test_a_table_that_was_not_recorded_whole_makes_it_unknown(table: str) -> None:
    run = Run(4)
    run.head["tables"] = [
        name for name in ("alloc", "free", "free_group", "table_write", "cache", "release") if name != table
    ]
    run.start(1, span(8, 16))
    run.end(1, span(8, 16))
    run.free([9], 1)
    run.quiet()
    result = run.check(*OWN)
    assert not result.findings and not sum(result.checked.values())


def test_after_a_hole_nothing_is_known_until_it_is_seen_again() -> None:
    run = Run(1)
    run.start(1, span(10, 14))
    hole: dict[str, Any] = {"seq": len(run.lines) + 3}
    run.add("free", pool="full", slots=[10, 11], reason="other", **hole)
    run.add("free", pool="full", slots=[10], reason="other", seq=hole["seq"] + 1)
    result = run.check("OWN-DFREE")
    assert result.checked["OWN-DFREE"] == 1 and len(result.findings) == 1
    assert "missing" in next(u.why for u in result.unknown)


def test_many_holes_are_one_reason() -> None:
    run = Run(1)
    for number in range(300):
        run.add("free", pool="full", slots=[10], reason="other", seq=2 * number)
    reasons = [u.why for u in run.check("OWN-DFREE").unknown]
    assert "events are missing in 299 places, first event 1" in reasons and len(reasons) <= 2


@pytest.mark.parametrize(("table", "findings"), [("alloc", 0), ("forward", 1)])
def test_dropped_rows_count_where_they_move_pages(table: str, findings: int) -> None:
    run = Run(1)
    run.start(1, span(10, 14))
    run.end(1, span(10, 14))
    run.add("drop", table=table, rows=1, why="queue full")
    run.free([10], 1)
    assert len(run.check("OWN-DFREE").findings) == findings


def test_what_looks_broken_in_the_step_of_a_drop_may_be_the_drop() -> None:
    run = Run(1)
    run.start(1, span(10, 14))
    run.step = 4
    run.end(1, span(10, 14))
    run.free([10], 1)
    run.add("drop", table="alloc", rows=1, why="queue full")
    assert not run.check("OWN-DFREE").findings


def test_an_allocation_without_its_slots_makes_every_page_unknown() -> None:
    run = Run(1)
    run.start(1, span(10, 14))
    run.end(1, span(10, 14))
    run.add("alloc", pool="full", **run.who(1, None, 2), slots=None, reason="extend")
    run.free([10], 1, epoch=2)
    assert not run.check("OWN-DFREE").findings


def test_slots_that_no_pool_has_are_left_to_the_range_law() -> None:
    run = Run(1)
    run.start(1, [10, 11, 5000, -7])
    run.end(1, [10, 11, 5000, -7, -7])
    run.quiet()
    assert not run.check(*OWN).findings


@pytest.mark.parametrize(("kind", "instances"), [("swa", 2), ("mamba", 2), ("c128", 0)])
def test_holders_in_a_pool_beside_the_main_one_are_unknown(kind: str, instances: int) -> None:
    """Pages of C128 are shared by counted references, which are OWN-REF's."""
    run = Run(1)
    run.head["pools"] = [
        *run.head["pools"],
        {"name": kind, "kind": kind, "slots": 64, "page_size": 1, "reserved_slots": 1},
    ]
    for row in (1, 2):
        run.add("alloc", pool=kind, **run.who(row, None, 1), slots=[10], reason="extend")
    result = run.check("OWN-ALIAS")
    assert not result.findings and not result.checked["OWN-ALIAS"]
    assert sum(u.instances for u in result.unknown) == instances
