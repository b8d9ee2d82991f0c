"""The prefix tree: what it takes, serves, locks and evicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang.engine import node_number, path_slots
from speckv_debug.collectors.sglang.journal import SETTLE
from speckv_debug.collectors.sglang.recurrent_slots import POOL as STATES
from speckv_debug.collectors.sglang.recurrent_slots import copied_state, kept_state, tree_keeps_states
from speckv_debug.collectors.sglang.requests import request_id
from speckv_debug.collectors.sglang.scene import Scene, tensor_like
from speckv_debug.collectors.sglang.sessions import is_lent
from speckv_debug.collectors.staging import stage


class CacheHooks:
    """The tree that the scheduler built; a release without a tree has nothing to record here."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._keeps_states = tree_keeps_states(scene.engine)

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield from ()

    def methods(self) -> Iterator[Methods]:
        cls = type(self._scene.engine.tree)
        yield Methods("insert", cls, ("insert",), self.insert, ("params",))
        yield Methods("match", cls, ("match_prefix",), self.match, ("params",))
        evict = "_evict" if hasattr(cls, "_evict") else "evict"
        yield Methods("evict", cls, (evict,), self.evict)
        yield Methods("lock", cls, ("inc_lock_ref",), self.lock, ("node",))
        yield Methods("unlock", cls, ("dec_lock_ref",), self.unlock, ("node",))
        yield Methods("reset", cls, ("reset",), self.reset)
        yield Methods("checkpoint", cls, ("checkpoint", "cache_unfinished_req"), self.checkpoint, ("req",))
        yield Methods(
            "cache_finished", cls, ("cache_finished_req",), self.cache_finished, ("req",), optional=True
        )

    def insert(self, call: Call) -> Steps:
        """insert(params): its duplicates are freed on the way, or by the caller behind it."""
        params = call["params"]
        if self._is_off(call) or params.value is None:
            yield
            return
        values, journal = stage(params.value), self._scene.journal
        with journal.hold() as held, self._scene.activity.freeing("duplicate_prefix"):
            result = yield
            start, length = int(result.prefix_len), params.value.numel()
            if start < length and not getattr(result, "rotation_tail_declined", False):
                node = node_number(getattr(result, "last_device_node", None))
                columns = {
                    "node": node,
                    "start": start,
                    "slots": values.part(start, length),
                    "key_len": length,
                }
                journal.lead(held, "cache", action="insert", **self._whose(), pool="full", **columns)
            state = kept_state(params, result) if self._keeps_states else None
            if state is not None:
                node = node_number(getattr(result, "last_device_node", None))
                columns = {"node": node, "slots": stage(state), "key_len": length}
                journal.lead(held, "cache", action="insert", **self._whose(), pool=STATES, **columns)
        self._scene.activity.inserted()

    def match(self, call: Call) -> Steps:
        """match_prefix(params): also asked by the scheduling policy, for a request that is not admitted yet."""
        params = call["params"]
        before = copied_state(params) if self._keeps_states else None
        result = yield
        if self._is_off(call) or is_lent(result.last_device_node):
            return
        request = request_id(getattr(params, "req", None)) or self._scene.activity.request.request
        served, node = self._served(result)
        columns = {"start": 0, "slots": served if served is not None else [], "pool": "full"}
        count = 0 if served is None else result_length(result)
        lengths = {"key_len": len(params.key), "served_len": count}
        self._scene.journal.emit("cache", action="match", request=request, node=node, **columns, **lengths)
        state = copied_state(params) if self._keeps_states else None
        if state is not None and state is not before:
            columns = {"slots": stage(state.reshape(-1)), "pool": STATES}
            self._scene.journal.emit(
                "cache", action="match", request=request, node=node, **columns, **lengths
            )

    def _served(self, result: Any) -> tuple[Any, int | None]:
        """Slots that a match serves; 0.5.22 and later give their number and the node."""
        node = node_number(result.last_device_node)
        slots = getattr(result, "device_indices", None)
        if not tensor_like(slots):
            count = int(result.device_prefix_len)
            path = path_slots(self._scene.engine.tree, result.last_device_node) if count else None
            slots = None if path is None else path[:count]
        return (stage(slots) if slots is not None and slots.numel() else None), node

    def evict(self, call: Call) -> Steps:
        """evict(params): each free inside ends what a node holds."""
        with self._scene.activity.freeing("evict"):
            yield

    def lock(self, call: Call) -> Steps:
        yield
        self._emit_path(call, "lock")

    def unlock(self, call: Call) -> Steps:
        self._emit_path(call, "unlock")
        yield

    def _emit_path(self, call: Call, action: str) -> None:
        """The whole path from the root is locked; the root itself holds nothing."""
        node = call.get("node", call.get("node_id"))
        slots = None if self._is_off(call) or is_lent(node) else path_slots(self._scene.engine.tree, node)
        if slots is not None:
            columns = {"node": node_number(node), "start": 0, "slots": stage(slots), "pool": "full"}
            self._scene.journal.emit("cache", action=action, **self._whose(), **columns)

    def reset(self, call: Call) -> Steps:
        yield
        self._scene.journal.emit("cache", action="reset", pool="full")

    def checkpoint(self, call: Call) -> Steps:
        """checkpoint(req, up_to) since 0.5.22, cache_unfinished_req(req) before: what it frees itself are duplicates."""
        activity, identity = self._scene.activity, self._scene.rows.identity(call["req"])
        settling = self._scene.journal.during(SETTLE)
        with settling, activity.working_on(identity), activity.freeing("duplicate_prefix"):
            yield

    def cache_finished(self, call: Call) -> Steps:
        """cache_finished_req(req, is_insert): behind an insert the first free returns duplicates, the next the tail."""
        activity = self._scene.activity
        kind = activity.freeings[-1].kind if activity.freeings else "finish"
        identity = self._scene.rows.identity(call["req"])
        with activity.working_on(identity), activity.freeing(kind, after_insert="duplicate_prefix"):
            yield

    def _whose(self) -> dict[str, Any]:
        return {"request": self._scene.activity.request.request}

    def _is_off(self, call: Call) -> bool:
        return bool(getattr(call["self"], "disable", False))


def result_length(result: Any) -> int:
    """How many slots a match serves."""
    slots: Any = getattr(result, "device_indices", None)
    return int(slots.numel()) if tensor_like(slots) else int(result.device_prefix_len)
