"""OWN: pages freed twice, used after their free, held twice, left behind, freed while alive; and what only looks so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.model.finding import Finding
from tests.ledgers import TABLES, Run, rules_of, span

OWN = ("OWN-DFREE", "OWN-UAF", "OWN-ALIAS", "OWN-LEAK", "OWN-PAGESAFE")
Scene = Callable[[], Run]


def only_finding(run: Run, rule: str) -> Finding:
    result = run.check(*OWN)
    assert rules_of(result) == {rule}, result.findings
    return result.findings[0]


def shared_prefix(page_size: int = 4) -> Run:
    """r1 puts two pages into the tree, r2 computes the same two pages and a third."""
    run = Run(page_size)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    run.start(2, span(20, 30))
    return run


# ---- legitimate patterns: nothing may be reported -------------------------------------------------


def whole_life() -> Run:
    run = Run(4)
    run.start(1, span(8, 18))
    run.end(1, span(8, 18))
    run.quiet()
    return run


def one_page_named_twice_in_a_group() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.group("begin")
    run.release(1, 6, 8)
    run.free(span(8, 14), 1, group=1)
    run.free(span(14, 16), 1, group=1)
    run.add("row_free", **run.who(1, None, 1))
    run.group("end")
    run.quiet()
    return run


def page_freed_in_a_group_and_granted_after_it() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.group("begin")
    run.end(1, span(8, 16))
    run.group("end")
    run.start(2, span(8, 14))
    run.quiet()
    return run


def frees_without_a_number_inside_a_group() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.group("begin")
    run.release(1, 6, 8)
    run.free(span(8, 14), 1)
    run.free([15], 1)
    run.group("end")
    run.quiet()
    return run


def dummy_page_freed() -> Run:
    run = Run(4)
    run.free([0, 1], reason="other")
    run.free([0], reason="other")
    return run


def prefix_taken_over() -> Run:
    run = shared_prefix()
    run.free(span(20, 28), 2, "duplicate_prefix")
    run.write(2, 0, span(8, 16))
    run.forward(2, 10, [30])
    run.end(2, span(28, 30))
    run.end(1, span(16, 18))
    run.quiet()
    run.cache("evict", span(8, 16))
    run.free(span(8, 16), reason="evict")
    run.quiet()
    return run


def prefix_matched_before_its_owner_ends() -> Run:
    run = Run(4)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    run.cache("match", span(8, 16), request="r2")
    run.start(2, [])
    run.write(2, 0, span(8, 16))
    run.grow(2, [20])
    run.end(1, span(16, 18))
    run.forward(2, 8, [20])
    run.quiet()
    return run


def duplicate_granted_again_before_it_is_dropped() -> Run:
    """The freed copy goes to the same request at once, for other positions."""
    run = shared_prefix()
    run.free(span(20, 28), 2, "duplicate_prefix")
    run.write(2, 0, span(8, 16))
    run.grow(2, [30, 31, *span(20, 24)])
    run.forward(2, 15, [23])
    return run


def tail_of_a_session_trimmed() -> Run:
    run = Run(4)
    run.start(1, span(8, 20))
    run.release(1, 10, 12, "session_trim", target=5)
    run.free(span(16, 20), 1, "session_trim")
    run.add("lengths", **run.who(1, None, 1), committed=5, allocated=8, cause="session_trim")
    run.cache("session_save", span(8, 16), request="r1")
    run.quiet()
    run.cache("session_restore", span(8, 16), request="r1")
    run.grow(1, [*span(13, 16), 20], start=5)
    run.forward(1, 8, [20])
    run.end(1, [*span(8, 16), 20])
    run.quiet()
    return run


def session_restored_into_another_row() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.cache("session_save", span(8, 16), request="r1")
    run.add("row_free", **run.who(1, None, 1))
    run.quiet()
    run.cache("session_restore", span(8, 16), request="turn-2")
    run.add("row_alloc", row=2, epoch=1, request="turn-2")
    run.write(2, 0, span(8, 16))
    run.forward(2, 7, [15], request="turn-2")
    run.end(2, span(8, 16))
    run.quiet()
    return run


def session_closed() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.cache("session_save", span(8, 16), request="r1")
    run.quiet()
    run.cache("session_close", span(8, 16), request="r1")
    run.free(span(8, 16), reason="finish")
    run.add("row_free", **run.who(1, None, 1))
    run.quiet()
    return run


def trim_that_keeps_less_than_its_target() -> Run:
    """The cursor of the window is past the target: the trim goes down to a page."""
    run = Run(4)
    run.start(1, span(8, 20))
    run.release(1, 10, 12, "session_trim", target=5, free_start=4)
    run.free(span(12, 20), 1, "session_trim")
    run.add("lengths", **run.who(1, None, 1), committed=4, allocated=4, cause="session_trim")
    return run


def row_used_again_at_once() -> Run:
    run = Run(1)
    run.start(1, span(10, 15))
    run.end(1, span(10, 15))
    run.start(1, [12, 10, 14], epoch=2)
    run.forward(1, 2, [14], epoch=2)
    run.quiet()
    return run


def rejected_slots_of_an_old_worker() -> Run:
    """Verify slots are granted, the rejected ones freed, the accepted ones kept."""
    run = Run(1)
    run.start(1, span(10, 14))
    run.grow(1, span(20, 24), reason="spec_reserve")
    run.free([21, 23], 1, "reject")
    run.write(1, 4, [20, 22])
    run.add("lengths", **run.who(1, None, 1), committed=6, allocated=6, cause="verify_commit")
    run.start(2, [21, 23])
    run.forward(1, 5, [22])
    run.forward(2, 1, [23])
    return run


def allocation_rolled_back() -> Run:
    run = Run(1)
    run.start(1, span(10, 14))
    run.add("alloc", pool="full", **run.who(1, None, 1), slots=[20, 21], reason="rollback")
    run.start(2, [20, 21])
    run.end(2, [20, 21])
    run.end(1, span(10, 14))
    run.quiet()
    return run


def draft_pool_shares_the_ids() -> Run:
    run = Run(1)
    run.head["pools"].append({"name": "draft", "kind": "draft", "page_size": 1, "allocated_by": "full"})
    run.start(1, span(10, 14))
    run.forward(1, 0, span(10, 14), "draft_extend", pool="draft")
    run.end(1, span(10, 14))
    run.quiet()
    return run


def same_ids_in_another_namespace() -> Run:
    run = Run(1)
    run.head["pools"].append({"name": "swa", "kind": "swa", "slots": 64, "page_size": 1, "reserved_slots": 1})
    run.start(1, span(10, 14))
    run.add("alloc", pool="swa", **run.who(1, None, 1), slots=[10, 11], reason="extend")
    run.add("free", pool="swa", **run.who(1, None, 1), slots=[10, 11], reason="swa_window")
    run.forward(1, 3, [13])
    return run


def verify_in_flight_when_its_request_ends() -> Run:
    run = Run(1)
    run.start(1, span(10, 16))
    run.step = 5
    run.end(1, span(10, 16))
    accept = {"out_cache_loc": [14, 15], "table_slots": [14, 15], "seq_len": 4, "accept_len": 1}
    run.add("accept", **run.who(1, None, 1), **accept)
    return run


def transfer_keeps_pages_of_an_ended_request() -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.add("transfer", action="begin", request="r1", pool="full", slots=span(8, 16))
    run.end(1, [])
    run.quiet()
    run.add("transfer", action="end", request="r1", pool="full", slots=span(8, 16))
    run.free(span(8, 16), reason="other")
    return run


def loaded_back_from_the_host() -> Run:
    run = Run(4)
    run.start(1, [])
    run.add("alloc", pool="full", **run.who(1, None, 1), slots=span(8, 16), reason="load_back")
    run.write(1, 0, span(8, 16))
    run.start(2, [])
    run.write(2, 0, span(8, 16))
    run.end(1, [])
    run.end(2, [])
    run.quiet()
    return run


def tree_reset() -> Run:
    run = whole_life()
    run.start(1, span(8, 16), epoch=2)
    run.cache("insert", span(8, 16), request="r1")
    run.end(1, [], epoch=2)
    run.cache("reset", None)
    run.start(1, span(8, 16), epoch=3)
    run.quiet()
    return run


def owner_of_the_live_head_ends_in_the_same_group() -> Run:
    """r2's row names a page of r1 by mistake of an earlier step; both end in one group, whose end frees it."""
    run = Run(4)
    run.start(1, span(8, 12))
    run.cache("insert", span(8, 12), request="r1")
    run.start(2, [])
    run.write(2, 0, span(8, 12))
    run.group("begin")
    run.cache("evict", span(8, 12))
    run.free(span(8, 12), reason="evict", group=1)
    run.release(1, 4, 4)
    run.release(2, 4, 4)
    run.group("end")
    run.quiet()
    return run


