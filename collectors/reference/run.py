"""One run of the engine from settings to outcome, with a fault if one is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from speckv_debug import __version__
from speckv_debug.collectors.reference import indexer
from speckv_debug.collectors.reference.compression import C4, C4_RING, C128, C128_RING
from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.engine import SESSION_ROWS, Engine
from speckv_debug.collectors.reference.faults.catalogue import Fault
from speckv_debug.collectors.reference.faults.planting import plant
from speckv_debug.collectors.reference.faults.shot import Shot
from speckv_debug.collectors.reference.observe import Emitter
from speckv_debug.collectors.reference.pool import COMPONENTS
from speckv_debug.collectors.reference.releasing import Witness
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.workload import Job

TABLES = (
    "accept",
    "move",
    "compact",
    "forward",
    "alloc",
    "free",
    "free_group",
    "table_write",
    "row_alloc",
    "row_free",
    "lengths",
    "reserve",
    "cache",
    "release",
    "pool_stat",
    "swa_map",
    "page_ref",
    "state_access",
    "state_clear",
    "state_commit",
)
"""All that the engine can say is recorded."""
RINGS = {"c4_ring_size": C4_RING, "c128_ring_size": C128_RING, "online_c128": False}
"""Settings of an engine with compressors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An engine and what became of it.

    Attributes:
        engine: With its pools and tables as the run left them.
        shot: When the planted fault first did wrong; None without a fault.
    """

    engine: Engine
    shot: Shot | None

    @property
    def requests(self) -> Mapping[str, Request]:
        """By id, in order of arrival."""
        return self.engine.requests


def start(
    config: EngineConfig,
    emitter: Emitter | None = None,
    *,
    fault: Fault | None = None,
    witness: Witness | None = None,
) -> Outcome:
    """Build an engine that has served nobody; a fault's own settings (`Fault.setup`) are the caller's to apply."""
    engine = Engine(config, emitter)
    engine.releasing.witness = witness
    return Outcome(engine=engine, shot=plant(engine, fault) if fault else None)


def run(
    config: EngineConfig,
    jobs: Iterable[Job],
    emitter: Emitter | None = None,
    *,
    fault: Fault | None = None,
    witness: Witness | None = None,
) -> Outcome:
    """Build an engine and serve `jobs`, see `start`."""
    outcome = start(config, emitter, fault=fault, witness=witness)
    outcome.engine.run(jobs)
    return outcome


def process_of(config: EngineConfig) -> dict[str, Any]:
    """What the engine says of itself in process.json."""
    pool = {
        "slots": config.slots,
        "page_size": config.page_size,
        "reserved_slots": config.page_size,
        "layers": config.shape.layers,
        "components": list(COMPONENTS),
        "owner": "page",
    }
    return {
        "engine": "reference",
        "engine_version": __version__,
        "adapter": "reference",
        "rank": {"tp": 0, "pp": 0, "dp": 0},
        "from_start": True,
        "tables": list(TABLES),
        "pools": [
            {"name": "full", "kind": "full", "namespace": "target"} | pool,
            {"name": "draft", "kind": "draft", "namespace": "draft", "allocated_by": "full"} | pool,
            *([{"name": "swa", "kind": "swa", "namespace": "window"} | pool] if config.window else []),
            *(_state_pools(config) if config.compressed else []),
        ],
        "settings": _settings(config),
    }


def _state_pools(config: EngineConfig) -> list[dict[str, Any]]:
    """Compressed KV and states. C4 entries lie by full slots, so that nobody grants them; rings belong to rows or pages."""
    rows = config.max_running + SESSION_ROWS
    paged = config.c4_state == "page"
    c4, c128 = {"kind": "c4", "namespace": "c4"}, {"kind": "c128", "namespace": "c128"}
    entries = {"layers": 1, "components": ["entry"]}
    states = {"layers": 1, "page_size": 1, "reserved_slots": 0, "components": ["state"]}
    c4_page = config.page_size // C4.ratio
    pools = [
        {"name": "c4", "slots": config.slots // C4.ratio, "page_size": c4_page, "owner": "page"}
        | c4
        | entries,
        {
            "name": "c128",
            "slots": (config.slots // config.tree_page + rows + 1) * config.c128_page,
            "page_size": config.c128_page,
            "reserved_slots": config.c128_page,
            "owner": "sidecar",
        }
        | c128
        | entries,
        {
            "name": C4.state,
            "kind": "c4_state",
            "namespace": C4.state,
            "slots": C4_RING * ((config.slots + config.page_size) // config.page_size if paged else rows + 1),
            "owner": config.c4_state,
        }
        | states,
        {
            "name": C128.state,
            "kind": "c128_state",
            "namespace": C128.state,
            "slots": C128_RING * (rows + 1),
            "owner": "request",
        }
        | states,
    ]
    if config.indexed:
        keys: dict[str, Any] = {
            "name": indexer.POOL,
            "kind": "indexer",
            "namespace": indexer.POOL,
            "components": [indexer.COMPONENT],
        }
        sizes = {"slots": config.slots, "page_size": config.page_size, "reserved_slots": config.page_size}
        pools.append(keys | sizes | {"allocated_by": "full", "owner": "page", "layers": 1})
    mamba = {"name": "mamba", "kind": "mamba", "namespace": "mamba", "slots": rows + 1, "owner": "request"}
    return [*pools, mamba | states] if config.recurrent else pools


def _settings(config: EngineConfig) -> dict[str, Any]:
    windowed = {
        "sliding_window": config.window,
        "swa_eviction_interval": config.eviction_interval,
        "swa_retain_floor": False,
        "unified_memory": False,
    }
    return {
        **(windowed if config.window else {}),
        **(RINGS if config.compressed else {}),
        "algorithm": config.drafting.upper(),
        "topk": config.topk,
        "num_steps": config.num_steps if config.drafting == "eagle" else 1,
        "num_draft_tokens": config.num_draft_tokens,
        "num_non_draft": 1,
        "accept_index_rows": "flat",
        "overlap": config.overlap,
        "row_width": config.row_width,
        "draft_token_offset": 1,
        "context_len": config.context_len,
        "tp_size": 1,
        "pp_size": 1,
        "dp_size": 1,
        "request_rows": config.max_running + SESSION_ROWS,
        "seed": config.seed,
    }
