"""The end of a request's hold."""

import dataclasses
import sys
import types
from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.pages import PageHooks
from speckv_debug.collectors.sglang.release import ReleaseHooks
from speckv_debug.collectors.sglang.table import TableHooks


class FINISH_ABORT:
    """An abort's finish reason."""


def released(toy, inside=lambda hooks: None, **request):
    """Run release_kv_cache of a request; `inside` stands for what the engine does."""
    req = toy.request("a", 1, **request)
    req.kv_committed_len, req.kv_allocated_len = 10, 24
    hooks = ReleaseHooks(toy.scene)
    steps = hooks.release(Call({"req": 0}, (req,), {}))
    next(steps)
    inside(hooks)
    with pytest.raises(StopIteration):
        steps.send(None)
    return toy.sink.of("release")[0]


@pytest.fixture
def tail_function(monkeypatch):
    """As in 0.5.16 and later."""
    module = types.ModuleType(targets.COMMON)
    module._release_overallocated_kv_indices = None
    monkeypatch.setitem(sys.modules, targets.COMMON, module)


def tail_of(hooks, free=lambda: None):
    """Run _release_overallocated_kv_indices."""
    steps = hooks.release_tail(Call({}, (), {}))
    next(steps)
    free()
    with pytest.raises(StopIteration):
        steps.send(None)


def test_it_comes_before_its_frees_and_says_what_is_committed(paged_toy):
    paged_toy.install(PageHooks)
    allocator = paged_toy.engine.allocator
    row = released(paged_toy, lambda hooks: allocator.free(torch.arange(12, 24)), owned_kv_len=lambda: 8)
    assert (row["kind"], row["committed"], row["allocated"], row["page_size"]) == ("finish", 10, 24, 4)
    assert [row["event"] for row in paged_toy.sink.rows] == ["release", "free"]
    assert paged_toy.sink.of("free", "request", "reason") == [("a", "overshoot")]


@pytest.mark.parametrize("start", [12, 11, 8])
def test_the_boundary_is_where_the_free_began_aligned_or_not(paged_toy, tail_function, start):
    paged_toy.install(PageHooks)
    allocator, slots = paged_toy.engine.allocator, torch.arange(start, 24)
    row = released(
        paged_toy, lambda hooks: tail_of(hooks, lambda: allocator.free_segment(slots, start_pos=start))
    )
    assert row["free_start"] == start


@pytest.mark.parametrize("start", [12, 11])
def test_a_release_without_a_tail_function_frees_up_to_what_was_allocated(paged_toy, start):
    paged_toy.install(PageHooks)
    row = released(paged_toy, lambda hooks: paged_toy.engine.allocator.free(torch.arange(start, 24)))
    assert row["free_start"] == start


def test_a_tail_of_nothing_begins_at_the_end(toy, tail_function):
    assert released(toy, tail_of)["free_start"] == 24


def test_a_boundary_that_was_not_seen_is_unknown(paged_toy, tail_function):
    assert "free_start" not in released(paged_toy)
    paged_toy.install(PageHooks)
    allocator = paged_toy.engine.allocator
    released(paged_toy, lambda hooks: tail_of(hooks, lambda: allocator.free_page_ids(torch.tensor([4]))))
    assert "free_start" not in paged_toy.sink.of("release")[1]


def test_an_engine_that_raises_has_released_all_the_same(toy):
    steps = ReleaseHooks(toy.scene).release(Call({"req": 0}, (toy.request("a", 1),), {}))
    next(steps)
    with pytest.raises(MemoryError):
        steps.throw(MemoryError)
    assert toy.sink.of("release", "request", "free_start") == [("a", None)]


def test_an_abort_is_known_by_its_reason(toy):
    assert released(toy, finished_reason=FINISH_ABORT())["kind"] == "abort"


def test_a_retract_is_known_by_who_releases(toy):
    toy.scene.activity.retracting = True
    assert released(toy)["kind"] == "retract"


@pytest.mark.parametrize("streaming", [True, False])
def test_a_streaming_session_that_keeps_the_row_ends_no_hold(toy, streaming):
    """Each turn is another request in the same row; the second one never was handed it."""
    said = []
    scene = dataclasses.replace(toy.scene, withdraw=lambda table, why: said.append(table))
    turns = [toy.request("turn 1", 1), SimpleNamespace(rid="turn 2", req_pool_idx=1)]
    for req in turns:
        req.session = SimpleNamespace(streaming=streaming)
        steps = ReleaseHooks(scene).release(Call({"req": 0}, (req,), {}))
        next(steps)
        req.req_pool_idx = None
        with pytest.raises(StopIteration):
            steps.send(None)
    assert len(toy.sink.of("release")) == (0 if streaming else 2)
    assert said == (["release", "release"] if streaming else [])


def test_a_streaming_turn_that_is_aborted_gives_its_row_back(toy):
    toy.install(TableHooks)

    def give_back(hooks):
        toy.engine.table.free(toy.scene.rows.holder(1))

    assert released(toy, give_back, session=SimpleNamespace(streaming=True))["kind"] == "finish"


def test_frees_inside_belong_to_the_request(toy):
    seen = []
    released(toy, inside=lambda hooks: seen.append(toy.scene.activity.request.request))
    assert seen == ["a"]
    assert toy.scene.activity.request.request is None


def test_a_request_without_a_row_releases_nothing(toy):
    steps = ReleaseHooks(toy.scene).release(
        Call({"req": 0}, (SimpleNamespace(rid="w", req_pool_idx=None),), {})
    )
    next(steps)
    assert toy.sink.rows == []