LEGITIMATE: tuple[Scene, ...] = (
    whole_life,
    one_page_named_twice_in_a_group,
    page_freed_in_a_group_and_granted_after_it,
    frees_without_a_number_inside_a_group,
    dummy_page_freed,
    prefix_taken_over,
    prefix_matched_before_its_owner_ends,
    duplicate_granted_again_before_it_is_dropped,
    tail_of_a_session_trimmed,
    session_restored_into_another_row,
    session_closed,
    trim_that_keeps_less_than_its_target,
    row_used_again_at_once,
    rejected_slots_of_an_old_worker,
    allocation_rolled_back,
    draft_pool_shares_the_ids,
    same_ids_in_another_namespace,
    verify_in_flight_when_its_request_ends,
    transfer_keeps_pages_of_an_ended_request,
    loaded_back_from_the_host,
    tree_reset,
    owner_of_the_live_head_ends_in_the_same_group,
)


@pytest.mark.parametrize("scene", LEGITIMATE, ids=lambda scene: scene.__name__)
def test_legitimate(scene: Scene) -> None:
    result = scene().check(*OWN)
    assert not result.findings
    assert sum(result.checked.values()) > 0


# ---- OWN-DFREE ------------------------------------------------------------------------------------


def test_a_slot_freed_by_two_paths() -> None:
    run = Run(1)
    run.start(1, span(10, 15))
    run.end(1, [*span(10, 15)])
    run.step = 7
    run.free([13, 14], 1)
    found = only_finding(run, "OWN-DFREE")
    assert (found.step, found.request, found.row, found.epoch, found.slots) == (7, "r1", 1, 1, (13, 14))
    assert found.first_seq == len(run.lines) - 1
    history = found.evidence[0]
    assert [row[2] for row in history.rows] == ["alloc", "table_write", "free", "free"]


