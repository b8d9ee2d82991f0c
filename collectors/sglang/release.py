"""The end of a request's hold: finish, abort, retract.

The release comes before the frees that it makes, and says where the free of the tail began. That is known only
behind it, so what happens inside is held back until then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.activity import Freeing
from speckv_debug.collectors.sglang.handoff import end_transfers
from speckv_debug.collectors.sglang.journal import SETTLE
from speckv_debug.collectors.sglang.requests import allocated_of, committed_of, row_of
from speckv_debug.collectors.sglang.scene import Scene


class ReleaseHooks:
    """`release_kv_cache` and what leads to it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._tail: Freeing | None = None

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
        activity, journal, who = self._scene.activity, self._scene.journal, self._scene.rows.identity(req)
        kind, committed, allocated = self._kind(req), committed_of(req), allocated_of(req)
        end_transfers(self._scene, who.request)
        row = {"kind": kind, "committed": committed, "allocated": allocated}
        start, outer = None, self._tail
        with journal.during(SETTLE), activity.working_on(who), journal.hold() as held:
            try:
                with activity.freeing(kind if has_tail_function() else "overshoot") as frame:
                    frame.kind, self._tail = kind, None
                    yield
                start = _start(self._tail if has_tail_function() else frame, allocated)
            finally:
                self._tail = outer
                boundary = {"free_start": start, "page_size": self._scene.engine.page_size}
                if self._is_kept(req, who.row):
                    self._leave_to_session()
                else:
                    journal.lead(held, "release", **who.columns(), **row, **boundary)

    def _leave_to_session(self) -> None:
        """A trim and a save say it, if the session's keeper is known."""
        if self._scene.engine.sessions is None:
            self._scene.withdraw("release", "a streaming session keeps the row of its turn")

    def _is_kept(self, req: Any, row: int | None) -> bool:
        """Whether a streaming session took the row over: the request has it no more, and nobody gave it back."""
        streams = getattr(getattr(req, "session", None), "streaming", False)
        kept = row is not None and row_of(req) is None and self._scene.rows.holder(row) is not None
        return bool(streams and kept)

    def _kind(self, req: Any) -> str:
        if self._scene.activity.retracting:
            return "retract"
        return "abort" if type(getattr(req, "finished_reason", None)).__name__ == "FINISH_ABORT" else "finish"

    def release_tail(self, call: Call) -> Steps:
        """_release_overallocated_kv_indices(req, start_p, end_p, tree_cache); inline in release_kv_cache before 0.5.16."""
        with self._scene.activity.freeing("overshoot") as frame:
            yield
        self._tail = frame

    def retract(self, call: Call) -> Steps:
        """release_req(req=…): then the request waits again, and what became evictable may be evicted."""
        activity = self._scene.activity
        before, activity.retracting = activity.retracting, True
        try:
            yield
        finally:
            activity.retracting = before


def _start(tail: Freeing | None, allocated: int) -> int | None:
    """First position that the tail's free gave back, `allocated` if it gave back nothing; None if that can't be told.

    A free of a segment says where it starts (0.5.16 and later); a single one without runs up to `allocated`.
    """
    if tail is None:
        return None
    if not tail.freed:
        return allocated
    starts = [start for start, _ in tail.freed if start is not None]
    if len(starts) == len(tail.freed):
        return min(starts)
    (_, count), *more = tail.freed
    return None if more or count is None else allocated - count


def has_tail_function() -> bool:
    """Whether the tail is freed by a function of its own (0.5.16 and later)."""
    return hasattr(sys.modules.get(targets.COMMON), "_release_overallocated_kv_indices")
