"""Slots on their way between machines, from the pre-allocation to the commit, and slots that come back from the host."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.sglang.coverage import recorded_tables
from speckv_debug.collectors.sglang.handoff import HandoffHooks
from speckv_debug.collectors.sglang.host_cache import HostCacheHooks
from speckv_debug.collectors.sglang.pages import PageHooks
from speckv_debug.collectors.sglang.release import ReleaseHooks


def arguments(**given):
    return Call({}, (), given)


@pytest.fixture
def machine(toy):
    toy.engine.table.req_to_token[1, :8] = torch.arange(10, 18)
    toy.install(PageHooks)
    yield toy
    toy.patches.undo()
    assert toy.failures == []


def preallocate(toy, hooks, req):
    steps = hooks.preallocate(arguments(req=req))
    next(steps)
    toy.scheduler.token_to_kv_pool_allocator.alloc(4)
    req.kv_committed_len = req.kv_allocated_len = 4
    list(steps)


def test_a_received_request_holds_slots_before_their_content_comes(machine):
    hooks, req = HandoffHooks(machine.scene), machine.request("a", 1)
    preallocate(machine, hooks, req)
    assert machine.sink.of("alloc", "reason", "slots") == [("extend", [1, 2, 3, 4])]
    assert machine.sink.of("lengths", "request", "committed", "allocated") == [("a", 4, 4)]
    list(hooks.received(arguments(decode_req=SimpleNamespace(req=req))))
    list(hooks.received(arguments(decode_req=SimpleNamespace(req=req))))
    assert machine.sink.of("transfer", "action", "direction", "request", "slots") == [
        ("begin", "receive", "a", [10, 11, 12, 13]),
        ("end", "receive", "a", [10, 11, 12, 13]),
    ]


def test_a_transfer_that_fails_ends_before_the_request_gives_its_slots_back(machine):
    hooks, req = HandoffHooks(machine.scene), machine.request("a", 1)
    preallocate(machine, hooks, req)
    steps = ReleaseHooks(machine.scene).release(arguments(req=req))
    next(steps)
    machine.scheduler.token_to_kv_pool_allocator.free(torch.tensor([1, 2]))
    list(steps)
    assert [row["event"] for row in machine.sink.rows][-3:] == ["transfer", "release", "free"]


def test_each_chunk_is_sent_from_where_the_last_one_ended(machine):
    hooks, req = HandoffHooks(machine.scene), machine.request("a", 1, start_send_idx=0)
    for end in (3, 3, 5):
        steps = hooks.send(arguments(req=req))
        next(steps)
        req.start_send_idx = end
        list(steps)
    sent = machine.sink.of("transfer", "action", "direction", "slots")
    assert sent == [("begin", "send", [10, 11, 12]), ("begin", "send", [13, 14])]
    req.req_pool_idx = None
    list(hooks.send(arguments(req=req)))
    assert len(machine.sink.of("transfer")) == 2, "no row, nothing to send"


@pytest.mark.parametrize(
    ("mode", "names"), [("decode", ["preallocate", "received"]), ("prefill", ["send_chunk"]), ("null", [])]
)
def test_hooks_are_those_of_the_machines_part(machine, mode, names):
    machine.scheduler.server_args.disaggregation_mode = mode
    assert [target.name for target, _ in HandoffHooks(machine.scene).functions()] == names
    hooks = dict.fromkeys((*names, "release", "next_batch", "run_batch", "process_result"), "somewhere")
    assert ("transfer" in recorded_tables(machine.engine, hooks, ())) == bool(names)


def test_what_comes_back_from_the_host_is_said_to(machine):
    tree = type(machine.scheduler.tree_cache)
    tree.load_back = lambda self, node: machine.scheduler.token_to_kv_pool_allocator.alloc(2)
    machine.install(HostCacheHooks)
    assert machine.scheduler.tree_cache.load_back(1).tolist() == [1, 2]
    machine.scheduler.server_args.enable_hierarchical_cache = True
    machine.install(HostCacheHooks)
    machine.scheduler.tree_cache.load_back(1)
    assert machine.sink.of("alloc", "reason") == [("other",), ("load_back",)]
