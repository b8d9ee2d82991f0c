"""Slots of recurrent state: which are granted and freed, which of them the prefix tree keeps, and which a request starts from.

The tree keeps the state behind the last token of some of its nodes (`mamba_value`). A prefix hit names the one that is copied
into the request's own slot (`mamba_cow_src_index`). Checkpoints in int8 lie in a pool of their own and are not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang.engine import Engine
from speckv_debug.collectors.sglang.requests import NOBODY
from speckv_debug.collectors.sglang.scene import Scene, tensor_like
from speckv_debug.collectors.staging import stage

POOL = "mamba"
SLOTS = ("mamba_alloc", "mamba_free")


def takes_of(cls: type) -> tuple[str, ...]:
    """The method by which slots leave the free list: not the one that hands on what a batch took before."""
    return ("_do_alloc",) if hasattr(cls, "_do_alloc") else ("alloc",)


def state_allocator(engine: Engine) -> Any:
    """What grants slots of recurrent state (0.5.12: the pool itself), None where none is known.

    In unified memory what stands behind the slots' allocator, which hands on what a batch took before; with a window, too,
    it is of one class with the full side's, whose frees are seen instead.
    """
    if not engine.has_recurrent_state or (engine.virtual is not None and engine.full_side is not None):
        return None
    found: Any = getattr(engine.table, "mamba_allocator", None) or engine.table.mamba_pool
    found = getattr(found, "_multi_ended_allocator", found)
    return found if hasattr(found, "free") and hasattr(found, takes_of(type(found))[0]) else None


class RecurrentSlotHooks:
    """Grants and frees; nothing for a model without recurrent state."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._allocator = state_allocator(scene.engine)

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield from ()

    def methods(self) -> Iterator[Methods]:
        if self._allocator is not None:
            cls = type(self._allocator)
            yield Methods("mamba_alloc", cls, takes_of(cls), self.alloc)
            yield Methods("mamba_free", cls, ("free",), self.free, ("free_index",))

    def alloc(self, call: Call) -> Steps:
        """alloc(need_size): whose the slots become, their callers know."""
        granted = yield
        if call["self"] is self._allocator and granted is not None and granted.numel():
            columns = {"slots": stage(granted), "reason": self._scene.activity.grant.reason, "granted": True}
            self._scene.journal.emit("alloc", pool=POOL, **NOBODY.columns(), **columns)

    def free(self, call: Call) -> Steps:
        """free(free_index): of a request that ends, or of what the tree gives up."""
        slots, activity, journal = call["free_index"], self._scene.activity, self._scene.journal
        if call["self"] is self._allocator and slots.numel():
            named = stage(slots)
            reason = activity.freeings[-1].reason if activity.freeings else "other"
            if reason == "evict":
                journal.emit("cache", action="evict", pool=POOL, slots=named)
            whose = NOBODY if reason == "evict" else activity.request
            journal.emit("free", pool=POOL, **whose.columns(), slots=named, reason=reason, form="index")
        yield


def tree_keeps_states(engine: Engine) -> bool:
    """Whether nodes of the tree keep slots of the requests' own pool of recurrent state."""
    return engine.has_recurrent_state and getattr(engine.table, "mamba_ckpt_pool", None) is None


def kept_state(params: Any, result: Any) -> Any:
    """The slot of recurrent state that an insert gave to a node, [1] on the device; None if it gave none."""
    given: Any = getattr(params, "mamba_value", None)
    if not tensor_like(given) or not given.numel() or getattr(result, "mamba_exist", False):
        return None
    return given.reshape(-1)


def copied_state(params: Any) -> Any:
    """The tree's slot that the request of a match copies its state from, None if it copies none."""
    request = getattr(params, "req", None)
    source = getattr(getattr(request, "kv", None) or request, "mamba_cow_src_index", None)
    return source if source is not None else getattr(request, "mamba_cow_src_index", None)
