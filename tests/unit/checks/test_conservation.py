"""OWN-CONSERVE: pages that the sum over a pool lacks or counts twice; and sums that only look wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult
from tests.ledgers import Run, span

RULE = "OWN-CONSERVE"
SLOTS = 64
Scene = Callable[[], Run]


def count(run: Run, available: int, evictable: int = 0, protected: int = 0, **columns: Any) -> None:
    """The engine counts its pool at a settled point."""
    figures = {"available": available, "evictable": evictable, "protected": protected, "session": 0}
    run.add("pool_stat", pool="full", **(figures | {"total": SLOTS} | columns))


def judged(run: Run) -> CheckResult:
    return run.check(RULE)


def reasons(run: Run) -> list[str]:
    result = judged(run)
    assert not result.findings and not result.checked[RULE]
    return [unknown.why for unknown in result.unknown]


def evicted(*, freed: bool) -> Run:
    """r1 leaves two pages to the tree; they are evicted."""
    run = Run(4, SLOTS)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    run.end(1, span(16, 18))
    count(run, 56, 8)
    run.cache("evict", span(8, 16))
    if freed:
        run.free(span(8, 16), reason="evict")
    return run


# ---- legitimate patterns: nothing may be reported -------------------------------------------------


def a_request_runs_with_a_partial_page() -> Run:
    run = Run(4, SLOTS)
    run.start(1, span(8, 18))
    count(run, 52)
    run.grow(1, [18, 19, 20])
    count(run, 48)
    return run


def a_reserve_is_kept_after_a_reject() -> Run:
    run = Run(4, SLOTS)
    run.start(1, span(8, 18))
    run.grow(1, span(18, 28), reason="spec_prepare")
    run.add("lengths", **run.who(1, None, 1), committed=11, allocated=20, cause="verify_commit")
    count(run, 44)
    return run


def a_node_is_evicted_and_freed() -> Run:
    run = evicted(freed=True)
    count(run, 64)
    return run


def two_requests_end_in_one_group() -> Run:
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    run.start(2, span(16, 22))
    run.group("begin")
    run.end(1, span(8, 16))
    run.end(2, span(16, 22))
    run.group("end")
    count(run, 64)
    return run


def a_prefix_is_taken_over() -> Run:
    run = Run(4, SLOTS)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    run.start(2, span(20, 30))
    run.free(span(20, 28), 2, "duplicate_prefix")
    run.write(2, 0, span(8, 16))
    count(run, 64 - 16, 0, 8)
    return run


def a_session_is_saved_and_goes_on() -> Run:
    """SGLang 0.5.22 counts what a turn holds as the session's while it runs; before, only between turns."""
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    run.cache("session_save", span(8, 16), request="r1")
    count(run, 56, session=8)
    run.cache("session_restore", span(8, 16), request="r1")
    run.grow(1, span(16, 20), start=8)
    count(run, 52, session=12)
    count(run, 52, session=0)
    return run


def the_first_turn_of_a_session_runs() -> Run:
    """SGLang 0.5.22 and later: the session has its record, and what the turn holds is counted as the session's."""
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    count(run, 56, session=8)
    return run


def the_engine_does_not_count_sessions() -> Run:
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    run.cache("session_save", span(8, 16), request="r1")
    count(run, 56, session=None)
    return run


def a_transfer_holds_pages_of_an_ended_request() -> Run:
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    run.add("transfer", action="begin", request="r1", pool="full", slots=span(8, 16))
    run.end(1, [])
    count(run, 56)
    run.add("transfer", action="end", request="r1", pool="full", slots=span(8, 16))
    run.free(span(8, 16), reason="other")
    count(run, 64)
    return run


def nodes_come_back_from_the_host() -> Run:
    run = Run(4, SLOTS)
    run.start(1, [])
    run.add("alloc", pool="full", **run.who(1, None, 1), slots=span(8, 16), reason="load_back")
    run.write(1, 0, span(8, 16))
    count(run, 56, 0, 8)
    run.end(1, [])
    count(run, 56, 8)
    return run


def pages_are_granted_to_a_request_without_a_place_in_its_row() -> Run:
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    run.add("alloc", pool="full", **run.who(1, None, 1), slots=span(20, 24), reason="other")
    count(run, 52)
    return run


def the_recording_begins_late_and_the_engine_is_idle_once() -> Run:
    run = Run(4, SLOTS, from_start=False)
    count(run, 64)
    run.start(1, span(8, 16))
    count(run, 56)
    return run


def the_tail_of_the_pool_is_no_whole_page() -> Run:
    """An allocator of pages leaves what is no whole page of the pool."""
    run = Run(4, SLOTS + 3)
    run.start(1, span(8, 16))
    count(run, 56, total=SLOTS + 3)
    return run


