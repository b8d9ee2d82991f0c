"""SGLang's pools in unified memory, on the CPU: what grants and frees of their virtual slots record.

    python tests/engine/real_unified.py DIR PAGE

DIR is the folder that holds the package `sglang`. Pools and allocators are those that SGLang's own factories build: full
attention beside recurrent states, and full attention beside a sliding window, in one buffer of bytes each.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import building
from recorded import Events

FAULTS = ("none", "state-freed-twice", "slot-freed-twice")
SLOTS, STATES, ROWS, CONTEXT = 64, 6, 4, 64


def main() -> None:
    """Boot, hook, live, print."""
    page = int(sys.argv[2])
    building.boot(sys.argv[1], page, "triton")
    _configure()
    runs = {f"states {fault}": _states(page, fault) for fault in FAULTS}
    runs |= {f"window {fault}": _window(page, fault) for fault in FAULTS if "state" not in fault}
    runs["pools"] = _described(page)
    print(json.dumps(runs))


def _states(page: int, fault: str) -> dict[str, Any]:
    """Two requests with a state each, a group of states for a batch, frees in and out of a group; page by page."""
    import torch

    bundle = _with_states(page)
    allocator, table = bundle.token_to_kv_pool_allocator, bundle.req_to_token_pool
    states, events = table.mamba_allocator, Events(allocator)
    with events.recording("EAGLE", table=table, tree=SimpleNamespace()) as scene:
        first, second = _grant(allocator, page, 8), _grant(allocator, page, 4)
        own = states.alloc(1)
        states.alloc_group_begin(2)
        drawn = states.alloc(1)
        states.alloc_group_end()
        _free_all(allocator, first, second)
        states.free(torch.cat((own, drawn)))
        if fault == "state-freed-twice":
            states.free(own)
        if fault == "slot-freed-twice":
            allocator.free(second)
        last = states.alloc(2)
        _grant(allocator, page, 8)
        scene.journal.emit("forward", mode="decode", padded=False)
    found = {"own": own.tolist(), "drawn": drawn.tolist(), "last": last.tolist()}
    return {"events": events.rows, "failures": events.failures, **found, "size": int(states.size)}


def _window(page: int, fault: str) -> dict[str, Any]:
    """Slots that leave the window keep their id; then all are freed."""
    allocator = _with_window(page).token_to_kv_pool_allocator
    events = Events(allocator)
    with events.recording() as scene:
        first, second = _grant(allocator, page, 8), _grant(allocator, page, 4)
        allocator.free_swa(first[:page])
        _free_all(allocator, first, second)
        if fault == "slot-freed-twice":
            allocator.free(second)
        _grant(allocator, page, 8)
        scene.journal.emit("forward", mode="decode", padded=False)
    return {"events": events.rows, "failures": events.failures}


def _described(page: int) -> dict[str, Any]:
    """What is said of either's main pool, whether it was untouched, and which slots it can hand out in the end."""
    from speckv_debug.collectors.sglang.engine import Engine

    found = {}
    for name, build in (("states", _with_states), ("window", _with_window)):
        engine = object.__new__(Engine)
        engine.allocator = build(page).token_to_kv_pool_allocator
        ids = engine.allocator.full_attn_allocator.free_virtual_ids * page
        untouched = engine.is_untouched()
        _grant(engine.allocator, page, page)
        last = {"first": int(ids.min()), "last": int(ids.max()) + page - 1}
        told = {"slots": engine.slots, "reserved": engine.reserved_slots, "untouched": untouched}
        found[name] = told | last | {"touched": not engine.is_untouched()}
    return found


def _free_all(allocator: Any, first: Any, second: Any) -> None:
    """One in a group, one at once."""
    allocator.free_group_begin()
    allocator.free(second)
    allocator.free_group_end()
    allocator.free(first)


def _grant(allocator: Any, page: int, count: int) -> Any:
    import torch

    if page == 1:
        return allocator.alloc(count)
    none, length = torch.tensor([0]), torch.tensor([count])
    return allocator.alloc_extend(none, none, length, length, torch.tensor([-1]), count)


def _configure() -> None:
    """Answer what the pools ask of a server that is not there: no context parallelism."""
    alone = SimpleNamespace(attn_dcp_size=1, attn_dcp_rank=0)
    for name in ("allocator.unified_mamba", "allocator.unified_sub_pool", "multi_ended_allocator"):
        place = f"sglang.srt.mem_cache.{name}"
        try:
            module = importlib.import_module(place)
        except ImportError:
            continue
        module.get_parallel = lambda: alone


def _built(factory: Any, **given: Any) -> Any:
    """What a factory builds of the arguments that its release has."""
    known = inspect.signature(factory).parameters
    return factory(**{name: value for name, value in given.items() if name in known})


def _with_states(page: int) -> Any:
    import torch
    from sglang.srt.mem_cache.unified_memory_pool import init_unified_mamba_pools

    shape = SimpleNamespace(conv=((4, 4),), temporal=(2, 4, 4), conv_slice_axis=0)
    dtype = SimpleNamespace(conv=torch.float32, temporal=torch.float32)
    cache = SimpleNamespace(shape=shape, dtype=dtype, layers=[1])
    return _built(
        init_unified_mamba_pools,
        device="cpu",
        kv_cache_dtype=torch.float32,
        head_num=1,
        head_dim=8,
        page_size=page,
        start_layer=0,
        end_layer=2,
        is_draft_worker=False,
        use_mla_backend=False,
        mamba_layer_ids=[1],
        full_attention_layer_ids=[0],
        mamba2_cache_params=cache,
        model_context_len=CONTEXT,
        extra_max_context_len=4,
        max_total_num_tokens=SLOTS,
        max_mamba_cache_size=STATES,
        max_num_reqs=ROWS,
        enable_memory_saver=False,
        enable_mamba_extra_buffer=False,
        enable_mamba_extra_buffer_lazy=False,
        speculative_num_draft_tokens=None,
        disable_overlap_schedule=True,
        need_sort=False,
        lazy_compaction=True,  # without, a slot that is freed again ends the engine
    )


def _with_window(page: int) -> Any:
    import torch
    from sglang.srt.mem_cache.unified_memory_pool import init_unified_swa_pools

    return _built(
        init_unified_swa_pools,
        device="cpu",
        kv_cache_dtype=torch.float32,
        head_num=1,
        head_dim=8,
        v_head_dim=8,
        swa_head_num=1,
        swa_head_dim=8,
        swa_v_head_dim=8,
        page_size=page,
        start_layer=0,
        end_layer=2,
        swa_attention_layer_ids=[1],
        full_attention_layer_ids=[0],
        full_max_total_num_tokens=SLOTS,
        swa_max_total_num_tokens=SLOTS,
        enable_memory_saver=False,
        need_sort=False,
        lazy_compaction=True,  # without, a slot that is freed again ends the engine
    )


if __name__ == "__main__":
    main()
