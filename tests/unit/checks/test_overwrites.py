"""OWN-ORPHAN: slots that a row names no more and nobody has; and writes over entries that lose nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ledgers import Run, rules_of, span

RULE = "OWN-ORPHAN"
Scene = Callable[[], Run]


def doubled() -> Run:
    """r1 puts two pages into the tree, r2 has computed the same two."""
    run = Run(4)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    run.start(2, span(20, 30))
    return run


# ---- legitimate patterns: nothing may be reported -------------------------------------------------


def duplicate_freed_before() -> Run:
    run = doubled()
    run.free(span(20, 28), 2, "duplicate_prefix")
    run.write(2, 0, span(8, 16))
    run.quiet()
    return run


def duplicate_freed_in_the_same_group() -> Run:
    run = doubled()
    run.group("begin")
    run.free(span(20, 28), 2, "duplicate_prefix", group=1)
    run.write(2, 0, span(8, 16))
    run.group("end")
    run.quiet()
    return run


def duplicate_freed_behind_the_write() -> Run:
    run = doubled()
    run.write(2, 0, span(8, 16))
    run.free(span(20, 28), 2, "duplicate_prefix")
    run.quiet()
    return run


def table_follows_the_accepted_path() -> Run:
    """The row is permuted instead of the data."""
    run = Run(1)
    run.start(1, span(10, 16))
    run.write(1, 3, [15, 13, 14])
    run.quiet()
    return run


def own_slots_go_to_the_tree() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.cache("insert", span(8, 16), request="r1")
    run.write(1, 0, span(20, 28))
    run.quiet()
    return run


def another_row_has_them() -> Run:
    run = own_slots_go_to_the_tree()
    run.start(2, [])
    run.write(2, 0, span(8, 16))
    run.cache("evict", span(8, 16))
    run.write(2, 0, span(8, 16))
    run.quiet()
    return run


def a_transfer_has_them() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.add("transfer", action="begin", request="r1", pool="full", slots=span(8, 16))
    run.write(1, 0, span(20, 28))
    run.quiet()
    return run


def the_rest_of_the_page_is_named() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.write(1, 6, [20, 21])
    run.quiet()
    return run


LEGITIMATE: tuple[Scene, ...] = (
    duplicate_freed_before,
    duplicate_freed_in_the_same_group,
    duplicate_freed_behind_the_write,
    table_follows_the_accepted_path,
    own_slots_go_to_the_tree,
    another_row_has_them,
    a_transfer_has_them,
    the_rest_of_the_page_is_named,
)


@pytest.mark.parametrize("scene", LEGITIMATE, ids=lambda scene: scene.__name__)
def test_legitimate(scene: Scene) -> None:
    result = scene().check(RULE)
    assert not result.findings and not result.unknown
    assert result.checked[RULE] == 1


def the_same_slots_again() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.add("row_alloc", **run.who(1, None, 1))
    run.write(1, 0, span(8, 16))
    return run


def entries_behind_the_allocated_length() -> Run:
    run = Run(4)
    run.start(1, span(8, 20))
    run.release(1, 5, 12, "session_trim", target=5)
    run.free(span(16, 20), 1, "session_trim")
    run.add("lengths", **run.who(1, None, 1), committed=5, allocated=8, cause="session_trim")
    run.write(1, 8, span(24, 28))
    return run


def the_row_of_a_request_that_ended() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.end(1, span(8, 16))
    run.write(1, 0, span(20, 28))
    return run


def rejected_slots_freed_and_dropped() -> Run:
    run = Run(1)
    run.start(1, span(10, 14))
    run.grow(1, span(20, 24), reason="spec_reserve")
    run.free([21, 23], 1, "reject")
    run.write(1, 4, [20, 22])
    return run


def a_row_used_again() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.end(1, span(8, 16))
    run.start(1, span(20, 28), epoch=2)
    return run


@pytest.mark.parametrize(
    "scene",
    [
        the_same_slots_again,
        entries_behind_the_allocated_length,
        the_row_of_a_request_that_ended,
        rejected_slots_freed_and_dropped,
        a_row_used_again,
    ],
    ids=lambda scene: scene.__name__,
)
def test_no_entry_is_overwritten(scene: Scene) -> None:
    run = scene()
    run.quiet()
    result = run.check(RULE)
    assert not result.findings and not result.unknown and not result.checked[RULE]


# ---- broken ---------------------------------------------------------------------------------------


def test_a_session_that_extends_from_its_prefix() -> None:
    """The rest of the old page is named until the host says how long the row is."""
    run = Run(4)
    run.start(1, span(8, 20))
    run.cache("session_save", span(8, 20), request="r1")
    run.quiet()
    run.cache("session_restore", span(8, 20), request="turn-2")
    run.add("alloc", pool="full", **run.who(1, "turn-2", 1), slots=span(24, 26), reason="extend")
    run.write(1, 8, [24, 25])
    run.add("lengths", **run.who(1, "turn-2", 1), committed=10, allocated=10, cause="extend")
    run.quiet()
    found = run.only_finding(RULE)
    assert (found.step, found.request, found.row, found.epoch) == (2, "turn-2", 1, 1)
    assert (found.slots, found.pages) == ((16, 17), (4,))
    assert "positions [8, 10): page 4 that it named there, granted at event 1" in found.message
    assert [row[2] for row in found.evidence[0].rows][:2] == ["alloc", "table_write"]


def test_one_slot_of_a_pool_of_single_slots() -> None:
    run = Run(1)
    run.start(1, span(10, 16))
    run.write(1, 2, [30, 13])
    run.quiet()
    found = run.only_finding(RULE)
    assert (found.slots, found.pages) == ((12,), (12,)) and "positions [2, 3)" in found.message


def test_a_leak_and_a_wrong_sum_follow_from_it() -> None:
    run = doubled()
    run.write(2, 0, span(8, 16))
    run.quiet()
    run.end(2, [28, 29])
    run.add("pool_stat", pool="full", available=44, evictable=0, protected=8, session=0, total=64)
    result = run.check(RULE, "OWN-LEAK", "OWN-CONSERVE")
    assert [f.rule for f in result.findings if f.cause is None] == [RULE]
    assert rules_of(result) == {RULE, "OWN-LEAK", "OWN-CONSERVE"}


def test_a_launch_of_a_later_step_settles_it_at_the_end() -> None:
    run = doubled()
    run.write(2, 0, span(8, 16))
    run.step = 2
    run.forward(2, 10, [30])
    assert run.only_finding(RULE).first_seq == 9


# ---- unknown --------------------------------------------------------------------------------------


def why(run: Run) -> str:
    result = run.check(RULE)
    assert not result.findings and not result.checked[RULE]
    (unknown,) = result.unknown
    return unknown.why


def test_a_recording_that_ends_at_once() -> None:
    run = doubled()
    run.write(2, 0, span(8, 16))
    assert "before a settled point" in why(run)


def test_entries_that_no_event_told() -> None:
    run = Run(4, from_start=False)
    run.add("lengths", **run.who(1, None, 1), committed=10, allocated=12, cause="extend")
    run.write(1, 8, span(20, 26))
    run.quiet()
    assert "was not recorded" in why(run)


def test_growth_of_a_row_seen_late_is_no_overwrite() -> None:
    run = Run(4, from_start=False)
    run.add("lengths", **run.who(1, None, 1), committed=10, allocated=12, cause="extend")
    run.write(1, 12, span(20, 24))
    run.quiet()
    assert not run.check(RULE).unknown


def test_events_lost_before_it_is_settled() -> None:
    run = doubled()
    run.write(2, 0, span(8, 16))
    for number, line in enumerate(run.lines):
        line["seq"] = number
    run.add("pool_stat", pool="full", seq=len(run.lines) + 1)
    assert "missing" in why(run)


def test_rows_of_frees_that_were_dropped() -> None:
    run = doubled()
    run.write(2, 0, span(8, 16))
    run.quiet()
    run.add("drop", table="free", rows=1, why="queue full")
    assert "dropped rows of free" in why(run)
