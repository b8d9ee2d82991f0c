"""Streaming sessions: a session keeps its row between turns, trimmed to what the client was told.

`StreamingSession` is a wrapper around the tree or a part of it (0.5.12 to 0.5.21), and the unified tree's helper
since. A turn that ends is saved instead of released; the next turn is matched by the row and trims its tail first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang.journal import SETTLE
from speckv_debug.collectors.sglang.requests import (
    Identity,
    allocated_of,
    committed_of,
    evicted_of,
    protected_of,
    row_of,
)
from speckv_debug.collectors.sglang.scene import Scene

TRIM = "session_trim"


@dataclass(slots=True)
class _Keeping:
    """What sessions hold: the last turn of each row, and the rows that are saved and lent to no turn."""

    turns: dict[int, str | None] = field(default_factory=dict)
    saved: set[int] = field(default_factory=set)


class SessionHooks:
    """The session keeper of the scheduler's tree; nothing where this release or tree has none."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._keeping = _Keeping()
        self._asking: Any = None
        self._trimmed: Any = None

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield from ()

    def methods(self) -> Iterator[Methods]:
        keeper = self._scene.engine.sessions
        if keeper is None:
            return
        cls = type(keeper)
        yield Methods("session_match", cls, ("try_match_prefix",), self.match, ("params",))
        yield Methods("session_finish", cls, ("try_cache_finished_req",), self.finish, ("req",))
        yield Methods("session_tail", cls, ("_free_tail",), self.tail)
        yield Methods("session_trim", cls, ("_trim_overshoot",), self.trim, ("req", "finished_len"))
        yield Methods("session_free", cls, ("_free_kv_aligned",), self.free)
        yield Methods("session_close", cls, ("release_session",), self.close, ("session_id",))

    def match(self, call: Call) -> Steps:
        """try_match_prefix(params): lends the session's row to a turn, also while the turn only waits."""
        outer, self._asking = self._asking, getattr(call["params"], "req", None)
        try:
            yield
        finally:
            self._asking = outer

    def tail(self, call: Call) -> Steps:
        """_free_tail(kv or slot, …, prefix_len): the row goes back to the turn, which frees what it will overwrite."""
        if self._asking is None:
            yield
            return
        who = self._scene.rows.identity(self._asking)
        who = Identity(who.request, row_of(call.positional[1]), None)
        who = Identity(who.request, who.row, self._scene.rows.epoch(who.row))
        self._restore(who, call.positional[1])
        with self._scene.activity.working_on(who):
            yield from self._trimming(call.positional[1])
        self._lengths(who, call.positional[1])

    def trim(self, call: Call) -> Steps:
        """_trim_overshoot(req, finished_len): what was committed past the tokens that the client gets."""
        yield from self._trimming(call["req"])

    def _trimming(self, record: Any) -> Steps:
        outer, self._trimmed = self._trimmed, record
        try:
            with self._scene.activity.freeing(TRIM):
                yield
        finally:
            self._trimmed = outer

    def free(self, call: Call) -> Steps:
        """_free_kv_aligned(kv or row, target, end): from the page boundary at or behind `target` on."""
        place, target, end = call.positional[1:4]
        size = self._scene.engine.page_size
        row = place if isinstance(place, int) else row_of(place)
        who = self._scene.activity.request
        boundary = {"target": int(target), "free_start": -(-int(target) // size) * size, "page_size": size}
        committed = None if self._trimmed is None else committed_of(self._trimmed)
        lengths = {"committed": committed, "allocated": int(end)}
        columns = {"request": who.request, "row": row, "epoch": self._scene.rows.epoch(row)}
        self._scene.journal.emit("release", **columns, kind=TRIM, **lengths, **boundary)
        yield

    def finish(self, call: Call) -> Steps:
        """try_cache_finished_req(req, …): true if the session keeps the row, or has given all of it back."""
        req = call["req"]
        who, protected = self._scene.rows.identity(req), protected_of(req)
        with self._scene.activity.working_on(who):
            kept = yield
        slot = self._slot_in(who.row) if kept else None
        if slot is None or who.row is None:
            return
        self._lengths(who, slot)
        self._emit("session_save", who, protected_of(slot) if protected is None else protected, slot)
        self._keeping.turns[who.row] = who.request
        self._keeping.saved.add(who.row)

    def close(self, call: Call) -> Steps:
        """release_session(session_id): what it kept is freed, behind the prefix that is the tree's."""
        slot = call["self"].slots.get(call["session_id"])
        row = row_of(slot)
        if row is None:
            yield
            return
        journal, activity = self._scene.journal, self._scene.activity
        turn = self._keeping.turns.pop(row, None) or activity.request.request
        who = Identity(turn, row, self._scene.rows.epoch(row))
        reason = activity.freeings[-1].kind if activity.freeings else "finish"
        with journal.during(SETTLE), activity.working_on(who), activity.freeing(reason):
            if row in self._keeping.saved:
                self._emit("session_close", who, protected_of(slot), slot)
                self._keeping.saved.discard(row)
            yield
        activity.has_freed(None, None)  # a release around this one has no tail of its own
        if self._scene.rows.take_back(row):  # 0.5.12 to 0.5.18 give the row back without its pool's `free`
            journal.emit("row_free", **who.columns())

    def _restore(self, who: Identity, record: Any) -> None:
        """Once a turn: a turn that is not admitted asks again, and one that gave up leaves the row as it was."""
        if who.row is None or self._keeping.turns.get(who.row) == who.request:
            return
        before = Identity(self._keeping.turns.get(who.row), who.row, who.epoch)
        if who.row not in self._keeping.saved and before.request is not None:
            self._emit("session_save", before, protected_of(record), record)
        self._emit("session_restore", who, protected_of(record), record)
        self._keeping.turns[who.row] = who.request
        self._keeping.saved.discard(who.row)

    def _emit(self, action: str, who: Identity, protected: int | None, record: Any) -> None:
        """The session's own slots: behind the prefix that is the tree's, up to the allocated length."""
        if who.row is None:
            return
        start, stop = protected or 0, allocated_of(record)
        columns = {"request": who.request, "start": start, "pool": "full"}
        slots = self._scene.table_slots(who.row, start, stop)
        self._scene.journal.emit("cache", action=action, **columns, slots=slots)

    def _lengths(self, who: Identity, record: Any) -> None:
        lengths: dict[str, int | None] = {
            "committed": committed_of(record),
            "allocated": allocated_of(record),
        }
        if self._scene.engine.has_window:
            lengths["swa_evicted"] = evicted_of(record)
        self._scene.journal.emit("lengths", **who.columns(), pool="full", **lengths, cause=TRIM)

    def _slot_in(self, row: int | None) -> Any:
        slots = self._scene.engine.sessions.slots.values()
        return next((slot for slot in slots if row is not None and row_of(slot) == row), None)


def is_lent(node: Any) -> bool:
    """Whether a node of a match stands for a session's row: no node of the tree."""
    return type(node).__name__ == "_VirtualNode"


def held_by_sessions(engine: Any) -> int | None:
    """Slots that sessions hold, by the engine's own count (0.5.22 and later count turns that run, too); None if untold."""
    observer = getattr(engine.scheduler, "pool_stats_observer", None)
    if observer is not None and hasattr(observer, "session_held_tokens"):
        return int(observer.session_held_tokens())
    return 0 if engine.sessions is None or not engine.sessions.slots else None
