"""Where events go: they get their step and lane here, and may be held back until a row that precedes them is whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from speckv_debug.collectors.staging import is_capturing

Row = tuple[str, dict[str, Any]]
IDLE, PREPARE, FORWARD, SETTLE = "idle", "prepare", "forward", "settle"


class Sink(Protocol):
    """What the recorder offers to a collector."""

    @property
    def active(self) -> bool: ...

    def emit(self, table: str, /, **columns: Any) -> None: ...

    def note(self, text: str, *, level: str = "info", step: int | None = None) -> None: ...

    def update_process(self, **fields: Any) -> None: ...

    def flush_soon(self) -> None: ...

    def close(self, timeout_s: float = ...) -> None: ...


class Held:
    """Events held back while a block runs; they follow, in order, when it ends."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.leading: list[Row] = []


class Journal:
    """Emits events in the order of their effects.

    `step` is the number of batches launched so far; preparation carries the step that it prepares.

    Attributes:
        launched: Batches launched so far.
        overlap: Whether scheduling and forward overlap; without, events have no lane.
        is_live: Whether events are taken: false before the scheduler is known and after the recording ended.
    """

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.launched = 0
        self.overlap = False
        self.bound = False
        self._phases = [IDLE]
        self._holds: list[Held] = []

    @property
    def is_live(self) -> bool:
        return self.bound and self.sink.active and not is_capturing()

    @property
    def phase(self) -> str:
        """What the engine is doing: idle, prepare, forward or settle."""
        return self._phases[-1]

    @property
    def step(self) -> int:
        """The step that an event carries now."""
        return self.launched + (self.phase == PREPARE)

    @property
    def lane(self) -> str | None:
        """The overlapping host lane that an event belongs to now; None if there is one lane."""
        if not self.overlap:
            return None
        return "forward" if self.phase == FORWARD else "schedule"

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Let events belong to a phase."""
        self._phases.append(phase)
        try:
            yield
        finally:
            self._phases.pop()

    def emit(self, table: str, **columns: Any) -> None:
        """Record an event now, or when the block that holds events back ends."""
        row = (table, {"step": self.step, "lane": self.lane, **columns})
        if self._holds:
            self._holds[-1].rows.append(row)
        else:
            self.sink.emit(table, **row[1])

    def lead(self, held: Held, table: str, **columns: Any) -> None:
        """Record an event before those that `held` holds back."""
        held.leading.append((table, {"step": self.step, "lane": self.lane, **columns}))

    @contextmanager
    def hold(self) -> Iterator[Held]:
        """Hold events back until the block ends, however it ends."""
        held = Held()
        self._holds.append(held)
        try:
            yield held
        finally:
            self._holds.remove(held)
            for table, columns in (*held.leading, *held.rows):
                self._pass_on(table, columns)

    def _pass_on(self, table: str, columns: dict[str, Any]) -> None:
        if self._holds:
            self._holds[-1].rows.append((table, columns))
        else:
            self.sink.emit(table, **columns)