@pytest.mark.parametrize("page_size", [1, 4])
def test_a_page_freed_again_outside_a_group(page_size: int) -> None:
    run = Run(page_size)
    run.start(1, span(8, 16))
    run.release(1, 6, 8)
    run.free(span(8, 14), 1)
    run.free(span(14, 16) if page_size > 1 else [13], 1)
    assert only_finding(run, "OWN-DFREE").pages == ((3,) if page_size > 1 else (13,))


def test_a_slot_named_twice_at_page_size_one() -> None:
    run = Run(1)
    run.start(1, span(10, 14))
    run.end(1, [10, 11, 12, 13, 13])
    assert only_finding(run, "OWN-DFREE").slots == (13, 13)


def test_a_slot_named_twice_in_a_group_at_page_size_one() -> None:
    run = Run(1)
    run.start(1, span(10, 14))
    run.group("begin")
    run.release(1, 4, 4)
    run.free(span(10, 14), 1, group=1)
    run.step = 3
    run.free([12], 1, group=1)
    run.group("end")
    found = only_finding(run, "OWN-DFREE")
    assert (found.step, found.slots) == (3, (12,))


def test_a_grouped_free_of_a_page_that_went_back_meanwhile() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.group("begin")
    run.release(1, 8, 8)
    run.free(span(8, 16), 1, group=1)
    run.group("end")
    run.group("begin", 2)
    run.free([15], 1, group=2)
    run.group("end", 2)
    assert only_finding(run, "OWN-DFREE").pages == (3,)


# ---- OWN-UAF --------------------------------------------------------------------------------------


