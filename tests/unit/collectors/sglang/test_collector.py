"""Binding to a scheduler: what is reported, what a failure takes back, and letting go again."""

from __future__ import annotations

import sys
import types

import pytest
import torch

from speckv_debug.collectors.sglang import attaching, targets
from speckv_debug.collectors.sglang.collector import SglangCollector
from speckv_debug.collectors.sglang.pages import PageHooks
from speckv_debug.recording.reader import Recording


@pytest.fixture
def scheduler(toy):
    toy.scheduler.tp_worker.model_runner.model_config = types.SimpleNamespace(context_len=64)
    return toy.scheduler


def test_it_reports_what_it_records(toy, scheduler):
    collector = SglangCollector(sink=toy.sink)
    collector.bind(scheduler)
    fields = toy.sink.fields
    assert fields["from_start"] is True
    assert fields["pools"][0] == {
        "name": "full",
        "kind": "full",
        "slots": 16,
        "page_size": 1,
        "reserved_slots": 1,
        "namespace": "target",
        "layers": 1,
        "components": ["k", "v"],
        "owner": "page",
    }
    assert fields["settings"]["row_width"] == 64
    assert fields["hooks"]["row_alloc"].endswith("Table.alloc")
    assert fields["hooks"]["run_batch"] is None
    assert fields["tables"] == ["note", "drop"], "without the scheduler's loop nothing is whole"
    assert toy.sink.of("pool_stat", "available", "total", "step") == [(16, 16, 0)]


def test_what_lies_behind_an_encoder_is_left_out_and_said(toy, scheduler):
    scheduler.model_config = types.SimpleNamespace(is_encoder_decoder=True)
    SglangCollector(sink=toy.sink).bind(scheduler)
    scheduler.req_to_token_pool.write((1, slice(0, 2)), torch.tensor([8, 9]))
    assert toy.sink.of("table_write") == []
    assert toy.sink.fields["settings"]["encoder_decoder"] is True
    (note,) = toy.sink.notes
    assert "encoder" in note and "forward" in note


def test_what_was_allocated_before_has_no_known_owner(toy, scheduler):
    scheduler.token_to_kv_pool_allocator.alloc(2)
    collector = SglangCollector(sink=toy.sink)
    collector.bind(scheduler)
    assert not collector.capabilities.from_start


def test_a_hook_that_fails_is_said_and_no_longer_claimed(toy, scheduler, monkeypatch):
    monkeypatch.setattr(PageHooks, "_emit_alloc", lambda *args, **columns: 1 / 0)
    SglangCollector(sink=toy.sink).bind(scheduler)
    allocator = scheduler.token_to_kv_pool_allocator
    assert allocator.alloc(2).tolist() == [1, 2]
    assert allocator.alloc(1).tolist() == [3]
    assert toy.sink.notes == [
        "hook allocate failed and was switched off: ZeroDivisionError: division by zero"
    ]
    assert toy.sink.fields["hooks"]["allocate"] is None


def test_a_table_that_is_withdrawn_is_said_once_and_no_longer_claimed(toy, scheduler, monkeypatch):
    whole = ("lengths", "release")
    monkeypatch.setattr("speckv_debug.collectors.sglang.collector.recorded_tables", lambda *args: whole)
    collector = SglangCollector(sink=toy.sink)
    collector.bind(scheduler)
    for _ in range(2):
        collector._scene.withdraw("release", "a session keeps a row")
    assert toy.sink.notes == ["table release is not recorded whole from here on: a session keeps a row"]
    assert toy.sink.fields["tables"] == ["lengths"]


def test_detaching_puts_the_functions_back_and_closes(toy, scheduler):
    allocator = scheduler.token_to_kv_pool_allocator
    before = type(allocator).alloc
    collector = SglangCollector(sink=toy.sink)
    collector.bind(scheduler)
    assert type(allocator).alloc is not before
    collector.detach()
    collector.detach()
    assert type(allocator).alloc is before
    assert toy.sink.closed
    assert collector.has_ended


