"""What each level records, and changing it while the engine runs."""

from __future__ import annotations

import sys
import types

import pytest

from speckv_debug.collectors.base import level_from_env
from speckv_debug.collectors.hooking import Patches, Target
from speckv_debug.collectors.sglang.collector import SglangCollector
from speckv_debug.collectors.sglang.coverage import recorded_tables
from tests.unit.collectors.sglang.test_coverage import engine, everything


@pytest.fixture
def scheduler(toy):
    toy.scheduler.tp_worker.model_runner.model_config = types.SimpleNamespace(context_len=64)
    return toy.scheduler


@pytest.mark.parametrize(("text", "level"), [(None, 2), ("", 2), ("1", 1), ("3", 3), ("0", 2), ("all", 2)])
def test_the_level_of_the_environment(text, level, caplog):
    env = {} if text is None else {"SPECKV_DEBUG_LEVEL": text}
    assert level_from_env(env) == level
    assert bool(caplog.records) is (text in ("0", "all"))


def test_what_each_level_claims():
    brief, detailed, forensic = (set(recorded_tables(engine(), everything(), (), n)) for n in (1, 2, 3))
    assert brief == {
        *("accept", "move", "lengths", "reserve", "release", "row_alloc", "row_free"),
        *("forward:extend", "forward:decode", "note", "drop"),
    }
    assert detailed - brief >= {
        "alloc",
        "free",
        "free_group",
        "table_write",
        "cache",
        "compact:predict",
        "pool_stat",
    }
    assert "forward" in detailed and "compact" not in detailed
    assert forensic - detailed == {"compact"}


def test_at_level_1_a_hook_that_only_level_2_has_may_be_missing():
    without = everything() | {"allocate": None, "prepare_verify": None, "match": None, "process_result": None}
    assert "accept" in recorded_tables(engine(), without, (), 1)
    assert "accept" not in recorded_tables(engine(), without, (), 2)


def slots_of(toy, scheduler):
    scheduler.token_to_kv_pool_allocator.alloc(1)
    return toy.sink.of("alloc", "slots")


def test_level_1_leaves_slots_out_and_says_so(toy, scheduler):
    collector = SglangCollector(sink=toy.sink, level=1)
    collector.bind(scheduler)
    assert slots_of(toy, scheduler) == []
    scheduler.token_to_kv_pool_allocator.free(scheduler.token_to_kv_pool_allocator.alloc(1))
    assert toy.sink.of("free") == [], "the hook runs for what a release needs to know"
    assert toy.sink.fields["settings"]["level"] == 1
    assert "allocate" not in toy.sink.fields["hooks"]


def test_the_level_changes_while_the_engine_runs(toy, scheduler):
    allocator = scheduler.token_to_kv_pool_allocator
    original = type(allocator).alloc
    collector = SglangCollector(sink=toy.sink, level=2)
    with pytest.raises(RuntimeError):
        collector.set_level(1)
    collector.bind(scheduler)
    assert slots_of(toy, scheduler) == [([1],)]
    collector.set_level(0)
    assert type(allocator).alloc is original
    collector.set_level(1)
    assert slots_of(toy, scheduler) == [([1],)]
    collector.set_level(2)
    assert slots_of(toy, scheduler) == [([1],), ([3],)]
    collector.set_level(1)
    collector.set_level(0)
    collector.set_level(2)
    assert slots_of(toy, scheduler)[2:] == [([4],)]
    assert (toy.sink.fields["tables"], toy.sink.fields["from_start"]) == (["note", "drop"], False)
    assert toy.sink.notes == ["the level is changed while recording: no table is whole"]
    collector.detach()
    assert type(allocator).alloc is original


def test_an_importer_is_repointed_with_every_change(monkeypatch):
    source, importer = types.ModuleType("speckv_source"), types.ModuleType("speckv_importer")
    source.work = importer.work = original = lambda: 1
    for each in (source, importer):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    calls = []

    def hook(call):
        calls.append("called")
        yield

    patches = Patches(lambda name, error: None)
    assert patches.install(Target("work", ("speckv_source:work",)), hook)
    importer.work()
    patches.lift()
    assert source.work is importer.work is original
    patches.replace()
    importer.work()
    assert calls == ["called", "called"]
    patches.undo()
    assert source.work is importer.work is original