LEGITIMATE: tuple[Scene, ...] = (
    a_request_runs_with_a_partial_page,
    a_reserve_is_kept_after_a_reject,
    a_node_is_evicted_and_freed,
    two_requests_end_in_one_group,
    a_prefix_is_taken_over,
    a_session_is_saved_and_goes_on,
    the_first_turn_of_a_session_runs,
    the_engine_does_not_count_sessions,
    a_transfer_holds_pages_of_an_ended_request,
    nodes_come_back_from_the_host,
    pages_are_granted_to_a_request_without_a_place_in_its_row,
    the_recording_begins_late_and_the_engine_is_idle_once,
    the_tail_of_the_pool_is_no_whole_page,
)


@pytest.mark.parametrize("scene", LEGITIMATE, ids=lambda scene: scene.__name__)
def test_legitimate(scene: Scene) -> None:
    result = judged(scene())
    assert not result.findings and not result.unknown
    assert result.checked[RULE] > 0


# ---- broken ---------------------------------------------------------------------------------------


def test_pages_that_nobody_holds_are_named() -> None:
    run = evicted(freed=False)
    count(run, 56)
    found = run.only_finding(RULE)
    assert (found.first_seq, found.pages, found.request) == (len(run.lines) - 1, (2, 3), None)
    assert "8 slots are missing from the sum of pool full: pages [2, 4), which nobody holds" in found.message
    assert found.actual is not None and found.actual.endswith("= 56")
    assert ("nobody", None, 8, "[2, 4)") in found.evidence[0].rows


def test_one_loss_is_told_once_and_counted() -> None:
    run = evicted(freed=False)
    for _ in range(3):
        count(run, 56)
    assert run.only_finding(RULE).repeats == 2


def test_a_page_that_comes_back_late_ends_it() -> None:
    run = evicted(freed=False)
    count(run, 56)
    run.free(span(8, 16), reason="evict")
    count(run, 64)
    assert run.only_finding(RULE).repeats == 0


def test_a_session_that_is_closed_and_not_freed() -> None:
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    run.cache("session_save", span(8, 16), request="r1")
    run.cache("session_close", span(8, 16), request="r1")
    count(run, 56)
    assert run.only_finding(RULE).pages == (2, 3)


def test_a_transfer_that_ends_without_a_free() -> None:
    run = a_transfer_holds_pages_of_an_ended_request()
    run.lines[-2:] = []
    count(run, 56)
    assert run.only_finding(RULE).pages == (2, 3)


def test_a_slot_that_the_free_list_has_twice_follows_from_its_second_free() -> None:
    run = Run(1, SLOTS)
    run.start(1, span(10, 15))
    run.end(1, span(10, 15))
    run.free([13, 14], 1)
    count(run, 66)
    first, then = run.check("OWN-DFREE", RULE).findings
    assert (then.pages, then.cause) == ((13, 14), first.first_seq)
    assert "2 slots too many are in the sum" in then.message


@pytest.mark.parametrize("figure", ["available", "evictable", "protected", "session"])
@pytest.mark.parametrize("by", [-4, 4])
def test_a_figure_that_does_not_fit_the_events(figure: str, by: int) -> None:
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    run.cache("insert", span(8, 16), request="r1")
    run.cache("session_save", span(8, 16), request="r1")
    figures = {"available": 56, "evictable": 4, "protected": 4, "session": 0}
    count(run, **(figures | {figure: figures[figure] + by}))  # type: ignore[arg-type]
    found = run.only_finding(RULE)
    assert found.pages is None and "4 slots" in found.message


def test_a_total_that_changes() -> None:
    run = Run(4, SLOTS)
    count(run, 64)
    count(run, 63, total=63)
    found = run.only_finding(RULE)
    assert (found.expected, found.actual) == ("a total of 64, as at other settled points", "a total of 63")


@pytest.mark.parametrize("session", [1, -1])
def test_a_session_figure_off_by_less_than_a_page(session: int) -> None:
    run = Run(4, SLOTS)
    count(run, 64, session=session)
    assert "of sessions in pool full, the events leave 0" in run.only_finding(RULE).message


@pytest.mark.parametrize("session", [0, 1, 9])
def test_a_session_figure_beyond_what_can_be_its_own(session: int) -> None:
    """While its turn runs the saved pages may count as the session's or as the turn's: 8 slots at most."""
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    run.cache("session_save", span(8, 16), request="r1")
    run.cache("session_restore", span(8, 16), request="r1")
    count(run, 56, session=session)
    assert len(judged(run).findings) == (session == 9)


def test_a_session_may_count_the_slots_of_its_last_page() -> None:
    run = Run(4, SLOTS)
    run.start(1, span(8, 15))
    run.cache("session_save", span(8, 15), request="r1")
    count(run, 56, session=7)
    assert not judged(run).findings


