"""Slots granted and freed by a toy allocator."""

from types import SimpleNamespace

import torch

from speckv_debug.collectors.sglang.activity import Grant
from speckv_debug.collectors.sglang.pages import PageHooks


def test_a_grant_is_split_between_its_requests(toy):
    toy.install(PageHooks)
    a, b, c = toy.request("a", 1), toy.request("b", 2), toy.request("c", 3)
    with toy.scene.activity.granting(Grant("extend", (a, b, c), (2, 0, 3))):
        toy.engine.allocator.alloc(5)
    rows = toy.sink.of("alloc", "request", "row", "epoch", "slots", "reason", "granted")
    assert rows == [("a", 1, 1, [1, 2], "extend", True), ("c", 3, 1, [3, 4, 5], "extend", True)]


def test_slots_are_those_of_the_call_although_the_allocator_gave_a_view(toy):
    toy.install(PageHooks)
    taken = toy.engine.allocator.alloc(2)
    taken.zero_()
    assert toy.sink.of("alloc", "slots", "reason") == [([1, 2], "other")]


def test_an_allocator_that_calls_itself_grants_once(toy):
    toy.install(PageHooks)
    toy.engine.allocator.alloc_extend(3)
    assert len(toy.sink.of("alloc")) == 1


def test_a_grant_on_npus_is_a_bundle_of_int32_whose_full_slots_count(toy):
    """`DSV4OutCacheLoc` of DeepSeek-V4: slots of the window, C4 and C128 lie in pools of their own."""
    cls = type(toy.engine.allocator)
    alloc = cls.alloc_extend

    def alloc_extend(self, need_size):
        bundle = SimpleNamespace(out_full_loc=alloc(self, need_size).to(torch.int32))
        bundle.out_swa_loc = bundle.out_c4_loc = bundle.out_c128_loc = torch.tensor([90], dtype=torch.int32)
        return bundle

    cls.alloc_extend = alloc_extend
    toy.install(PageHooks)
    a, b = toy.request("a", 1), toy.request("b", 2)
    with toy.scene.activity.granting(Grant("extend", (a, b), (2, 1))):
        assert toy.engine.allocator.alloc_extend(3).out_full_loc.dtype is torch.int32
    assert toy.sink.of("alloc", "pool", "request", "slots") == [("full", "a", [1, 2]), ("full", "b", [3])]
    assert toy.failures == []


def test_a_free_by_request_names_no_slots_of_the_full_pool(toy):
    """`free(req=…, req_to_token_pool=…)` gives back sidecar and state; full slots go by index."""
    cls = type(toy.engine.allocator)
    free = cls.free
    cls.free = lambda self, free_index=None, *, req=None, req_to_token_pool=None: (
        free(self, free_index) if free_index is not None else None
    )
    toy.install(PageHooks)
    toy.engine.allocator.free(req=toy.request("a", 1), req_to_token_pool=toy.engine.table)
    toy.engine.allocator.free(torch.tensor([4], dtype=torch.int32))
    assert toy.sink.of("free", "slots", "form") == [([4], "index")]
    assert toy.failures == []


def test_out_of_memory_is_an_event(toy):
    toy.install(PageHooks)
    assert toy.engine.allocator.alloc(99) is None
    assert toy.sink.of("alloc", "granted", "slots") == [(False, None)]


def test_a_grant_that_does_not_fit_its_requests_belongs_to_nobody(toy):
    toy.install(PageHooks)
    with toy.scene.activity.granting(Grant("extend", (toy.request("a", 1),), (9,))):
        toy.engine.allocator.alloc(2)
    assert toy.sink.of("alloc", "request", "slots") == [(None, [1, 2])]


def test_frees_in_a_group_are_recorded_when_queued_and_not_again_when_flushed(toy):
    toy.install(PageHooks)
    allocator = toy.engine.allocator
    slots = allocator.alloc(4)
    allocator.free_group_begin()
    allocator.free(slots[:2])
    allocator.free_segment(slots[2:], start_pos=2)
    allocator.free_group_end()
    allocator.free(slots[:0])
    assert toy.sink.of("free", "slots", "group") == [([1, 2], 1), ([3, 4], 1)]
    assert toy.sink.of("free_group", "action", "group") == [("begin", 1), ("end", 1)]
    assert allocator.available_size() == 16
    order = [row["event"] for row in toy.sink.rows]
    assert order == ["alloc", "free_group", "free", "free", "free_group"]


def test_a_free_has_a_reason_a_request_and_a_place(toy):
    toy.install(PageHooks)
    identity = toy.scene.rows.identity(toy.request("a", 2))
    with toy.scene.activity.working_on(identity), toy.scene.activity.freeing("overshoot"):
        toy.engine.allocator.free(torch.tensor([7]))
    (row,) = toy.sink.of("free")
    assert (row["request"], row["row"], row["epoch"], row["reason"]) == ("a", 2, 1, "overshoot")
    assert row["site"] == "test_pages.py:test_a_free_has_a_reason_a_request_and_a_place"


def test_an_eviction_ends_the_nodes_hold_before_it_frees(toy):
    toy.install(PageHooks)
    with toy.scene.activity.freeing("evict"):
        toy.engine.allocator.free(torch.tensor([7, 8]))
    assert toy.sink.of("cache", "action", "slots") == [("evict", [7, 8])]
    assert [row["event"] for row in toy.sink.rows] == ["cache", "free"]


def test_page_ids_become_the_first_slots_of_their_pages(paged_toy):
    paged_toy.install(PageHooks)
    paged_toy.engine.allocator.free_page_ids(torch.tensor([2, 5]))
    assert paged_toy.sink.of("free", "slots") == [([8, 20],)]


def test_another_allocator_of_the_same_class_is_not_ours(toy):
    toy.install(PageHooks)
    type(toy.engine.allocator)().alloc(2)
    assert toy.sink.rows == []


def test_a_reset_is_said(toy):
    toy.install(PageHooks)
    toy.engine.allocator.clear()
    assert "reset" in toy.sink.of("note")[0]["text"]
    assert toy.failures == []
