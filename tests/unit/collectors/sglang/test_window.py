"""Models with a sliding window: peers of slots, how far a request gave its slots up, and what is said of the window."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.sglang import describe
from speckv_debug.collectors.sglang.coverage import untaken_tables
from speckv_debug.collectors.sglang.engine import Engine
from speckv_debug.collectors.sglang.lengths import LengthHooks
from speckv_debug.collectors.sglang.levels import HOOKS, hooked
from speckv_debug.collectors.sglang.loop import LoopHooks, ResultSteps
from speckv_debug.collectors.sglang.pages import PageHooks
from tests.unit.collectors.sglang.entering import enter
from tests.unit.collectors.sglang.test_forwards import batch, run


@pytest.fixture
def window(toy):
    """The toy with peers in a smaller pool."""
    base = type(toy.engine.allocator)

    class Windowed(base):
        def full_available_size(self):
            return self.available_size()

        def alloc_extend_swa_tail(self, need_size, swa_tail_len):
            slots = self.alloc(need_size)
            self.set_full_to_swa_mapping(slots[-swa_tail_len:], slots[-swa_tail_len:] - 1)
            return slots

        def set_full_to_swa_mapping(self, full_indices, swa_indices):
            self.full_to_swa_index_mapping[full_indices] = swa_indices

        def clear_full_to_swa_mapping(self, full_indices):
            self.full_to_swa_index_mapping[full_indices] = 0

        def free(self, free_index):
            self.clear_full_to_swa_mapping(free_index)
            super().free(free_index)

        def free_full(self, free_index):
            super().free(free_index)

        def free_swa(self, free_index):
            self.clear_full_to_swa_mapping(free_index)

    toy.engine.allocator.__class__ = Windowed
    toy.engine.allocator.full_to_swa_index_mapping = torch.zeros(17, dtype=torch.int64)
    toy.engine.allocator.swa_attn_allocator, toy.engine.allocator.full_attn_allocator = object(), object()
    toy.engine.allocator.size_full, toy.engine.allocator.size_swa = 16, 8
    return toy


def test_a_grant_of_the_tail_alone_says_whose_peers_there_are(window):
    window.install(PageHooks)
    window.engine.allocator.alloc_extend_swa_tail(4, 2)
    assert window.sink.of("alloc", "slots") == [([1, 2, 3, 4],)]
    assert window.sink.of("swa_map", "full_slots", "swa_slots") == [([1, 2, 3, 4], [0, 0, 2, 3])]
    assert window.failures == []


def test_peers_that_the_tree_moves_are_told(window):
    window.install(PageHooks)
    allocator = window.engine.allocator
    allocator.clear_full_to_swa_mapping(torch.tensor([3, 4]))
    allocator.set_full_to_swa_mapping(torch.tensor([1, 2]), torch.tensor([2, 3]))
    moved = [([3, 4], [0, 0]), ([1, 2], [2, 3])]
    assert window.sink.of("swa_map", "full_slots", "swa_slots") == moved


def test_a_free_takes_the_peers_along_and_a_free_of_the_full_side_does_not(window):
    window.install(PageHooks)
    allocator = window.engine.allocator
    allocator.free_swa(torch.tensor([1]))
    allocator.free_full(torch.tensor([1]))
    allocator.free(torch.tensor([2]))
    assert window.sink.of("free", "slots") == [([1],), ([2],)]
    assert window.sink.of("swa_map", "full_slots", "swa_slots") == [([1], [0]), ([2], [0])]


def test_at_level_1_nothing_is_read_for_the_sake_of_peers(window):
    window.scene = replace(window.scene, level=1)
    window.install(PageHooks)
    window.engine.allocator.free(torch.tensor([2]))
    assert window.sink.of("free", "slots") == [([2],)]
    assert window.sink.of("swa_map") == []
    assert not {"free_swa", "swa_set", "swa_clear"} & {name for name in HOOKS if hooked(name, 1)}


def prepared(toy, req):
    kind = SimpleNamespace(is_none=lambda: True)
    batch = SimpleNamespace(reqs=[req], spec_algorithm=kind)
    enter(LengthHooks(toy.scene, ResultSteps()), "prepare_decode", self=batch)()
    return toy.sink.of("lengths", "committed", "swa_evicted")


def test_the_cursor_of_a_release_with_a_field(window):
    req = window.request("a", 1, swa_evicted_seqlen=4)
    req.kv_committed_len = 9
    assert prepared(window, req) == [(9, 4)]


def test_the_cursor_of_a_release_with_one_of_several(window, monkeypatch):
    kinds = SimpleNamespace(ComponentType=SimpleNamespace(SWA="swa"))
    monkeypatch.setitem(sys.modules, "sglang.srt.mem_cache.unified_cache.component_type", kinds)
    kept = SimpleNamespace(
        req_pool_idx=1, kv_committed_len=9, kv_allocated_len=9, get_evicted_seqlen={"swa": 6}.get
    )
    req = window.request("a", 1)
    req.kv = kept
    assert prepared(window, req) == [(9, 6)]


def test_without_a_window_there_is_no_cursor(toy):
    assert prepared(toy, toy.request("a", 1, swa_evicted_seqlen=0)) == [(0, None)]


class Switch:
    """One of SGLang's `envs`: it refuses to be taken for its own value."""

    def get(self):
        return 128

    def __bool__(self):
        raise RuntimeError("Please use `envs.YOUR_FLAG.get()`")