def test_the_first_scheduler_counts(toy, scheduler):
    collector = SglangCollector(sink=toy.sink)
    collector.bind(scheduler)
    collector.bind(None)
    assert len(toy.sink.of("pool_stat")) == 1


def engine_module(monkeypatch, scheduler, sink):
    """A module `scheduler` whose class hands out the toy's parts; attaching records into `sink`."""

    class Scheduler:
        def __init__(self, server_args, tp_rank=0):
            vars(self).update(vars(scheduler))

        def get_next_batch_to_run(self):
            return "batch"

    module = types.ModuleType(targets.SCHEDULER)
    module.Scheduler = Scheduler
    for name in ("sglang", "sglang.srt", "sglang.srt.managers"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, targets.SCHEDULER, module)
    if sink is not None:
        monkeypatch.setattr(attaching, "SglangCollector", lambda out: SglangCollector(out, sink))
    return Scheduler


def test_attach_waits_for_the_constructor(toy, scheduler, monkeypatch, tmp_path):
    cls = engine_module(monkeypatch, scheduler, toy.sink)
    constructor = cls.__init__
    attaching.attach_now(tmp_path)
    assert toy.sink.fields == {}
    cls("arguments")
    assert toy.sink.fields["from_start"] is True
    assert cls.__init__ is constructor


@pytest.mark.parametrize("build_first", [False, True])
def test_what_ended_before_a_scheduler_came_records_nothing(scheduler, monkeypatch, tmp_path, build_first):
    """`with attach(one): pass`, then `with attach(two): build`."""
    cls = engine_module(monkeypatch, scheduler, None)
    constructor, preparing = cls.__init__, cls.get_next_batch_to_run
    running = cls("arguments") if build_first else None
    first = attaching.attach_now(tmp_path / "one")
    first.detach()
    assert (cls.__init__, cls.get_next_batch_to_run) == (constructor, preparing)
    second = attaching.attach_now(tmp_path / "two")
    if running is None:
        cls("arguments")
    else:
        running.get_next_batch_to_run()
    first.announce({})
    first.bind(scheduler)
    second.detach()
    assert not (tmp_path / "one").exists()
    (process,) = Recording.open(tmp_path / "two").processes
    assert process.table("pool_stat").num_rows == 1


def test_a_scheduler_that_can_not_be_hooked_is_noted_and_left_alone(toy, scheduler, monkeypatch):
    before = type(scheduler.token_to_kv_pool_allocator).alloc
    monkeypatch.setattr(PageHooks, "methods", lambda self: 1 / 0)
    SglangCollector(sink=toy.sink).bind(scheduler)
    SglangCollector(sink=toy.sink).bind(object())
    assert toy.sink.notes[0] == "recording could not begin: ZeroDivisionError: division by zero"
    assert toy.sink.notes[1].startswith("recording could not begin: AttributeError")
    assert toy.sink.fields["hooks"] == {}
    assert type(scheduler.token_to_kv_pool_allocator).alloc is before


def test_attach_finds_a_scheduler_that_already_runs(toy, scheduler, monkeypatch, tmp_path):
    cls = engine_module(monkeypatch, scheduler, toy.sink)
    running = cls("arguments")
    running.token_to_kv_pool_allocator.alloc(1)
    attaching.attach_now(tmp_path)
    assert running.get_next_batch_to_run() == "batch"
    assert toy.sink.fields["from_start"] is False


def test_arguments_of_a_constructor_by_name():
    def construct(self, server_args, port_args, tp_rank, pp_rank=0):
        """As in releases that pass ranks."""

    assert attaching.bound_arguments(construct, ("a", "p"), {"tp_rank": 3}) == {
        "server_args": "a",
        "port_args": "p",
        "tp_rank": 3,
    }
    assert attaching.bound_arguments(construct, (), {"unheard_of": 1}) == {}