def test_a_freed_duplicate_is_read() -> None:
    run = shared_prefix()
    run.free(span(20, 28), 2, "duplicate_prefix")
    run.step = 4
    run.forward(2, 10, [30])
    found = only_finding(run, "OWN-UAF")
    assert (found.step, found.request, found.pages) == (4, "r2", (5, 6))


def test_a_verify_writes_to_a_free_page() -> None:
    run = Run(1)
    run.start(1, span(10, 14))
    run.forward(1, 4, [40], "target_verify")
    assert only_finding(run, "OWN-UAF").slots == (40,)


@pytest.mark.parametrize("action", ["insert", "match"])
def test_the_tree_serves_a_free_page(action: str) -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.end(1, span(8, 16))
    run.cache(action, span(8, 12), request="r9")
    assert only_finding(run, "OWN-UAF").pages == (2,)


def test_a_session_gets_back_a_page_that_was_freed_and_granted_again() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.cache("session_save", span(8, 16), request="r1")
    run.free(span(12, 16), reason="other")
    run.start(2, span(12, 16))
    run.cache("session_restore", span(8, 16), request="r1")
    assert only_finding(run, "OWN-UAF").pages == (3,)


def test_a_use_after_the_step_of_the_free_is_no_use_in_flight() -> None:
    run = Run(1)
    run.start(1, span(10, 16))
    run.step = 5
    run.end(1, span(10, 16))
    run.step = 6
    run.forward(1, 4, [14, 15], "target_verify")
    assert only_finding(run, "OWN-UAF").step == 6


@pytest.mark.parametrize(("free_step", "found"), [(5, 0), (4, 1)])
def test_two_lanes_are_ordered_by_step(free_step: int, found: int) -> None:
    run = shared_prefix(1)
    run.step = free_step
    run.free(span(20, 28), 2, "duplicate_prefix", lane="schedule")
    run.step = 5
    run.forward(2, 9, [29], lane="forward")
    assert len(run.check("OWN-UAF").findings) == found


# ---- OWN-ALIAS ------------------------------------------------------------------------------------


def test_a_row_names_a_slot_of_another_request() -> None:
    run = Run(4)
    run.start(1, span(8, 11))
    run.start(2, span(12, 16))
    run.step = 6
    run.write(2, 4, [11])
    found = only_finding(run, "OWN-ALIAS")
    assert (found.step, found.row, found.request, found.slots, found.pages) == (6, 2, "r2", (11,), (2,))
    assert "r1" in found.message


def test_a_page_of_the_tree_at_another_position() -> None:
    run = Run(4)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    run.start(2, span(20, 28))
    run.write(2, 8, [15])
    assert only_finding(run, "OWN-ALIAS").slots == (15,)


def test_a_page_is_granted_while_another_request_has_it() -> None:
    run = Run(1)
    run.start(1, span(10, 14))
    run.start(2, [20])
    run.add("alloc", pool="full", **run.who(2, None, 1), slots=[13], reason="decode")
    assert only_finding(run, "OWN-ALIAS").slots == (13,)


# ---- OWN-LEAK -------------------------------------------------------------------------------------


def test_a_tail_that_is_not_freed() -> None:
    run = Run(4)
    run.start(1, span(8, 20))
    run.end(1, span(8, 16))
    run.quiet()
    found = only_finding(run, "OWN-LEAK")
    assert (found.request, found.row, found.pages) == ("r1", 1, (4,))
    assert found.evidence[0].rows[0][0] == 4


def test_an_overwritten_entry_is_left_behind_by_the_request_that_lost_it() -> None:
    run = Run(1)
    run.start(1, span(10, 14))
    run.grow(1, [20, 21], start=3)
    run.end(1, [10, 11, 12, 20, 21])
    run.quiet()
    assert only_finding(run, "OWN-LEAK").pages == (13,)


def test_a_page_that_only_a_live_request_kept_is_judged_when_that_ends() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.cache("session_save", span(8, 12), request="r1")
    run.quiet()
    assert only_finding(run, "OWN-LEAK").pages == (3,)


def test_a_launch_of_a_later_step_is_a_quiet_point() -> None:
    run = Run(1)
    run.start(2, [40])
    run.start(1, span(10, 14))
    run.end(1, span(10, 13))
    run.step += 1
    run.forward(2, 1, [40])
    assert only_finding(run, "OWN-LEAK").pages == (13,)


