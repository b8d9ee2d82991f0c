"""Workers of the first kind: what they reject is marked as freed, and their accepts are not claimed."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.sglang import describe
from speckv_debug.collectors.sglang.families import bypasses, frees_each_round
from speckv_debug.collectors.sglang.pages import PageHooks
from speckv_debug.collectors.sglang.v1_workers import INPUTS, V1Hooks


def worker(name):
    return type(name, (), {"__module__": "sglang.srt.speculative.somewhere"})()


@pytest.fixture
def first_kind(toy):
    toy.scheduler.draft_worker = worker("EAGLEWorker")
    toy.install(PageHooks)
    yield toy
    toy.patches.undo()
    assert toy.failures == []


def test_the_first_kind_is_told_by_its_worker_or_by_what_ngram_does(monkeypatch):
    assert frees_each_round("EAGLE", worker("EAGLEWorker"))
    assert not frees_each_round("EAGLE", worker("EAGLEWorkerV2"))
    assert not frees_each_round(None, worker("EAGLEWorker"))
    assert not frees_each_round("NGRAM", worker("NGRAMWorker"))
    module = ModuleType("sglang.srt.speculative.ngram_info")
    module.NgramVerifyInput = type("NgramVerifyInput", (), {"_free_cache": None})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert frees_each_round("NGRAM", worker("NGRAMWorker"))
    assert "V1" in str(bypasses("NGRAM", None, worker("NGRAMWorker")))


def test_a_window_is_granted_and_what_is_rejected_is_freed(first_kind):
    toy, hooks = first_kind, V1Hooks(first_kind.scene)
    allocator, reqs = toy.scheduler.token_to_kv_pool_allocator, [toy.request("a", 1), toy.request("b", 2)]
    batch = SimpleNamespace(reqs=reqs)
    steps = hooks.prepare(Call({}, (), {"self": SimpleNamespace(draft_token_num=3), "batch": batch}))
    next(steps)
    allocator.alloc(6)
    list(steps)
    steps = hooks.verify(Call({}, (), {"batch": batch}))
    next(steps)
    allocator.free(torch.tensor([3, 5, 6]))
    for req in reqs:
        req.kv_committed_len = req.kv_allocated_len = 7
    list(steps)
    assert toy.sink.of("alloc", "request", "slots", "reason") == [
        ("a", [1, 2, 3], "spec_reserve"),
        ("b", [4, 5, 6], "spec_reserve"),
    ]
    assert toy.sink.of("free", "slots", "reason") == [([3, 5, 6], "reject")]
    assert toy.sink.of("lengths", "request", "committed", "allocated", "cause") == [
        ("a", 7, 7, "verify_commit"),
        ("b", 7, 7, "verify_commit"),
    ]


def test_settings_say_that_a_reject_frees(first_kind):
    first_kind.scheduler.tp_worker.model_runner.model_config = SimpleNamespace(context_len=64)
    assert describe.settings(first_kind.engine)["frees_on_reject"] is True
    first_kind.scheduler.draft_worker = worker("EAGLEWorkerV2")
    assert "frees_on_reject" not in describe.settings(first_kind.engine)
    assert list(V1Hooks(first_kind.scene).functions()) == []


def test_allocations_that_are_taken_back_are_no_longer_claimed(first_kind):
    import dataclasses

    said = []
    scene = dataclasses.replace(first_kind.scene, withdraw=lambda table, why: said.append(table))
    list(V1Hooks(scene).set_back(Call({}, (), {})))
    assert said == ["alloc", "free"]
    assert len(list(V1Hooks(scene).functions())) == 2 * len(INPUTS)
