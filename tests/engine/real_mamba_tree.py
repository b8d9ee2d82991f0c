"""SGLang's prefix tree with recurrent states, on the CPU: which slots of state it keeps, serves and gives up, and what is recorded.

    python tests/engine/real_mamba_tree.py DIR [FAULT]

FAULT is `freed-twice`, `stale-state` or `other-node`. DIR is the folder that holds the package `sglang`. Tree, row pool and both allocators are SGLang's own; the states themselves
are a stand-in that notes which slot is copied to which.
"""

from __future__ import annotations

import json
import sys
from array import array
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import building
from recorded import Events

ROWS, SLOTS, STATES = 4, 32, 8
PROMPT = list(range(100, 106))
SHORTER = 3
"""Tokens of the prompt behind which a fault keeps a state, too."""


def main() -> None:
    """Boot, hook, live, print."""
    building.boot(sys.argv[1], 1, "triton")
    import torch
    from sglang.srt.mem_cache.allocator import TokenToKVPoolAllocator
    from sglang.srt.mem_cache.base_prefix_cache import EvictParams

    fault = sys.argv[2] if len(sys.argv) > 2 else ""
    allocator = TokenToKVPoolAllocator(SLOTS, torch.float32, "cpu", None, False)
    table = _table()
    tree, states = _tree(allocator, table), table.mamba_allocator
    stale: list[Any] = []
    if fault in ("stale-state", "other-node"):
        _serve(type(tree), stale)
    events = Events(allocator)
    with events.recording("EAGLE", table=table, tree=tree):
        first, again = states.alloc(1), states.alloc(1)
        taken = _insert(tree, allocator.alloc(len(PROMPT)), first)
        known = _insert(tree, allocator.alloc(len(PROMPT)), again)
        states.free(again)
        if fault == "other-node":
            stale.append(states.alloc(1))
            _insert(tree, allocator.alloc(SHORTER), stale[0], SHORTER)
        hit = _match(tree, "b")
        tree.evict(EvictParams(num_tokens=0, mamba_num=1))
        stale.append(first)
        missed = _match(tree, "c")
        if fault == "freed-twice":
            states.free(first)
    told = {"taken": taken, "known": known, "first": first.tolist(), "hit": hit, "missed": missed}
    print(json.dumps({"events": events.rows, "failures": events.failures, **told}))


def _serve(cls: Any, stale: list[Any]) -> None:
    """Let a match hand out a state that the tree has given up."""
    match = cls.match_prefix

    def match_prefix(self: Any, params: Any) -> Any:
        result = match(self, params)
        if stale:
            (params.req.kv or params.req).mamba_cow_src_index = stale[0]
        return result

    cls.match_prefix = match_prefix


def _insert(tree: Any, slots: Any, state: Any, length: int | None = None) -> bool:
    """Whether the tree had a state there already."""
    from sglang.srt.mem_cache.base_prefix_cache import InsertParams

    params = InsertParams(key=_key(length), value=slots, mamba_value=state.clone())
    return bool(tree.insert(params).mamba_exist)


def _match(tree: Any, rid: str) -> list[int] | None:
    """The state that a request of the same prompt starts from."""
    from sglang.srt.mem_cache.base_prefix_cache import MatchPrefixParams

    req = _request(rid)
    tree.match_prefix(MatchPrefixParams(key=_key(), cow_mamba=True, req=req))
    source = getattr(getattr(req, "kv", None) or req, "mamba_cow_src_index", None)
    return None if source is None else source.tolist()


def _key(length: int | None = None) -> Any:
    from sglang.srt.mem_cache.radix_cache import RadixKey

    try:
        return RadixKey(array("q", PROMPT[:length]), None)
    except TypeError:
        return RadixKey(PROMPT[:length], None)


def _request(rid: str) -> Any:
    state = {
        "mamba_pool_idx": None,
        "mamba_cow_src_index": None,
        "mamba_needs_clear": True,
        "req_pool_idx": None,
    }
    try:
        from sglang.srt.managers.schedule_batch import ReqKvInfo

        kv = ReqKvInfo(kv_allocated_len=0, kv_committed_len=0)
    except (ImportError, TypeError):
        kv = None
    return SimpleNamespace(rid=rid, kv=kv, session=None, **state)


def _table() -> Any:
    import torch
    from sglang.srt.mem_cache.allocator.mamba import MambaSlotAllocator
    from sglang.srt.mem_cache.memory_pool import HybridReqToTokenPool, ReqToTokenPool

    table = object.__new__(HybridReqToTokenPool)
    ReqToTokenPool.__init__(table, ROWS, 64, "cpu", False)
    table.mamba_allocator = MambaSlotAllocator(size=STATES, device="cpu")
    table.mamba_ckpt_pool = None
    table.mamba_pool = SimpleNamespace(
        size=STATES, copy_from=lambda source, target: None, replayssm_write_pos=None
    )
    del torch
    return table


def _configure() -> None:
    """Answer what the trees ask of a server that is not there."""
    mamba = SimpleNamespace(mamba_max_states_per_path=-1, enable_mamba_extra_buffer_lazy=False)
    asked = SimpleNamespace(mamba=mamba, mamba_cache_chunk_size=1, mamba_track_interval=1)
    answers = dict.fromkeys(("get_exec", "get_server_args", "get_global_server_args"), lambda: asked)
    answers |= {"mamba_cache_chunk_size": lambda: 1, "mamba_checkpoint_grid": lambda page: 1}
    for name, module in [*sys.modules.items()]:
        for function in answers.keys() & vars(module).keys() if name.startswith("sglang.srt") else ():
            setattr(module, function, answers[function])


def _tree(allocator: Any, table: Any) -> Any:
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams

    params = CacheInitParams(
        disable=False, req_to_token_pool=table, token_to_kv_pool_allocator=allocator, page_size=1
    )
    try:
        from sglang.srt.mem_cache.mamba_radix_cache import MambaRadixCache as Tree
    except ImportError:
        from sglang.srt.mem_cache.unified_cache.components import ComponentType
        from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache as Tree

        params.tree_components = (ComponentType.FULL, ComponentType.MAMBA)
    _configure()
    return Tree(params)


if __name__ == "__main__":
    main()
