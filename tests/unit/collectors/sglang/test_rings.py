"""Rings of C128 compressors: what a verify is told to clear, what it cleared, and a release that clears nothing."""

import math
import sys
from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.sglang import describe
from speckv_debug.collectors.sglang.collector import SglangCollector
from speckv_debug.collectors.sglang.rings import RingHooks, clearing_hooks
from speckv_debug.collectors.sglang.scene import Scene

RING, HALF = 8, 2


def make_pool(clear=None):
    """A pool with one C128 layer, whose rings hold ones; `clear` stands in for the right one."""
    state = SimpleNamespace(ratio=128, ring_size=RING)
    state.kv_score_buffer = SimpleNamespace(kv_score=torch.ones(3 * RING, 2 * HALF))

    def rightly(self, req_pool_indices, seq_lens, accept_lens, num_draft_tokens):
        for row, length, accepted in zip(req_pool_indices, seq_lens, accept_lens, strict=True):
            for offset in range(int(accepted), num_draft_tokens):
                wipe(state, int(row) * RING + (int(length) + offset) % RING)

    def clear_request_scoped_state(self, req_pool_idx):
        wipe(state, slice(req_pool_idx * RING, (req_pool_idx + 1) * RING))

    methods = {"clear_unaccepted_c128_draft_states": clear or rightly}
    methods["clear_request_scoped_state"] = clear_request_scoped_state
    pool = type("DeepSeekV4TokenToKVPool", (), methods)()
    pool.compress_state_pools = [None, state]
    return pool


def wipe(state, rows):
    state.kv_score_buffer.kv_score[rows, :HALF] = 0
    state.kv_score_buffer.kv_score[rows, HALF:] = -math.inf


def does_nothing(self, req_pool_indices, seq_lens, accept_lens, num_draft_tokens):
    pass


def recording(toy, pool, level=2):
    toy.engine.target_pool = pool
    toy.scene = Scene(toy.engine, toy.scene.journal, toy.scene.activity, toy.scene.rows, level=level)
    toy.install(RingHooks)


def clear(toy, pool, *lengths, accepted, width=4):
    toy.scene.journal.launched = 1
    who = [
        toy.scene.rows.identity(toy.request(name, row)) for row, name in enumerate("ab"[: len(lengths)], 1)
    ]
    with toy.scene.activity.running(None, who):
        rows = torch.arange(1, len(lengths) + 1)
        pool.clear_unaccepted_c128_draft_states(rows, torch.tensor(lengths), torch.tensor(accepted), width)
    assert toy.failures == []


COLUMNS = ("request", "row", "seq_len", "accept_len", "width", "ring_size", "ring_rows")


@pytest.mark.parametrize("level", [1, 2, 3])
def test_what_a_verify_clears(toy, level):
    recording(toy, pool := make_pool(), level)
    clear(toy, pool, 6, 10, accepted=[3, 1])
    told = [("a", 1, 6, 3, 4, 8, [1]), ("b", 2, 10, 1, 4, 8, [3, 4, 5])]
    assert toy.sink.of("state_clear", *COLUMNS) == told
    halves = [(0.0, -math.inf)] * 2 if level == 3 else [(None, None)] * 2
    assert toy.sink.of("state_clear", "first_half", "second_half") == halves


def test_a_ring_row_that_changed_and_should_not_is_seen_at_level_3(toy):
    pool = make_pool(lambda self, rows, *rest: wipe(self.compress_state_pools[1], int(rows[0]) * RING + 7))
    recording(toy, pool, level=3)
    clear(toy, pool, 6, accepted=[3])
    assert toy.sink.of("state_clear", "ring_rows", "first_half", "second_half") == [([7], 1.0, 1.0)]


@pytest.mark.parametrize("level", [1, 2])
def test_what_a_clear_leaves_is_recorded_and_not_what_it_was_told(toy, level):
    """Of length 6, 3 rows accepted, ring row 1 is due; ring row 7, an accepted one, is cleared. Then two rows of a ring are."""
    pool = make_pool(lambda self, rows, *rest: wipe(self.compress_state_pools[1], int(rows[0]) * RING + 7))
    type(pool).clear_request_scoped_state = lambda self, req_pool_idx: wipe(
        self.compress_state_pools[1], slice(req_pool_idx * RING, req_pool_idx * RING + 2)
    )
    recording(toy, pool, level)
    clear(toy, pool, 6, accepted=[3])
    pool.clear_request_scoped_state(2)
    assert toy.sink.of("state_clear", "accept_len", "ring_rows") == [(3, [7]), (None, [0, 1])]


def test_a_verify_of_one_row_and_an_empty_batch_clear_nothing(toy):
    recording(toy, pool := make_pool(), level=3)
    clear(toy, pool, 6, accepted=[1], width=1)
    clear(toy, pool, accepted=[])
    assert toy.sink.of("state_clear") == []


@pytest.mark.parametrize("level", [2, 3])
def test_a_row_that_ends_gives_its_whole_ring_back(toy, level):
    recording(toy, pool := make_pool(), level)
    pool.clear_request_scoped_state(2)
    columns = ("row", "width", "ring_rows", "first_half")
    assert toy.sink.of("state_clear", *columns) == [(2, None, list(range(8)), 0.0 if level == 3 else None)]


def test_a_clear_that_does_nothing_is_told_as_not_performed(toy):
    pool = make_pool(does_nothing)
    recording(toy, pool, level=3)
    clear(toy, pool, 6, accepted=[3])
    assert toy.sink.of("state_clear") == []
    assert clearing_hooks(pool) == ("state_reset",)
    runner = toy.engine.target_runner
    runner.model_config, toy.scheduler.token_to_kv_pool_allocator.pool = SimpleNamespace(context_len=64), pool
    assert describe.settings(toy.engine)["c128_draft_clear"] == "not performed"
    SglangCollector(sink=toy.sink).bind(toy.scheduler)
    assert any("not performed" in note for note in toy.sink.notes)


def test_online_compression_has_another_layout(toy, monkeypatch):
    online = SimpleNamespace(ONLINE_C128=True)
    monkeypatch.setitem(sys.modules, "sglang.srt.mem_cache.deepseek_v4_memory_pool", online)
    recording(toy, pool := make_pool())
    clear(toy, pool, 6, accepted=[3])
    assert toy.sink.of("state_clear") == [] and clearing_hooks(pool) == ()


@pytest.mark.parametrize("unified", [False, True])
def test_whose_a_c4_state_is(toy, unified):
    pool = make_pool()
    states = SimpleNamespace(
        ratio=4, ring_size=16, kv_score_buffer=SimpleNamespace(kv_score=torch.zeros(100, 8))
    )
    pool.compress_state_pools.append(states)
    pool._unified_kv = unified
    toy.engine.target_pool = toy.scheduler.token_to_kv_pool_allocator.pool = pool
    toy.engine.target_runner.model_config = SimpleNamespace(context_len=64)
    (entry,) = (each for each in describe.pools(toy.engine) if each["kind"] == "c4_state")
    assert (entry["owner"], entry["slots"]) == ("request" if unified else "page", 96)
    told = describe.settings(toy.engine)
    assert (told["c4_ring_size"], told["c128_ring_size"]) == (16, RING)
