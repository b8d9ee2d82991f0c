"""What pages are used for: each kind of holder, and what is not known."""

from __future__ import annotations

from typing import Any

from speckv_debug.replay.pool_state import PoolState, Use, live_requests, pool_states
from tests.ledgers import TABLES, Run, span

WHOLE = {"tables": TABLES}


def state_of(run: Run) -> PoolState:
    return pool_states(run.fold())[0]


def uses(run: Run) -> dict[Use, list[int]]:
    state = state_of(run)
    return {use: state.pages(use).tolist() for use in Use if state.counts[use] and use is not Use.FREE}


def paged(**head: Any) -> Run:
    return Run(page_size=4, slots=32, **head)


def test_committed_pages_and_reserve() -> None:
    run = paged()
    run.start(1, span(4, 16))
    run.add("lengths", **run.who(1, None, 1), committed=5, allocated=12, cause="verify_commit")
    assert uses(run) == {Use.COMMITTED: [1, 2], Use.RESERVE: [3]}
    (request,) = live_requests(run.fold())
    assert (request.request, request.committed, request.allocated, request.pages) == ("r1", 5, 12, 3)
    state = state_of(run)
    assert (state.first, state.whole, len(state.use), state.counts[Use.FREE]) == (1, True, 8, 5)


def test_a_page_that_no_row_names_yet() -> None:
    run = paged()
    run.start(1, span(4, 8))
    run.add("alloc", pool="full", **run.who(1, None, 1), slots=span(8, 12), reason="decode")
    assert uses(run) == {Use.COMMITTED: [1], Use.GRANTED: [2]}


def test_lengths_that_are_not_known() -> None:
    run = paged()
    run.add("row_alloc", **run.who(1, None, 1))
    run.add("alloc", pool="full", **run.who(1, None, 1), slots=span(4, 8), reason="extend")
    run.write(1, 0, span(4, 8))
    assert uses(run) == {Use.GRANTED: [1]}


def test_how_many_pages_a_row_names_is_unknown_where_not_all_that_entered_it_is_recorded() -> None:
    unlisted = paged(tables=[name for name in TABLES if name != "table_write"])
    unlisted.add("row_alloc", **unlisted.who(1, None, 1))
    listed = paged()
    listed.add("row_alloc", **listed.who(1, None, 1))
    met = paged(from_start=False)
    met.write(1, 8, span(8, 12))
    assert [each.pages for run in (unlisted, listed, met) for each in live_requests(run.fold())] == [
        None,
        0,
        None,
    ]


def test_the_tree_sessions_transfers_and_free_groups() -> None:
    run = paged()
    run.start(1, span(4, 24))
    run.cache("insert", span(4, 16), request="r1")
    run.cache("lock", span(4, 8))
    run.add("transfer", action="begin", direction="to_host", pool="full", slots=span(8, 12))
    run.group("begin")
    run.free(span(20, 24), 1, reason="overshoot", group=1)
    found = uses(run)
    assert (found[Use.LOCKED], found[Use.EVICTABLE], found[Use.TRANSFER]) == ([1], [3], [2])
    assert (found[Use.WAITING], found[Use.COMMITTED]) == ([5], [4])
    run.group("end")
    run.release(1, 16, 16)
    run.cache("session_save", span(16, 20), request="r1")
    assert uses(run)[Use.SESSION] == [4]


def test_locks_that_were_not_recorded() -> None:
    run = paged(tables=[name for name in TABLES if name != "cache"] + ["cache:insert"])
    run.start(1, span(4, 8))
    run.cache("insert", span(4, 8), request="r1")
    assert uses(run) == {Use.TREE: [1]}


def two_rows(run: Run) -> Run:
    run.start(1, span(4, 8))
    run.add("row_alloc", **run.who(2, None, 1))
    run.write(2, 0, span(4, 8))
    return run


def test_two_rows_that_name_one_page_are_a_conflict() -> None:
    assert uses(two_rows(paged())) == {Use.CONFLICT: [1]}


