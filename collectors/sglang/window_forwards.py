"""The same forward once more in the layers with a sliding window: a KV group of its own, with slots of its own.

Attention backends translate the slots once a forward (0.5.13 and later) and hand the result to each layer with a window, whose
`SWAKVPool.set_kv_buffer` translates nothing; a CUDA graph reads it from the same buffer. Of the draft model nothing is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from speckv_debug.collectors.sglang.levels import BRIEF
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import Derived, Load, Staged, stage
from speckv_debug.recording.blocks import Cut

PEERS = "swa_out_cache_loc"
"""What attention backends call the slots of the window's pool that a forward writes."""
GROUP = {"pool": "swa", "group": "swa"}
Make = Callable[..., dict[str, Any]]


def peers_written(scene: Scene, runner: Any) -> Any:
    """Where the window's layers of the target's last forward wrote, on the device; None if its attention backend doesn't say."""
    engine = scene.engine
    if scene.level == BRIEF or runner is not engine.target_runner:
        return None
    if (
        not engine.has_window or engine.shares_memory
    ):  # slots of unified memory are not those that kernels get
        return None
    backend = getattr(runner, "attn_backend", None)
    kept = (getattr(each, PEERS, None) for each in (getattr(backend, "forward_metadata", None), backend))
    return next((slots for slots in kept if slots is not None), None)


def record_window(scene: Scene, runner: Any, rows: int, columns: dict[str, Any]) -> None:
    """Behind a forward that was recorded with `columns`; not where its rows are ragged on the device."""
    peers, slots = peers_written(scene, runner), columns["slots"]
    if peers is not None and isinstance(slots, Cut):
        written = replace(slots, values=stage(peers[: slots.values.count]))
        scene.journal.emit_rows("forward", rows, **columns | GROUP | {"slots": written})


def tell_window(
    scene: Scene, runner: Any, make: Make, load: Load, places: Sequence[int | None], *of: Any
) -> None:
    """Behind a forward whose columns are made by `make` once its tensors have arrived.

    Args:
        of: Mode, pool, requests, rows of each, whose.
    """
    peers = peers_written(scene, runner)
    if peers is not None:
        staged, count = stage(peers), of[2]
        both = Derived(staged.resolve, lambda: staged.ready() and load.ready())
        scene.journal.defer("forward", count, both, _columns, staged, make, load, places, *of)


def _columns(peers: Staged, make: Make, *given: Any) -> dict[str, Any]:
    columns = make(*given)
    return columns | GROUP | {"slots": replace(columns["slots"], values=peers.resolve())}
