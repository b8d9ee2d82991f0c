"""The end of a request's hold: finish, abort, retract. The release comes before the frees that it makes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.journal import SETTLE
from speckv_debug.collectors.sglang.requests import allocated_of, committed_of, owned_of, row_of
from speckv_debug.collectors.sglang.scene import Scene


class ReleaseHooks:
    """`release_kv_cache` and what leads to it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield targets.RELEASE, self.release
        yield targets.RELEASE_TAIL, self.release_tail
        yield targets.RETRACT, self.retract

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def release(self, call: Call) -> Steps:
        """release_kv_cache(req, tree_cache, …)."""
        req = call["req"]
        if row_of(req) is None:
            yield
            return
        kind, activity = self._kind(req), self._scene.activity
        with self._scene.journal.during(SETTLE), activity.working_on(self._scene.rows.identity(req)):
            self._announce(req, kind)
            with activity.freeing(kind if has_tail_function() else "overshoot") as frame:
                frame.kind = kind
                yield

    def _announce(self, req: Any, kind: str) -> None:
        """The boundary, and before it the length that is kept where it is shorter than what was committed."""
        committed, allocated, owned = committed_of(req), allocated_of(req), owned_of(req)
        who, journal = self._scene.rows.identity(req).columns(), self._scene.journal
        if owned < committed:
            cut = (
                "max_len"
                if type(getattr(req, "finished_reason", None)).__name__ == "FINISH_LENGTH"
                else "stop"
            )
            lengths = {"committed": owned, "allocated": allocated, "cause": "finish", "cut": cut}
            journal.emit("lengths", pool="full", **who, **lengths)
        size = self._scene.engine.page_size
        boundary = {"free_start": -(-owned // size) * size, "page_size": size}
        journal.emit("release", **who, kind=kind, committed=owned, allocated=allocated, **boundary)

    def _kind(self, req: Any) -> str:
        if self._scene.activity.retracting:
            return "retract"
        return "abort" if type(getattr(req, "finished_reason", None)).__name__ == "FINISH_ABORT" else "finish"

    def release_tail(self, call: Call) -> Steps:
        """_release_overallocated_kv_indices(req, start_p, end_p, tree_cache); inline in release_kv_cache before 0.5.16."""
        with self._scene.activity.freeing("overshoot"):
            yield

    def retract(self, call: Call) -> Steps:
        """release_req(req=…): then the request waits again, and what became evictable may be evicted."""
        activity = self._scene.activity
        before, activity.retracting = activity.retracting, True
        try:
            yield
        finally:
            activity.retracting = before


def has_tail_function() -> bool:
    """Whether the tail is freed by a function of its own (0.5.16 and later)."""
    return hasattr(sys.modules.get(targets.COMMON), "_release_overallocated_kv_indices")