def test_two_rows_may_name_a_page_of_the_tree() -> None:
    run = paged()
    run.start(1, span(4, 8))
    run.cache("insert", span(4, 8), request="r1")
    run.add("row_alloc", **run.who(2, None, 1))
    run.write(2, 0, span(4, 8))
    assert uses(run) == {Use.EVICTABLE: [1]}


def test_no_conflict_where_the_tree_was_not_recorded() -> None:
    run = two_rows(paged(tables=[name for name in TABLES if name != "cache"]))
    assert Use.CONFLICT not in uses(run)


def test_no_conflict_among_pages_that_were_not_seen_granted() -> None:
    run = paged(from_start=False)
    for row in (1, 2):
        run.add("row_alloc", **run.who(row, None, 1))
        run.write(row, 0, span(4, 8))
    state = state_of(run)
    assert state.counts[Use.CONFLICT] == 0 and state.counts[Use.FREE] == 0
    assert state.counts[Use.UNKNOWN] == 7 and "did not see the process start" in (state.why_unknown or "")


def test_a_page_that_went_back_while_a_row_names_it() -> None:
    run = paged()
    run.start(1, span(4, 12))
    run.free(span(8, 12), 1, reason="duplicate_prefix")
    state = state_of(run)
    assert (state.dangling, state.counts[Use.FREE], state.counts[Use.CONFLICT]) == ((2,), 7, 0)


def test_a_page_of_a_request_that_ended() -> None:
    run = paged()
    run.start(1, span(4, 8))
    run.end(1, [])
    assert uses(run) == {Use.UNHELD: [1]}


def test_other_pools_with_an_allocator_of_their_own() -> None:
    pools = [
        {"name": "full", "kind": "full", "slots": 32, "page_size": 4, "reserved_slots": 4},
        {"name": "draft", "kind": "draft", "slots": 32, "page_size": 4, "reserved_slots": 4, "allocated_by": "full"},
        {"name": "swa", "kind": "swa", "slots": 16, "page_size": 4, "reserved_slots": 4},
        {"name": "c128", "kind": "c128", "slots": 8, "page_size": 1, "reserved_slots": 1},
    ]  # fmt: skip
    run = paged(pools=pools)
    run.add("row_alloc", **run.who(1, None, 1))
    for pool in ("full", "swa"):
        run.add("alloc", pool=pool, **run.who(1, None, 1), slots=span(8, 12), reason="extend")
    run.free(span(8, 12), 1)
    full, swa = pool_states(run.fold())
    assert (full.pool, full.counts[Use.FREE]) == ("full", 8)
    assert (swa.pool, swa.counts[Use.GRANTED], swa.counts[Use.UNKNOWN]) == ("swa", 1, 3)
    assert "known to begin empty" in (swa.why_unknown or "")
    assert (full.held_as, swa.held_as) == (None, "full")


def test_a_page_of_a_window_is_never_held_by_nobody() -> None:
    pools = [
        {"name": "full", "kind": "full", "slots": 32, "page_size": 4, "reserved_slots": 4},
        {"name": "swa", "kind": "swa", "slots": 16, "page_size": 4, "reserved_slots": 4},
    ]
    run = paged(pools=pools)
    run.start(1, span(4, 8))
    run.add("alloc", pool="swa", **run.who(1, None, 1), slots=span(4, 8), reason="extend")
    run.end(1, [])
    full, swa = pool_states(run.fold())
    assert full.counts[Use.UNHELD] == 1
    assert (swa.counts[Use.UNHELD], swa.counts[Use.GRANTED]) == (0, 1)


def test_a_pool_of_unknown_size_shows_the_pages_that_events_name() -> None:
    run = paged(pools=[{"name": "full", "kind": "full", "page_size": 4, "reserved_slots": 4}])
    run.start(1, span(4, 12))
    state = state_of(run)
    assert (state.whole, len(state.use)) == (False, 2)
