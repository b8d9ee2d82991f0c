"""The mover's pairs, as they reach the copy."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.sglang import describe
from speckv_debug.collectors.sglang.moves import MoveHooks
from tests.unit.collectors.sglang.entering import enter


def loc(*slots):
    return torch.tensor(slots)


def test_a_move_is_one_event_with_its_lists_and_its_caller(toy):
    toy.install(MoveHooks)
    with toy.scene.activity.moving("accept"):
        toy.engine.target_pool.move_kv_cache(loc(42, 43, 0), loc(42, 45, 0))
    (row,) = toy.sink.of("move")
    assert (row["src"], row["tgt"], row["caller"]) == ([42, 45, 0], [42, 43, 0], "accept")
    assert (row["pool"], row["components"], row["target_source"]) == ("full", ["k", "v"], "table")


def test_what_counts_is_what_reaches_the_copy(toy):
    pool_class = type(toy.engine.target_pool)
    move = pool_class.move_kv_cache
    pool_class.move_kv_cache = lambda self, tgt_loc, src_loc: move(self, src_loc, tgt_loc)
    toy.install(MoveHooks)
    toy.engine.target_pool.move_kv_cache(loc(1), loc(9))
    assert toy.sink.of("move", "src", "tgt") == [([1], [9])]


def test_a_call_that_copies_nothing_is_no_move(toy):
    def stopped(self, tgt_loc, src_loc):
        """Someone put this in the mover's place."""

    type(toy.engine.target_pool).move_kv_cache = stopped
    toy.install(MoveHooks)
    toy.engine.target_pool.move_kv_cache(loc(1), loc(9))
    assert toy.sink.of("move") == []
    assert "copied nothing" in toy.sink.of("note")[0]["text"]


def windowed(toy, left_behind=False):
    """SGLang's class of two pools in one: its move is two moves, the second with translated slots unless it is left out."""
    plain = type(toy.engine.target_pool)

    class SWAKVPool:
        def __init__(self):
            self.full_kv_pool, self.swa_kv_pool = plain(), plain()

        def move_kv_cache(self, tgt_loc, src_loc):
            self.full_kv_pool.move_kv_cache(tgt_loc, src_loc)
            if not left_behind:
                self.swa_kv_pool.move_kv_cache(tgt_loc + 100, src_loc + 100)

    return SWAKVPool


def test_of_two_pools_in_one_the_full_one_counts(toy):
    """SWAKVPool moves in both; the peers' slots are no slots of the full pool."""
    plain, SWAKVPool = type(toy.engine.target_pool), windowed(toy)
    draft, pool = plain(), SWAKVPool()
    toy.engine.target_pool = pool
    toy.engine._pool_names = {id(pool): "full", id(draft): "draft"}
    toy.engine.draft_runners = (SimpleNamespace(token_to_kv_pool=draft),)
    toy.install(MoveHooks)
    pool.move_kv_cache(loc(1), loc(9))
    draft.move_kv_cache(loc(2), loc(3))
    assert toy.sink.of("move", "pool", "src", "tgt") == [("full", [9], [1]), ("draft", [3], [2])]
    assert toy.failures == []


@pytest.mark.parametrize("left_behind", [False, True])
def test_peers_in_the_window_move_by_a_call_of_their_own(toy, left_behind):
    """`SWAKVPool.move_kv_cache` is two moves, the second with translated slots; where it is not made, the event is missing."""
    plain, SWAKVPool = type(toy.engine.target_pool), windowed(toy, left_behind)
    draft, pool, allocator = plain(), SWAKVPool(), toy.engine.allocator
    toy.engine.target_pool = pool
    toy.engine._pool_names = {id(pool): "full", id(draft): "draft"}
    toy.engine.draft_runners = (SimpleNamespace(token_to_kv_pool=draft),)
    allocator.swa_attn_allocator, allocator.full_attn_allocator = object(), object()
    allocator.full_to_swa_index_mapping = torch.zeros(17, dtype=torch.int64)
    toy.install(MoveHooks)
    with toy.scene.activity.moving("accept"):
        pool.move_kv_cache(loc(1), loc(9))
    draft.move_kv_cache(loc(2), loc(3))
    pool.swa_kv_pool.move_kv_cache(loc(4), loc(5))
    told = [("swa", "accept", [109], [101], ["k", "v"]), ("full", "accept", [9], [1], ["k", "v"])]
    assert (
        toy.sink.of("move", "pool", "caller", "src", "tgt", "components")[:2]
        == told[left_behind:] + [("draft", "other", [3], [2], ["k", "v"])] * left_behind
    )
    assert [row["pool"] for row in toy.sink.of("move")][-1] == "draft" and toy.failures == []


@pytest.mark.parametrize("left_behind", [False, True])
def test_the_keys_of_an_indexer_are_a_component_of_their_own(toy, left_behind):
    """`DSATokenToKVPool` moves them behind keys and values; where it does not, the event is missing."""
    plain = type(toy.engine.target_pool)
    keys = type("IndexKeyCache", (), {"move": lambda self, tgt_loc, src_loc: None})()

    class DSATokenToKVPool(plain):
        index_key_cache = keys

        def move_kv_cache(self, tgt_loc, src_loc):
            super().move_kv_cache(tgt_loc, src_loc)
            if not left_behind:
                self.index_key_cache.move(tgt_loc, src_loc)

    pool = DSATokenToKVPool()
    toy.engine.target_pool, toy.engine._pool_names = pool, {id(pool): "full"}
    toy.install(MoveHooks)
    pool.move_kv_cache(loc(1), loc(9))
    keys.move(loc(2), loc(3))
    moved = [(["index_k"], [9], [1]), (["k", "v"], [9], [1])]
    assert toy.sink.of("move", "components", "src", "tgt") == moved[left_behind:]
    assert describe._content(pool)["components"] == ["k", "v", "index_k"]
    assert toy.failures == []


def test_an_empty_list_is_a_call_all_the_same(toy):
    toy.install(MoveHooks)
    toy.engine.target_pool.move_kv_cache(loc(), loc())
    assert toy.sink.of("move", "src") == [([],)]


def test_another_pool_of_the_class_is_not_ours(toy):
    toy.install(MoveHooks)
    type(toy.engine.target_pool)().move_kv_cache(loc(1), loc(2))
    assert toy.sink.rows == []


@pytest.mark.parametrize("level", [2, 3])
def test_compaction_of_values_and_of_rows(toy, level):
    hooks = MoveHooks(replace(toy.scene, level=level))
    for before, after in ((loc(5, 6), loc(6, 6)), (torch.ones(2, 4), torch.ones(2, 4))):
        enter(hooks, "compact", x=before)(after)
    first, *more = toy.sink.of("compact")
    assert (first["tensor"], first["before"], first["after"]) == ("predict", [5, 6], [6, 6])
    if level < 3:
        assert not more
        return
    (second,) = more
    assert second["tensor"] == "hidden_states"
    assert second["before"] == second["after"]
    assert len(set(second["before"])) == 1
