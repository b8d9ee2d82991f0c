"""What process.json says of a scheduler process: release, rank, pools, settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

from speckv_debug.collectors.sglang.engine import EAGLE_FAMILY, Engine
from speckv_debug.collectors.sglang.families import UNO
from speckv_debug.collectors.sglang.references import counted_slots
from speckv_debug.collectors.sglang.rings import (
    c4_state_owner,
    c4_state_pool,
    c128_state_pool,
    clears_drafts,
    is_online,
    ring_rows,
)
from speckv_debug.collectors.sglang.targets import SCHEDULE_BATCH

INDEX = "index_k"
"""The component of a token that its indexer reads."""
SCALES = ("k_scale_buffer", "native_k_scale_buffer", "kv_scale_buffer")
RANKS = {"tp": "tp_rank", "pp": "pp_rank", "dp": "dp_rank"}


def release() -> str | None:
    """The SGLang release that is loaded."""
    module = sys.modules.get("sglang")
    loaded = getattr(module, "__version__", None)
    if isinstance(loaded, str) and loaded[:1].isdigit() and not loaded.startswith("0.0.0"):
        return loaded
    return _release_beside(module) or _installed()


def _release_beside(module: Any) -> str | None:
    """The release that the dist-info beside an unpacked wheel names."""
    path = getattr(module, "__file__", None)
    if path is None:
        return None
    found = metadata.distributions(name="sglang", path=[os.path.dirname(os.path.dirname(path))])
    return next((distribution.version for distribution in found), None)


def _installed() -> str | None:
    try:
        return metadata.version("sglang")
    except metadata.PackageNotFoundError:
        return None


def ranks(arguments: Mapping[str, Any]) -> dict[str, int | None]:
    """tp, pp and dp rank: from the arguments of the scheduler's constructor (0.5.12 to 0.5.20) or the
    process's published context (0.5.21 and later)."""
    context = _parallel_context()
    return {axis: _rank(arguments, context, name) for axis, name in RANKS.items()}


def _rank(arguments: Mapping[str, Any], context: Any, name: str) -> int | None:
    value = arguments[name] if arguments.get(name) is not None else getattr(context, name, None)
    if value is None and name == "dp_rank":
        value = os.environ.get("SGLANG_DP_RANK", "0")
    return None if value is None else int(value)


def _parallel_context() -> Any:
    context = sys.modules.get("sglang.srt.runtime_context")
    try:
        return context.get_parallel() if context is not None else None
    except Exception:  # noqa: BLE001 (not published yet, or this release has no such function)
        return None


def pools(engine: Engine) -> tuple[dict[str, Any], ...]:
    """Entries of `pools`: the target pool, and the draft pool that shares its slot ids."""
    shared = {"slots": engine.slots, "page_size": engine.page_size, "reserved_slots": engine.reserved_slots}
    found = [
        {"name": "full", "kind": "full", **shared, "namespace": "target", **_content(engine.target_pool)}
    ]
    if engine.has_window:
        content = _content(getattr(engine.target_pool, "swa_kv_pool", None))
        found.append(
            {
                "name": "swa",
                "kind": "swa",
                **shared,
                "slots": engine.window_slots,
                "namespace": "swa",
                **content,
            }
        )
    for pool in engine.draft_pools():
        entry = {"name": "draft", "kind": "draft", **shared, "namespace": "draft", "allocated_by": "full"}
        found.append({**entry, **_content(pool)})
    return (*({**entry, "owner": "page"} for entry in found), *beside(engine))


def beside(engine: Engine) -> Iterator[dict[str, Any]]:
    """C128 KV whose pages sidecar rows hold; rings of its compressors and recurrent states, which requests hold."""
    if engine.counts_references:
        pages = engine.allocator.c128_attn_allocator
        size = int(pages.page_size)
        slots = counted_slots(pages)
        entry = {"name": "c128", "kind": "c128", "slots": slots, "page_size": size, "reserved_slots": size}
        yield {**entry, "namespace": "c128", "owner": "sidecar"}
    if engine.has_recurrent_state:
        entry = {"name": "mamba", "kind": "mamba", "page_size": 1, "reserved_slots": 1}
        size = int(engine.table.mamba_pool.size)
        yield {**entry, "slots": size, "namespace": "mamba", "owner": "request"}
    pool = engine.target_pool
    owners = {"c128_state": "request", "c4_state": c4_state_owner(pool)}
    for kind, state in (("c128_state", c128_state_pool(pool)), ("c4_state", c4_state_pool(pool))):
        if state is not None:
            entry = {"name": kind, "kind": kind, "page_size": 1, "reserved_slots": 0}
            yield {**entry, "slots": ring_rows(state), "namespace": kind, "owner": owners[kind]}


def components_of(pool: Any) -> list[str] | None:
    """What a token consists of in a pool, an indexer's keys apart; None if unknown, as where scales move with keys and values.

    Of a pool with a window's beside it (`SWAKVPool`) what its full side holds: the window's is a pool of its own.

    Scales have buffers of their own in quantized pools (FP4, MXFP8 from 0.5.16 on, native NVFP4 from 0.5.21 on), and a pool
    moves them inside: whether they all came along no function shows.
    """
    pool = getattr(pool, "full_kv_pool", pool)
    if any(getattr(pool, name, None) is not None for name in SCALES):
        return None
    if hasattr(pool, "k_buffer") and hasattr(pool, "v_buffer"):
        return ["k", "v"]
    return ["kv"] if hasattr(pool, "kv_buffer") else None