def test_a_free_group_without_its_end_whose_pages_the_engine_has_back() -> None:
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    run.group("begin")
    run.end(1, span(8, 16))
    count(run, 64)
    assert "2 pages of frees of a group that does not end" in run.only_finding(RULE).message


# ---- unknown --------------------------------------------------------------------------------------


def test_inside_a_free_group_nothing_is_settled() -> None:
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    run.group("begin")
    run.end(1, span(8, 16))
    count(run, 56)
    assert reasons(run) == ["the pool was counted while a free group was open"]


@pytest.mark.parametrize("figure", ["available", "evictable", "protected", "total"])
def test_a_figure_that_is_not_told(figure: str) -> None:
    run = Run(4, SLOTS)
    count(run, **({"available": 0} | {figure: None}))  # type: ignore[arg-type]
    assert reasons(run) == ["a pool_stat does not tell all of its figures"]


def test_a_session_figure_that_is_told_elsewhere() -> None:
    run = Run(4, SLOTS)
    count(run, 64)
    count(run, 64, session=None)
    (unknown,) = judged(run).unknown
    assert (unknown.why, unknown.instances) == ("a pool_stat does not tell all of its figures", 1)


def test_a_session_that_does_not_say_whose_it_is() -> None:
    run = Run(4, SLOTS)
    run.start(1, span(8, 16))
    run.cache("session_save", span(8, 16), request=None)
    count(run, 56, session=8)
    assert "does not name its request" in reasons(run)[0]


def test_a_total_that_moves() -> None:
    run = Run(4, SLOTS)
    count(run, 40, total=48)
    assert reasons(run) == ["the pool's total is not the size that the process declares"]


def test_hybrid_pools_and_decode_context_parallelism() -> None:
    hybrid, dcp = Run(4, SLOTS), Run(4, SLOTS)
    hybrid.head["pools"].append({"name": "swa", "kind": "swa", "slots": 32, "page_size": 4})
    dcp.head["settings"] |= {"dcp_size": 2}
    for run in (hybrid, dcp):
        count(run, 60)
    assert "hybrid" in reasons(hybrid)[0] and "decode context parallelism" in reasons(dcp)[0]


def test_hybrid_pools_that_are_said_to_lie_apart_are_judged() -> None:
    run = Run(4, SLOTS)
    run.head["pools"].append({"name": "swa", "kind": "swa", "slots": 32, "page_size": 4})
    run.head["settings"] |= {"unified_memory": False}
    count(run, 60)
    assert judged(run).findings and not judged(run).unknown


def test_pages_held_before_the_recording_began() -> None:
    run = Run(4, SLOTS, from_start=False)
    run.start(1, span(8, 16))
    count(run, 40)
    assert "did not see the process start" in reasons(run)[0]


def test_events_or_rows_that_were_lost() -> None:
    gap, drop = evicted(freed=True), evicted(freed=True)
    for number, line in enumerate(gap.lines):
        line["seq"] = number
    del gap.lines[-1]
    count(gap, 56, seq=len(gap.lines) + 1)
    drop.lines[-1] = {"event": "drop", "table": "free", "rows": 1, "why": "queue full", "step": 1}
    count(drop, 56)
    for run in (gap, drop):
        result = judged(run)
        assert not result.findings and result.unknown


def test_pools_without_grants_have_no_sum() -> None:
    run = Run(4, SLOTS)
    run.add("pool_stat", pool="draft", available=3, evictable=0, protected=0, session=0, total=64)
    assert not judged(run).findings and not judged(run).checked[RULE]
    assert [(u.why[:36], u.instances) for u in judged(run).unknown] == [
        ("the pages of the pool can't be follo", 1)
    ]


@pytest.mark.parametrize(
    ("available", "evictable", "message"),
    [
        (55, 8, "the engine counts 55 slots available in pool full, the events leave 56"),
        (57, 8, "the engine counts 57 slots available in pool full, the events leave 56"),
        (56, 9, "the engine counts 9 slots held by the tree in pool full, the events leave 8"),
        (60, 4, "the engine counts 60 slots available in pool full, the events leave 56"),
    ],
)
def test_figures_that_are_apart_though_the_sum_lacks_no_page(
    available: int, evictable: int, message: str
) -> None:
    run = evicted(freed=False)
    del run.lines[-2:]
    count(run, available, evictable)
    (finding,) = judged(run).findings
    assert finding.message == message
    assert finding.evidence[0].marked


def test_figures_that_are_apart_where_events_may_be_lost() -> None:
    run = evicted(freed=False)
    del run.lines[-2:]
    count(run, 55, 8)
    run.lines[-1]["seq"] = len(run.lines) + 3
    assert not judged(run).findings