def test_an_end_without_a_quiet_point_is_unknown() -> None:
    run = Run(1)
    run.start(1, span(10, 14))
    run.end(1, span(10, 13))
    result = run.check("OWN-LEAK")
    assert not result.findings
    assert result.checked["OWN-LEAK"] == 0 and result.unknown[0].instances == 1


# ---- OWN-PAGESAFE ---------------------------------------------------------------------------------


def trimmed(free_start: int, slots: list[int]) -> Run:
    run = Run(4)
    run.start(1, span(8, 20))
    run.release(1, 10, 12, "session_trim", target=5, free_start=free_start)
    run.free(slots, 1, "session_trim")
    run.add("lengths", **run.who(1, None, 1), committed=5, allocated=free_start, cause="session_trim")
    return run


@pytest.mark.parametrize(
    ("free_start", "slots", "seq"), [(5, span(13, 20), 4), (4, span(12, 20), 4), (8, span(13, 20), 5)]
)
def test_a_trim_frees_a_page_that_it_keeps(free_start: int, slots: list[int], seq: int) -> None:
    found = only_finding(trimmed(free_start, slots), "OWN-PAGESAFE")
    assert (found.first_seq, found.pages, found.request) == (seq, (3,), "r1")


def test_a_page_of_another_running_request_is_freed() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.start(2, span(16, 20))
    run.end(2, [*span(16, 20), 15])
    found = only_finding(run, "OWN-PAGESAFE")
    assert (found.pages, found.request) == ((3,), "r2")
    assert "r1" in found.message


def test_a_page_of_the_tree_is_freed_without_an_eviction() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.cache("insert", span(8, 16), request="r1")
    run.end(1, span(12, 16))
    assert only_finding(run, "OWN-PAGESAFE").pages == (3,)


def test_a_node_is_evicted_from_under_a_running_request() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.cache("insert", span(8, 16), request="r1")
    run.cache("evict", span(8, 16))
    run.free(span(8, 16), reason="evict")
    run.forward(1, 7, [15])
    result = run.check(*OWN)
    assert [(f.rule, f.cause) for f in result.findings] == [("OWN-PAGESAFE", None), ("OWN-UAF", 6)]


def test_the_tail_of_an_ended_request_starts_inside_a_page() -> None:
    run = Run(4)
    run.start(1, span(8, 20))
    run.release(1, 6, 12, free_start=6)
    found = only_finding(run, "OWN-PAGESAFE")
    assert found.pages == (3,) and found.expected is not None and "8" in found.expected


def test_the_free_of_a_tail_reaches_before_its_boundary() -> None:
    run = Run(1)
    run.start(1, span(10, 16))
    run.release(1, 4, 6)
    run.free([13, 14, 15], 1, "overshoot")
    run.free([10, 11, 12], 1)
    assert only_finding(run, "OWN-PAGESAFE").slots == (13,)


@pytest.mark.parametrize(("version", "dcp", "found"), [("0.5.15", 2, 0), ("0.5.17", 2, 1), ("0.5.15", 1, 1)])
def test_old_releases_align_with_the_servers_page_under_dcp(version: str, dcp: int, found: int) -> None:
    run = Run(4, engine_version=version)
    run.head["settings"]["dcp_size"] = dcp
    run.start(1, span(8, 20))
    run.release(1, 6, 12, free_start=6)
    assert len(run.check("OWN-PAGESAFE").findings) == found


# ---- what is not known ----------------------------------------------------------------------------


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
    assert "events are missing in 299 places, the first is 1 to 1" in reasons and len(reasons) <= 2


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


# ---- frees into a group that is not open ----------------------------------------------------------


def freed_into(group: int | None, *, late: bool = False, **head: Any) -> Run:
    """A request ends in group 1, its free names another, or comes when the group has ended."""
    run = Run(4, **head)
    run.start(1, span(8, 16))
    run.group("begin")
    run.release(1, 8, 8)
    if not late:
        run.free(span(8, 16), 1, group=group)
    run.group("end")
    if late:
        run.free(span(8, 16), 1, group=group)
    run.add("row_free", **run.who(1, None, 1))
    run.quiet()
    return run