def index_keys(pool: Any) -> Any:
    """What keeps the keys of a pool's indexer and moves them on its own (0.5.18 and later), None where nothing does."""
    found = getattr(getattr(pool, "full_kv_pool", pool), "index_key_cache", None)
    return found if hasattr(found, "move") else None


def _content(pool: Any) -> dict[str, Any]:
    layers = getattr(pool, "layer_num", None)
    found = components_of(pool)
    apart = [INDEX] if found and index_keys(pool) is not None else []
    return {"layers": None if layers is None else int(layers), "components": found and [*found, *apart]}


def settings(engine: Engine) -> dict[str, Any]:
    """Entries of `settings`; what this release doesn't say is left out."""
    found = {
        "overlap": engine.overlaps,
        "row_width": engine.row_width,
        "context_len": getattr(engine.target_runner.model_config, "context_len", None),
        **_rings(engine),
        **(_window(engine) if engine.has_window else {}),
        "unified_memory": False if _has_pools_apart(engine) else None,
        "prefill_aware_swa": bool(getattr(engine.target_runner, "prefill_aware_swa", False)) or None,
        "encoder_decoder": engine.has_encoder or None,
        "strip_thinking_cache": bool(engine.argument("strip_thinking_cache", False)) or None,
        **{f"{axis}_size": engine.argument(f"{axis}_size") for axis in ("tp", "pp", "dp", "dcp")},
        **(_speculation(engine) if engine.algorithm else {}),
    }
    return {name: value for name, value in found.items() if value is not None}


def _rings(engine: Engine) -> dict[str, Any]:
    """How states of compressors are kept, and whether a verify's clear does anything in this release."""
    c4 = c4_state_pool(engine.target_pool)
    of_c4 = {} if c4 is None else {"c4_ring_size": int(c4.ring_size)}
    c128 = c128_state_pool(engine.target_pool)
    if c128 is None:
        return of_c4
    cleared = clears_drafts(type(engine.target_pool))
    done = None if cleared else "not performed"
    sizes = of_c4 | {"c128_ring_size": int(c128.ring_size)}
    return sizes | {"online_c128": is_online() or None, "c128_draft_clear": done}


def _has_pools_apart(engine: Engine) -> bool:
    """Whether the pools of all layers and of those with a window surely have memory of their own."""
    return engine.has_window and not engine.shares_memory and not engine.has_recurrent_state


def _window(engine: Engine) -> dict[str, Any]:
    """The sliding window, and how many positions may wait for an eviction: told where tokens are counted for it (0.5.21 and
    later), before it was a matter of forwards."""
    sizes = (getattr(owner, "sliding_window_size", None) for owner in (engine.target_runner, engine.tree))
    window = next((int(size) for size in sizes if size), None)
    batch = getattr(sys.modules.get(SCHEDULE_BATCH), "ScheduleBatch", None)
    switches = getattr(sys.modules.get("sglang.srt.environ"), "envs", None)
    interval: Any = getattr(switches, "SGLANG_SWA_EVICTION_INTERVAL", None)
    by_forwards: Any = getattr(switches, "SGLANG_AMD_USE_FLYDSL_MEGA_MOE", None)
    counts = hasattr(batch, "_swa_eviction_trigger") and not (by_forwards is not None and by_forwards.get())
    kept = max(0, int(getattr(engine.tree, "swa_retain_window", None) or 0) - (window or 0))
    told = max(1, int(interval.get())) + kept if counts and interval is not None else None
    floor = _keeps_checkpoints(engine.tree)
    return {"sliding_window": window, "swa_eviction_interval": told, "swa_retain_floor": floor}


def _keeps_checkpoints(tree: Any) -> bool | None:
    """Whether the tree keeps the window behind a checkpoint of recurrent state (0.5.18 and later), None if it can't say."""
    if not hasattr(tree, "swa_retain_floor"):
        return None
    recurrent = getattr(tree, "is_mamba_enabled", None)
    return bool(recurrent) if recurrent is not None else None


def _speculation(engine: Engine) -> dict[str, Any]:
    algorithm = engine.algorithm
    return {
        "algorithm": algorithm,
        "topk": engine.argument("speculative_eagle_topk"),
        "num_steps": engine.argument("speculative_num_steps"),
        "num_draft_tokens": engine.argument("speculative_num_draft_tokens"),
        "num_non_draft": 2 if algorithm == UNO else 1,
        "accept_index_rows": "flat",
        "draft_token_offset": _draft_offset(algorithm),
        "rejection_sampling": bool(engine.argument("speculative_use_rejection_sampling", False)),
        "simulate_acc_len": _simulated_length(),
        "frees_on_reject": engine.frees_each_round or None,
    }


def _draft_offset(algorithm: str | None) -> int | None:
    """How many tokens a draft pool is ahead of the target's; None where drafts have no tokens in a pool of their own.

    STANDALONE has the prefill and the draft extend of EAGLE, which store each position's next token
    (`EagleDraftWorker._draft_extend_for_prefill`, 0.5.13 to 0.5.23).
    """
    return 1 if algorithm in (*EAGLE_FAMILY, "STANDALONE") else None


def _simulated_length() -> float | None:
    module = sys.modules.get("sglang.srt.speculative.spec_utils")
    length = getattr(module, "SIMULATE_ACC_LEN", None)
    return float(length) if length and float(length) > 0 else None
