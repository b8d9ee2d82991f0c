"""What compressors read and write of their rings: recorded from their plans, and where plans go unseen not at all."""

import sys
from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.sglang.compressors import CompressorHooks, state_pools
from speckv_debug.collectors.sglang.coverage import recorded_tables, untaken_tables
from tests.unit.collectors.sglang.entering import enter
from tests.unit.collectors.sglang.test_coverage import everything


class Decode(tuple):
    is_decode = True


class Prefill(tuple):
    is_decode = False


class Backend:
    def _get_paged_compress_metadata(self, compress_ratio):
        """Its compressors follow a plan."""


def words(*rows, size):
    return torch.tensor(rows, dtype=torch.int32).reshape(-1, size).view(torch.uint8)


def states(ratio, ring):
    buffer = SimpleNamespace(kv_score=torch.zeros(4 * ring, 8))
    return SimpleNamespace(ratio=ratio, ring_size=ring, kv_score_buffer=buffer)


@pytest.fixture
def compressing(toy):
    """A toy whose pool has C128 states by row and C4 states by page; `plan` gives the hook the plan that is set."""
    pool = type("DeepSeekV4TokenToKVPool", (), {})()
    pool.compress_state_pools = [states(128, 256), states(4, 16)]
    toy.engine.target_pool = pool
    toy.engine.target_runner.attn_backend = Backend()
    toy.plans = {}
    return toy


def plan(toy, ratio, seq_lens, extend_lens=None, pool=None):
    toy.scene.journal.launched = 3
    who = [toy.scene.rows.identity(toy.request(name, row)) for row, name in ((1, "a"), (2, "b"))]
    told = {"token_to_kv_pool": pool or toy.engine.target_pool, "req_pool_indices": torch.tensor([1, 2])}
    lengths = {"seq_lens": torch.tensor(seq_lens), "extend_lens": extend_lens and torch.tensor(extend_lens)}
    with toy.scene.activity.running(None, who):
        leave = enter(CompressorHooks(toy.scene), "compress_plan", compress_ratio=ratio, **told, **lengths)
        leave(toy.plans[ratio])


COLUMNS = ("step", "pool", "request", "row", "action", "ring_rows", "positions")


def test_a_verify_reads_before_it_writes(compressing):
    reads = words([128, 126 << 16 | 1, 2, 2], size=4)
    writes = words([0, 382], [1, 383], [2, 512 + 6], [3, 512 + 7], size=2)
    compressing.plans[128] = Prefill((128, reads, writes))
    plan(compressing, 128, [128, 8], [2, 2])
    assert compressing.sink.of("state_access", *COLUMNS) == [
        (3, "c128_state", "a", 1, "read", list(range(126)), list(range(126))),
        (3, "c128_state", "b", 2, "read", [], []),
        (3, "c128_state", "a", 1, "write", [126, 127], [126, 127]),
        (3, "c128_state", "b", 2, "write", [6, 7], [6, 7]),
    ]


def test_states_that_are_bound_to_pages_are_named_by_their_addresses(compressing):
    compressing.plans[4] = Decode((4, words([8, 39, 8, 9], [6, 69, 16, 17], size=4)))
    plan(compressing, 4, [8, 6])
    assert compressing.sink.of("state_access", *COLUMNS[2:]) == [
        ("a", None, "write", [39], [7]),
        ("b", None, "write", [69], [5]),
        ("a", None, "read", list(range(32, 40)), list(range(8))),
        ("b", None, "read", [], []),
    ]


def test_a_ring_of_another_row_is_told_as_it_is(compressing):
    compressing.plans[128] = Decode((128, words([6, 2 * 256 + 5, 4, 4], [7, 2 * 256 + 6, 4, 4], size=4)))
    plan(compressing, 128, [6, 7])
    assert compressing.sink.of("state_access", "row", "ring_rows")[:2] == [(1, [256 + 5]), (2, [6])]


def test_the_draft_models_pool_is_not_the_targets(compressing):
    compressing.plans[128] = Decode((128, words([6, 261, 2, 2], [7, 518, 4, 4], size=4)))
    plan(compressing, 128, [6, 7], pool=object())
    assert compressing.sink.of("state_access") == []


@pytest.mark.parametrize(
    "hidden",
    [
        {"enable_hierarchical_cache": True},
        {"disaggregation_mode": "decode"},
        {"enable_two_batch_overlap": True},
        {"device": "cuda"},
        {"backend": object()},
    ],
)
def test_where_plans_or_writes_go_unseen_nothing_is_taken_nor_claimed(compressing, hidden):
    if backend := hidden.pop("backend", None):
        compressing.engine.target_runner.attn_backend = backend
    if device := hidden.pop("device", None):
        compressing.scheduler.device = device
    for name, value in hidden.items():
        setattr(compressing.engine.args, name, value)
    assert state_pools(compressing.engine) == {}
    compressing.plans[128] = Decode((128, words([6, 261, 2, 2], [7, 518, 4, 4], size=4)))
    plan(compressing, 128, [6, 7])
    assert compressing.sink.of("state_access") == []
    assert "state_access" not in recorded_tables(compressing.engine, everything(), ())


def test_without_graphs_a_gpus_plans_are_seen(compressing):
    compressing.scheduler.device = "cuda"
    compressing.engine.args.disable_cuda_graph = True
    assert state_pools(compressing.engine) == {128: 256, 4: None}


def test_it_is_claimed_where_it_is_recorded_whole(compressing):
    resolved = everything() | {"compress_plan": "somewhere"}
    engine = compressing.engine
    assert "state_access" in recorded_tables(engine, resolved, ())
    assert "state_access" not in recorded_tables(engine, resolved, ("compress_plan",))
    assert "state_access" in untaken_tables(engine, 1) and "state_access" not in untaken_tables(engine, 2)


def test_online_compression_has_no_ring_of_positions(compressing, monkeypatch):
    online = SimpleNamespace(ONLINE_C128=True)
    monkeypatch.setitem(sys.modules, "sglang.srt.mem_cache.deepseek_v4_memory_pool", online)
    assert state_pools(compressing.engine) == {4: None}


def test_c4_states_by_row_have_rings(compressing):
    compressing.engine.target_pool._unified_kv = True
    assert state_pools(compressing.engine) == {128: 256, 4: 16}
    compressing.plans[4] = Decode((4, words([6, 21, 4, 5], [7, 38, 8, 9], size=4)))
    plan(compressing, 4, [6, 7])
    assert compressing.sink.of("state_access", "row", "ring_rows")[:2] == [(1, [5]), (2, [6])]
