"""OWN: pages freed twice, used after their free, held twice, left behind, freed while alive."""

from __future__ import annotations

import pytest

from tests.ledgers import Run, span
from tests.owned_pages import OWN, only_finding, shared_prefix

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


@pytest.mark.parametrize("direction", ["send", "d2h", "to_host"])
def test_a_transfer_reads_freed_pages(direction: str) -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.end(1, span(8, 16))
    run.step = 5
    run.add("transfer", action="begin", direction=direction, request="r1", pool="full", slots=span(8, 12))
    run.add("transfer", action="end", direction=direction, request="r1", pool="full", slots=span(8, 12))
    found = only_finding(run, "OWN-UAF")
    assert (found.step, found.request, found.pages) == (5, "r1", (2,))
    assert found.message.startswith("transfer reads page 2")


@pytest.mark.parametrize("direction", ["receive", "h2d", None])
def test_a_transfer_that_writes_comes_before_there_is_a_use(direction: str | None) -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.end(1, span(8, 16))
    run.add("transfer", action="begin", direction=direction, request="r2", pool="full", slots=span(8, 12))
    assert not run.check("OWN-UAF").findings


def test_a_transfer_that_reads_pages_of_its_request() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.add("transfer", action="begin", direction="send", request="r1", pool="full", slots=span(8, 12))
    result = run.check("OWN-UAF")
    assert not result.findings and result.checked["OWN-UAF"] == 1


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


@pytest.mark.parametrize("size", [1, 4])
def test_a_page_is_granted_while_the_tree_has_it(size: int) -> None:
    run = Run(size)
    run.start(1, span(8, 16))
    run.cache("insert", span(8, 16), request="r1")
    run.end(1, [])
    run.step = 4
    run.start(2, span(12, 16))
    found = only_finding(run, "OWN-ALIAS")
    assert (found.step, found.request) == (4, "r2")
    assert "while the prefix tree holds" in found.message


def test_a_page_that_the_tree_gave_back_is_granted() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.cache("insert", span(8, 16), request="r1")
    run.end(1, [])
    run.cache("evict", span(8, 16))
    run.free(span(8, 16), reason="evict")
    run.start(2, span(8, 16))
    assert not run.check("OWN-ALIAS").findings


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
