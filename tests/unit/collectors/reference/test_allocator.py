"""Pages in, pages out: partial pages, whole-page frees, deferred groups, silent double frees."""

import pytest

from speckv_debug.collectors.reference.allocator import PageAllocator
from speckv_debug.collectors.reference.observe import EventLog, Observer
from speckv_debug.collectors.reference.request import Request

REQUEST = Request(id="a", prompt=[1], max_new_tokens=1, row=1, epoch=1)


def allocator(page_size: int, slots: int = 16) -> tuple[PageAllocator, EventLog]:
    events = EventLog()
    return PageAllocator(slots, page_size, Observer(events, overlap=False)), events


def test_page_zero_is_never_granted() -> None:
    pages, _ = allocator(4)
    assert sorted(pages.extend(REQUEST, None, 0, 16, "extend")) == list(range(4, 20))
    assert pages.available == 0


def test_growth_goes_on_in_the_own_last_page_first() -> None:
    pages, events = allocator(4)
    assert pages.extend(REQUEST, None, 0, 6, "extend") == [4, 5, 6, 7, 8, 9]
    assert pages.extend(REQUEST, 9, 6, 11, "spec_reserve") == [10, 11, 12, 13, 14]
    assert [columns["slots"] for _, columns in events] == [[4, 5, 6, 7, 8, 9], [10, 11, 12, 13, 14]]
    assert pages.available == 4


def test_a_full_pool_refuses_and_says_so() -> None:
    pages, events = allocator(4)
    with pytest.raises(RuntimeError, match="out of memory"):
        pages.extend(REQUEST, None, 0, 17, "extend")
    assert events[-1][1]["granted"] is False
    assert events[-1][1]["slots"] == []


def test_one_slot_frees_its_page_which_is_handed_out_next() -> None:
    pages, _ = allocator(4)
    pages.extend(REQUEST, None, 0, 8, "extend")
    pages.free([6], "other", site="here")
    assert pages.available == 12
    assert pages.extend(REQUEST, None, 0, 4, "extend") == [4, 5, 6, 7]


def test_single_slots_come_back_in_order_of_their_frees() -> None:
    pages, _ = allocator(1, slots=4)
    pages.extend(REQUEST, None, 0, 3, "extend")
    pages.free([2], "other", site="here")
    pages.free([1], "other", site="here")
    assert pages.extend(REQUEST, None, 0, 3, "extend") == [4, 2, 1]


def test_frees_of_a_group_take_effect_at_its_end() -> None:
    pages, events = allocator(4)
    pages.extend(REQUEST, None, 0, 8, "extend")
    with pages.free_group():
        pages.free([4, 5], "finish", request=REQUEST, site="here")
        pages.free([6], "overshoot", request=REQUEST, site="here")
        assert pages.available == 8
    assert pages.available == 12
    assert [table for table, _ in events[1:]] == ["free_group", "free", "free", "free_group"]
    assert {columns["group"] for _, columns in events[1:]} == {1}


def test_a_double_free_is_silent() -> None:
    pages, _ = allocator(1, slots=4)
    pages.extend(REQUEST, None, 0, 1, "extend")
    pages.free([1], "other", site="here")
    pages.free([1], "other", site="here")
    assert pages.available == 5


def test_nothing_to_free_is_no_event() -> None:
    pages, events = allocator(4)
    pages.free([], "overshoot", site="here")
    assert events == []
