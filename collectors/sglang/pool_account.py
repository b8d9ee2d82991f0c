"""The engine's own account of its pools, counted as SGLang's leak check counts them (`_check_full_pool`, `_check_swa_pool`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from speckv_debug.collectors.sglang.engine import Engine
from speckv_debug.collectors.sglang.sessions import held_by_sessions

Figures = tuple[Any, Any, Any, Any, int]


class PoolAccount:
    """Available, evictable and protected slots, those of sessions, and all: host integers.

    What an allocator counts in other units than its slots is None: then the sum can't be judged.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._total, tree = engine, engine.slots, engine.tree
        observer = getattr(engine.scheduler, "pool_stats_observer", None)
        self._has_sessions = engine.sessions is not None or observer is not None
        self._available = _untold if engine.shares_memory else engine.count_free
        parts = tree.supports_swa() or _supports_mamba(tree)  # such a tree has no single size
        self._evictable: Callable[[], Any] = tree.full_evictable_size if parts else tree.evictable_size
        self._protected: Callable[[], Any] = tree.full_protected_size if parts else tree.protected_size

    def figures(self) -> Figures:
        """As they stand now."""
        session = held_by_sessions(self._engine) if self._has_sessions else 0
        return self._available(), self._evictable(), self._protected(), session, self._total


def columns(available: Any, evictable: Any, protected: Any, session: Any, total: int) -> dict[str, Any]:
    """The columns of `pool_stat`."""
    counts = {"available": available, "evictable": evictable, "protected": protected}
    whole = {name: None if count is None else int(count) for name, count in counts.items()}
    return {"pool": "full", **whole, "session": session, "total": total}


def of_window(engine: Engine) -> dict[str, Any]:
    """The columns of `pool_stat` for the pool of a sliding window; host integers."""
    allocator, tree = engine.allocator, engine.tree
    parted = tree.supports_swa()  # the tree of others has no part of it
    return {
        "pool": "swa",
        "available": int(allocator.swa_available_size()),
        "evictable": int(tree.swa_evictable_size()) if parted else 0,
        "protected": int(tree.swa_protected_size()) if parted else 0,
        "total": engine.window_slots,
    }


def _supports_mamba(tree: Any) -> bool:
    asked = getattr(tree, "supports_mamba", None)
    return bool(asked is not None and asked())


def _untold() -> None:
    """This allocator says how much may be granted now, and not which of its slots are free."""
