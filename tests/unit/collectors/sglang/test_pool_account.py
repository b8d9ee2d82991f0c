"""The engine's own account of its pool: what is counted, and what is left untold."""

import pytest

from speckv_debug.collectors.sglang import describe
from speckv_debug.collectors.sglang.engine import Engine
from speckv_debug.collectors.sglang.loop import LoopHooks, ResultSteps

FIGURES = ("available", "evictable", "protected", "session", "total")


def counted(toy, **more):
    """The figures that a launch would record of the toy's allocator and tree, both with more attributes."""
    for owner, attributes in more.items():
        for name, value in attributes.items():
            setattr(type(getattr(toy.engine, owner)), name, value)
    LoopHooks(toy.scene, ResultSteps()).pool_stat()
    return toy.sink.of("pool_stat", *FIGURES)[0]


def test_a_plain_pool(toy):
    assert counted(toy) == (16, 0, 0, 0, 16)


def test_pages_spread_over_ranks_are_counted_one_by_one(paged_toy):
    spread = {"shard_size": 2, "aggregate_free_size": lambda self: 60, "available_size": lambda self: 56}
    assert counted(paged_toy, allocator=spread)[0] == 60
    (pool,) = describe.pools(Engine(paged_toy.scheduler))
    assert (pool["page_size"], pool["reserved_slots"], pool["slots"]) == (4, 8, 64)


def test_a_tree_with_recurrent_states_has_no_single_size(toy):
    def no_single_size(self):
        raise NotImplementedError

    mamba = {"supports_mamba": lambda self: True, "evictable_size": no_single_size}
    mamba |= {"protected_size": no_single_size}
    sizes = {"full_evictable_size": lambda self: 3, "full_protected_size": lambda self: 2}
    assert counted(toy, tree=mamba | sizes) == (16, 3, 2, 0, 16)


@pytest.mark.parametrize("name", ["UnifiedMambaTokenToKVPoolAllocator", "HiSparseTokenToKVPoolAllocator"])
def test_what_moves_with_another_pool_is_left_untold(toy, name):
    """The point stays a settled one; its sum can't be judged."""
    type(toy.engine.allocator).__name__ = name
    assert counted(toy) == (None, 0, 0, 0, 16)
