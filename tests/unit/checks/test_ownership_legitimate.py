"""OWN: what only looks like a breach of the ownership laws."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ledgers import Run, span
from tests.owned_pages import OWN, shared_prefix

Scene = Callable[[], Run]


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