def test_the_window_is_described(window, monkeypatch):
    envs = SimpleNamespace(SGLANG_SWA_EVICTION_INTERVAL=Switch())
    monkeypatch.setitem(sys.modules, "sglang.srt.environ", SimpleNamespace(envs=envs))
    runner = window.engine.target_runner
    runner.sliding_window_size, runner.model_config = 1023, SimpleNamespace(context_len=64)
    engine = Engine(window.scheduler)
    assert describe.settings(engine)["sliding_window"] == 1023
    assert "swa_eviction_interval" not in describe.settings(engine), "by forwards, not by tokens"
    batch = type("ScheduleBatch", (), {"_swa_eviction_trigger": None})
    places = SimpleNamespace(ScheduleBatch=batch)
    monkeypatch.setitem(sys.modules, "sglang.srt.managers.schedule_batch", places)
    engine.tree.swa_retain_window = 1100
    assert describe.settings(engine)["swa_eviction_interval"] == 128 + 1100 - 1023


@pytest.mark.parametrize("recurrent", [True, False, None])
def test_whether_the_window_is_kept_behind_a_checkpoint_is_described(window, recurrent):
    window.engine.target_runner.model_config = SimpleNamespace(context_len=64)
    tree = Engine(window.scheduler).tree
    assert "swa_retain_floor" not in describe.settings(Engine(window.scheduler)), "releases before 0.5.18"
    tree.swa_retain_floor, tree.is_mamba_enabled = (lambda req: None), recurrent
    assert describe.settings(Engine(window.scheduler)).get("swa_retain_floor") is recurrent


def test_where_all_layers_have_a_window_pages_are_left_out(window):
    window.engine.allocator.full_attn_allocator = window.engine.allocator.swa_attn_allocator
    engine = Engine(window.scheduler)
    assert engine.is_all_window and not engine.has_window
    assert {"alloc", "free", "table_write", "cache"} <= untaken_tables(engine, 2)


def windowed_backend(window, slots):
    window.engine.target_runner.attn_backend = SimpleNamespace(
        forward_metadata=SimpleNamespace(swa_out_cache_loc=slots)
    )


GROUPED = ("mode", "pool", "group", "request", "start", "slots", "positions", "next_token")


def test_a_prefill_is_told_of_the_windows_layers_too(window):
    windowed_backend(window, torch.tensor([11, 12, 13, 14, 15, 0]))
    slots = torch.tensor([1, 2, 3, 4, 5])
    lengths = torch.tensor([7, 2])
    run(
        window, batch("EXTEND", 2, lengths, slots, extend_seq_lens_cpu=[3, 2]), sampled=torch.tensor([40, 41])
    )
    assert [row[:2] for row in window.sink.of("forward", *GROUPED)] == [("extend", "swa")] * 2 + [
        ("extend", "full")
    ] * 2
    assert window.sink.of("forward", *GROUPED)[:2] == [
        ("extend", "swa", "swa", "a", 4, [11, 12, 13], [201, 202, 203], None),
        ("extend", "swa", "swa", "b", 0, [14, 15], [204, 205], None),
    ]


