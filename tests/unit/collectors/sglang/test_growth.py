"""Rows that grow: reserves are said before their slots, rows are read back after the write."""

from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.sglang.growth import GrowthHooks
from speckv_debug.collectors.sglang.pages import PageHooks
from tests.unit.collectors.sglang.entering import enter


@pytest.fixture
def growing(toy):
    """Two requests that hold 5 and 8 slots, and the hooks."""
    toy.install(PageHooks)
    a, b = toy.request("a", 1), toy.request("b", 2)
    (a.kv_committed_len, a.kv_allocated_len), (b.kv_committed_len, b.kv_allocated_len) = (5, 5), (6, 8)
    return toy, GrowthHooks(toy.scene), a, b


def test_a_reserve_whose_lengths_the_engine_passes_on(growing):
    toy, hooks, a, b = growing
    outer = enter(hooks, "prepare_spec", batch=SimpleNamespace(reqs=[a, b]))
    enter(hooks, "reserve")(4)
    inner = enter(hooks, "alloc_spec", reqs=[a, b], nxt_kv_lens_cpu=torch.tensor([9, 10]))
    toy.engine.allocator.alloc(6)
    inner()
    outer()
    columns = ("request", "committed", "allocated", "reserve", "new_allocated", "page_size")
    assert toy.sink.of("reserve", *columns) == [("a", 5, 5, 4, 9, 1), ("b", 6, 8, 4, 10, 1)]
    assert toy.sink.of("alloc", "request", "slots") == [("a", [1, 2, 3, 4]), ("b", [5, 6])]
    assert [row["event"] for row in toy.sink.rows] == ["reserve", "reserve", "alloc", "alloc"]


def test_a_reserve_whose_lengths_are_set_before_the_slots_are_granted(growing):
    """As in 0.5.12 to 0.5.15."""
    toy, hooks, a, b = growing
    outer = enter(hooks, "prepare_spec", batch=SimpleNamespace(reqs=[a, b]))
    enter(hooks, "reserve")(4)
    a.kv_allocated_len, b.kv_allocated_len = 9, 10
    toy.engine.allocator.alloc(6)
    written = enter(
        hooks, "write_spec", req_pool_indices=torch.tensor([1, 2]), start_offset=torch.tensor([5, 8])
    )
    toy.engine.table.req_to_token[1, 5:9] = torch.tensor([1, 2, 3, 4])
    toy.engine.table.req_to_token[2, 8:10] = torch.tensor([5, 6])
    written()
    outer()
    assert toy.sink.of("reserve", "allocated", "new_allocated") == [(5, 9), (8, 10)]
    assert toy.sink.of("table_write", "row", "start", "slots") == [(1, 5, [1, 2, 3, 4]), (2, 8, [5, 6])]


def test_a_reserve_that_needs_no_slots_is_said_all_the_same(growing):
    toy, hooks, a, _ = growing
    steps = enter(hooks, "prepare_spec", batch=SimpleNamespace(reqs=[a]))
    steps()
    assert toy.sink.of("reserve", "allocated", "new_allocated") == [(5, 5)]


def test_a_reserve_asked_for_elsewhere_is_nobodys(growing):
    toy, hooks, *_ = growing
    enter(hooks, "reserve")(4)
    assert toy.sink.rows == []


def test_a_prefill_writes_whole_rows(growing):
    toy, hooks, *_ = growing
    written = enter(
        hooks, "write_extend", req_pool_indices_cpu=torch.tensor([1, 2]), seq_lens_cpu=torch.tensor([2, 0])
    )
    assert toy.scene.activity.rows_covered
    toy.engine.table.req_to_token[1, :2] = torch.tensor([7, 8])
    written()
    assert toy.sink.of("table_write", "row", "epoch", "start", "slots") == [(1, 1, 0, [7, 8])]


def test_a_plain_decode_writes_one_entry_behind_what_is_committed(growing):
    toy, hooks, a, b = growing
    batch = SimpleNamespace(reqs=[a, b], model_config=SimpleNamespace(is_encoder_decoder=False))
    steps = enter(hooks, "alloc_decode", batch=batch, token_per_req=1)
    toy.engine.allocator.alloc(2)
    toy.engine.table.req_to_token[1, 5], toy.engine.table.req_to_token[2, 6] = 1, 2
    steps()
    assert toy.sink.of("alloc", "request", "slots", "reason") == [("a", [1], "decode"), ("b", [2], "decode")]
    assert toy.sink.of("table_write", "row", "start", "slots") == [(1, 5, [1]), (2, 6, [2])]
