"""A streaming session's row: saved, lent, trimmed and closed, in both shapes that releases give its keeper."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.sglang.engine import Engine
from speckv_debug.collectors.sglang.release import ReleaseHooks
from speckv_debug.collectors.sglang.sessions import SessionHooks, held_by_sessions, is_lent
from speckv_debug.collectors.sglang.table import TableHooks


def make_keeper(toy, *, by_row):
    """A keeper as in 0.5.15 (`by_row`: it frees by row number and frees the row itself) or 0.5.23."""
    allocator, table = toy.scheduler.token_to_kv_pool_allocator, toy.scheduler.req_to_token_pool

    class StreamingSession:
        def __init__(self):
            self.slots = {}

        def try_match_prefix(self, params):
            slot = self.slots.get(params.req.session.session_id)
            if slot is not None:
                for name in ("req_pool_idx", "kv_committed_len", "kv_allocated_len"):
                    setattr(params.req, name, getattr(slot, name))
                self._free_tail(slot, params.length)
                params.req.kv_allocated_len = slot.kv_allocated_len

        def try_cache_finished_req(self, req, **more):
            if req.aborted:
                if by_row:
                    self.slots[req.session.session_id] = req
                    self.release_session(req.session.session_id)
                    req.req_pool_idx = None
                return by_row
            self._trim_overshoot(req, 2)
            kept = SimpleNamespace(**vars(req))
            self.slots[req.session.session_id] = kept
            req.req_pool_idx = None
            return True

        def release_session(self, session_id):
            slot = self.slots.pop(session_id, None)
            if slot is not None:
                allocator.free(table.req_to_token[slot.req_pool_idx, 2 : slot.kv_allocated_len])
                if by_row:
                    table.rows.append(slot.req_pool_idx)
                else:
                    table.free(slot)

        def _free_tail(self, record, prefix_len):
            self._free_kv_aligned(
                record.req_pool_idx if by_row else record, prefix_len, record.kv_allocated_len
            )
            record.kv_allocated_len = record.kv_committed_len = prefix_len

        def _trim_overshoot(self, req, finished_len):
            target = req.prompt + finished_len
            self._free_kv_aligned(req.req_pool_idx if by_row else req, target, req.kv_allocated_len)
            req.kv_allocated_len = req.kv_committed_len = target

        def _free_kv_aligned(self, place, target, end):
            row = place if by_row else place.req_pool_idx
            if end > target:
                allocator.free_segment(table.req_to_token[row, target:end], start_pos=target)

    return StreamingSession()


@pytest.fixture(params=[True, False], ids=["by row", "by record"])
def sessions(toy, request):
    keeper = make_keeper(toy, by_row=request.param)
    toy.engine.sessions = keeper
    toy.engine.table.req_to_token[1, :8] = torch.arange(1, 9)
    toy.install(SessionHooks)
    toy.install(TableHooks)
    from speckv_debug.collectors.sglang.pages import PageHooks

    toy.install(PageHooks)
    yield keeper
    toy.patches.undo()
    assert toy.failures == []


def turn(toy, rid, row=None, **more):
    req = toy.request(rid, row, session=SimpleNamespace(session_id="s", streaming=True), prompt=3)
    vars(req).update(kv_committed_len=6, kv_allocated_len=8, cache_protected_len=2, aborted=False, **more)
    return req


def test_a_turn_that_ends_is_trimmed_and_its_row_saved(toy, sessions):
    assert sessions.try_cache_finished_req(turn(toy, "t0", row=1))
    assert [row["event"] for row in toy.sink.rows] == ["release", "free", "lengths", "cache"]
    columns = (
        "request",
        "row",
        "epoch",
        "kind",
        "committed",
        "allocated",
        "target",
        "free_start",
        "page_size",
    )
    assert toy.sink.of("release", *columns) == [("t0", 1, 1, "session_trim", 6, 8, 5, 5, 1)]
    assert toy.sink.of("free", "slots", "reason") == [([6, 7, 8], "session_trim")]
    assert toy.sink.of("lengths", "row", "committed", "allocated", "cause") == [(1, 5, 5, "session_trim")]
    saved = toy.sink.of("cache", "action", "request", "start", "slots")
    assert saved == [("session_save", "t0", 2, [3, 4, 5])], "what lies before is the tree's"


def test_the_next_turn_takes_the_row_once_and_trims_what_it_will_overwrite(toy, sessions):
    sessions.try_cache_finished_req(turn(toy, "t0", row=1))
    toy.sink.rows.clear()
    following = turn(toy, "t1")
    for _ in range(2):  # a turn that is not admitted asks again
        sessions.try_match_prefix(SimpleNamespace(req=following, length=4))
    restored = toy.sink.of("cache", "action", "request", "start", "slots")
    assert restored == [("session_restore", "t1", 2, [3, 4, 5])]
    assert toy.sink.of("release", "request", "row", "target", "allocated")[0] == ("t1", 1, 4, 5)
    assert toy.sink.of("free", "request", "slots", "reason") == [("t1", [5], "session_trim")]


def test_a_row_that_was_lent_in_vain_goes_back_before_the_next_turn_gets_it(toy, sessions):
    sessions.try_cache_finished_req(turn(toy, "t0", row=1))
    sessions.try_match_prefix(SimpleNamespace(req=turn(toy, "t1"), length=5))
    toy.sink.rows.clear()
    sessions.try_match_prefix(SimpleNamespace(req=turn(toy, "t2"), length=5))
    assert toy.sink.of("cache", "action", "request") == [("session_save", "t1"), ("session_restore", "t2")]


def test_a_session_that_closes_gives_its_slots_and_row_back(toy, sessions):
    sessions.try_cache_finished_req(turn(toy, "t0", row=1))
    toy.sink.rows.clear()
    sessions.release_session("s")
    sessions.release_session("s")
    assert [row["event"] for row in toy.sink.rows] == ["cache", "free", "row_free"]
    assert toy.sink.of("cache", "action", "request", "slots") == [("session_close", "t0", [3, 4, 5])]
    assert toy.sink.of("free", "reason", "slots") == [("finish", [3, 4, 5])]
    assert toy.sink.of("row_free", "row", "epoch") == [(1, 1)]


def test_an_aborted_turn_is_released_like_any_request(toy, sessions):
    req = turn(toy, "t0", row=1)
    req.aborted = True
    with toy.scene.activity.freeing("overshoot") as release:
        kept = sessions.try_cache_finished_req(req)
    assert release.freed == ([(None, None)] if kept else []), "one free of everything has no tail"
    assert toy.sink.of("cache") == []
    assert toy.sink.of("row_free", "row") == ([(1,)] if kept else [])


def test_a_session_that_keeps_a_row_makes_no_release_of_the_turn(toy, monkeypatch):
    hooks = ReleaseHooks(toy.scene)
    req = turn(toy, "t0", row=1)
    from speckv_debug.collectors.calls import Call

    steps = hooks.release(Call({"req": 0}, (req,), {}))
    next(steps)
    req.req_pool_idx = None
    with pytest.raises(StopIteration):
        steps.send(None)
    assert toy.sink.of("release") == []


def test_the_keeper_is_the_wrapper_of_the_tree_or_a_part_of_it(toy):
    keeper = make_keeper(toy, by_row=True)
    tree = toy.scheduler.tree_cache
    assert toy.engine.sessions is None
    keeper.inner = toy.scheduler.tree_cache
    toy.scheduler.tree_cache = keeper
    engine = Engine(toy.scheduler)
    assert (engine.sessions, engine.tree) == (keeper, tree)
    tree.session, toy.scheduler.tree_cache = keeper, tree
    assert Engine(toy.scheduler).sessions is keeper


def test_what_sessions_hold_is_the_engines_count(toy):
    assert held_by_sessions(toy.engine) == 0
    toy.engine.sessions = make_keeper(toy, by_row=True)
    assert held_by_sessions(toy.engine) == 0
    toy.engine.sessions.slots["s"] = object()
    assert held_by_sessions(toy.engine) is None
    toy.scheduler.pool_stats_observer = SimpleNamespace(session_held_tokens=lambda: 7)
    assert held_by_sessions(toy.engine) == 7


def test_a_lent_row_is_no_node():
    assert is_lent(type("_VirtualNode", (), {})())
    assert not is_lent(3)