@pytest.mark.parametrize("level", [2, 3])
def test_a_verify_is_told_of_the_windows_layers_too(window, level):
    window.scene = replace(window.scene, level=level)
    windowed_backend(window, torch.tensor([11, 12, 13, 14]))
    run(window, batch("TARGET_VERIFY", 2, torch.tensor([7, 2]), torch.tensor([1, 2, 3, 4])))
    assert window.sink.of("forward", *GROUPED[1:6])[2:] == [
        ("swa", "swa", "a", 7, [11, 12]),
        ("swa", "swa", "b", 2, [13, 14]),
    ]


@pytest.mark.parametrize("hidden", ["level", "window", "backend", "draft"])
def test_else_nothing_is_told_of_a_group(window, hidden):
    windowed_backend(window, torch.tensor([11, 12]))
    runner = None
    if hidden == "level":
        window.scene = replace(window.scene, level=1)
    if hidden == "window":
        del window.engine.allocator.swa_attn_allocator
    if hidden == "backend":
        window.engine.target_runner.attn_backend = object()
    if hidden == "draft":
        runner = SimpleNamespace(
            token_to_kv_pool=object(), attn_backend=window.engine.target_runner.attn_backend
        )
        window.engine._pool_names[id(runner.token_to_kv_pool)] = "draft"
    prefill = batch("EXTEND", 2, torch.tensor([1, 1]), torch.tensor([1, 2]), extend_seq_lens_cpu=[1, 1])
    run(window, prefill, runner, torch.tensor([1, 2]))
    assert window.sink.of("forward", "group") == [(None,)] * 2


def test_what_the_tree_evicts_past_the_allocator_of_both_sides_is_a_free(window):
    """`FullComponent.apply_component_action` (0.5.15 and later) calls the full side's own free; nobody else's is meant."""

    class FullSide:
        def __init__(self):
            self.freed = []

        def free(self, free_index):
            self.freed += free_index.tolist()

        def free_segment(self, free_index, *, start_pos):
            self.free(free_index)

    allocator, cls = window.engine.allocator, type(window.engine.allocator)
    full = allocator.full_attn_allocator = FullSide()
    cls.free_full = lambda self, free_index: full.free(free_index)
    window.install(PageHooks)
    allocator.free_full(torch.tensor([1]))
    with window.scene.activity.freeing("evict"):
        full.free_segment(torch.tensor([2, 3]), start_pos=0)
    FullSide().free(torch.tensor([4]))
    assert full.freed == [1, 2, 3]
    assert window.sink.of("free", "slots", "reason") == [([1], "other"), ([2, 3], "evict")]
    assert window.sink.of("cache", "action", "slots") == [("evict", [2, 3])]
    assert window.failures == []


def test_the_pool_of_a_window_says_what_a_row_consists_of(window):
    window.engine.target_pool.swa_kv_pool = SimpleNamespace(k_buffer=[], v_buffer=[], layer_num=2)
    (swa,) = (pool for pool in describe.pools(window.engine) if pool["kind"] == "swa")
    assert (swa["components"], swa["layers"], swa["owner"]) == (["k", "v"], 2, "page")


@pytest.mark.parametrize("parted", [False, True])
def test_what_is_available_in_the_window_is_told_beside_the_main_pool(window, parted):
    allocator, tree = window.engine.allocator, type(window.engine.tree)
    type(allocator).swa_available_size = lambda self: 5
    sizes = {"supports_swa": parted, "full_evictable_size": 0, "full_protected_size": 0}
    for name, value in (sizes | {"swa_evictable_size": 2, "swa_protected_size": 1}).items():
        setattr(tree, name, lambda self, value=value: value)
    LoopHooks(window.scene, ResultSteps()).pool_stat()
    figures = ("pool", "available", "evictable", "protected", "total")
    full, swa = window.sink.of("pool_stat", *figures)
    assert full[0] == "full" and swa == ("swa", 5, 2 * parted, 1 * parted, 8)