@pytest.mark.parametrize("group", [1, None])
def test_a_free_into_the_open_group(group: int | None) -> None:
    assert not freed_into(group).check("OWN-LEAK", "OWN-DFREE").findings


@pytest.mark.parametrize(("group", "late"), [(7, False), (1, True)])
def test_a_free_into_a_group_that_is_not_open_never_takes_effect(group: int, late: bool) -> None:
    (finding,) = freed_into(group, late=late).check("OWN-LEAK").findings
    assert (finding.step, finding.request, finding.pages) == (1, "r1", (2, 3))


def test_a_group_whose_begin_may_be_missing() -> None:
    unlisted = freed_into(7, tables=[name for name in TABLES if name != "free_group"])
    assert not unlisted.check("OWN-LEAK").findings
    hole = freed_into(7)
    for seq, line in enumerate(hole.lines):
        line["seq"] = seq + (seq > 4)
    assert not hole.check("OWN-LEAK").findings
    late = freed_into(7, from_start=False)
    assert not late.check("OWN-LEAK").findings


# ---- free groups without an end, and pages that are granted without having gone back ---------------


def ends_in_a_group(*, ended: bool) -> Run:
    """r1 ends at step 1, inside a free group; the pool is counted at step 2."""
    run = Run(4)
    run.start(1, span(8, 16))
    run.group("begin")
    run.end(1, span(8, 16))
    if ended:
        run.group("end")
    run.step = 2
    return run


def test_a_free_group_without_an_end_gives_nothing_back() -> None:
    run = ends_in_a_group(ended=False)
    run.quiet()
    finding = run.only_finding("OWN-LEAK")
    assert (finding.step, finding.request, finding.pages) == (1, "r1", (2, 3))
    whole = ends_in_a_group(ended=True)
    whole.quiet()
    assert not whole.check("OWN-LEAK").findings


def test_a_free_group_may_end_later_in_its_step() -> None:
    run = ends_in_a_group(ended=False)
    run.step = 1
    run.add("pool_stat", pool="full")
    run.group("end")
    run.quiet()
    assert not run.check("OWN-LEAK", "OWN-DFREE").findings


def test_free_groups_that_were_not_recorded_whole() -> None:
    run = ends_in_a_group(ended=False)
    run.head["tables"] = [name for name in TABLES if name != "free_group"]
    run.quiet()
    result = run.check("OWN-LEAK", "OWN-DFREE")
    assert not result.findings and not result.checked["OWN-LEAK"]


def test_a_page_that_is_granted_before_its_group_ends() -> None:
    run = ends_in_a_group(ended=False)
    run.start(2, span(8, 12))
    finding = run.only_finding("OWN-DFREE")
    assert (finding.step, finding.request, finding.pages) == (1, "r1", (2,))
    assert "granted again at event 9, while the free waits" in finding.message
    whole = ends_in_a_group(ended=True)
    whole.start(2, span(8, 12))
    assert not whole.check("OWN-DFREE", "OWN-ALIAS").findings


def test_a_page_of_an_ended_request_that_is_granted_without_a_free() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.end(1, span(8, 12))
    run.start(2, span(12, 16))
    run.quiet()
    finding = run.only_finding("OWN-LEAK")
    assert (finding.request, finding.pages) == ("r1", (3,))


def evicted_and_granted(*, freed: bool, **head: Any) -> Run:
    run = Run(4, **head)
    run.start(1, span(8, 16))
    run.cache("insert", span(8, 16), request="r1")
    run.end(1, [])
    run.quiet()
    run.cache("evict", span(8, 16))
    if freed:
        run.free(span(8, 16), reason="evict")
    run.start(2, span(8, 12))
    return run


def test_a_page_that_was_evicted_and_is_granted_without_a_free() -> None:
    finding = evicted_and_granted(freed=False).only_finding("OWN-ALIAS")
    assert (finding.step, finding.request, finding.pages) == (2, "r2", (2,))
    assert "did not go back since it was granted before" in finding.message
    assert not evicted_and_granted(freed=True).check("OWN-ALIAS").findings
    assert not evicted_and_granted(freed=False, from_start=False).check("OWN-ALIAS").findings
