"""Where events go: they get their step and lane here, and may be held back until a row that precedes them is whole."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

Make = Callable[..., dict[str, Any]]
Rows = tuple[str, int, dict[str, Any] | tuple[Any, ...]]
"""Table, number of events (0 for a single one), and their columns or what `Sink.defer` is told beside."""
IDLE, PREPARE, FORWARD, SETTLE = "idle", "prepare", "forward", "settle"


class Sink(Protocol):
    """What the recorder offers to a collector."""

    @property
    def active(self) -> bool: ...

    def emit(self, table: str, /, **columns: Any) -> None: ...

    def emit_rows(self, table: str, rows: int, columns: dict[str, Any]) -> None: ...

    def defer(
        self,
        table: str,
        rows: int,
        step: int,
        lane: str | None,
        awaited: Any,
        make: Make,
        given: tuple[Any, ...],
    ) -> None: ...

    def note(self, text: str, *, level: str = "info", step: int | None = None) -> None: ...

    def update_process(self, **fields: Any) -> None: ...

    def flush_soon(self) -> None: ...

    def close(self, timeout_s: float = ...) -> None: ...


class Held:
    """Events held back while a block runs; they follow, in order, when it ends."""

    __slots__ = ("leading", "rows")

    def __init__(self) -> None:
        self.rows: list[Rows] = []
        self.leading: list[Rows] = []


class Journal:
    """Emits events in the order of their effects.

    `step` is the number of batches launched so far; preparation carries the step that it prepares.

    Attributes:
        launched: Batches launched so far.
        overlap: Whether scheduling and forward overlap; without, events have no lane.
        is_live: Whether events are taken: false before the scheduler is known and after the recording ended.
        phases: What the engine is doing, the innermost last: idle, prepare, forward or settle.

    Args:
        muted: Tables that are not recorded at this level.
    """

    def __init__(self, sink: Sink, muted: Collection[str] = ()) -> None:
        self.sink = sink
        self.muted = muted
        self.launched = 0
        self.overlap = False
        self.bound = False
        self.phases = [IDLE]
        self._holds: list[Held] = []

    @property
    def is_live(self) -> bool:
        return self.bound and self.sink.active

    def during(self, phase: str) -> During:
        """Let events belong to a phase."""
        return During(self.phases, phase)

    def emit(self, table: str, **columns: Any) -> None:
        """Record an event now, or when the block that holds events back ends."""
        if table not in self.muted:
            self._pass_on(table, 0, self._placed(columns))

    def emit_rows(self, table: str, rows: int, **columns: Any) -> None:
        """Record events of one table together: columns are `Each`, `Cut`, or one value for all of them."""
        if rows and table not in self.muted:
            self._pass_on(table, rows, self._placed(columns))

    def defer(
        self, table: str, rows: int, awaited: Any, make: Make, *given: Any, step: int | None = None
    ) -> None:
        """As `emit_rows`; the columns are made from what is given by the recorder's thread, once `awaited` is there."""
        if table in self.muted or not rows:
            return
        phase = self.phases[-1]
        if step is None:
            step = self.launched + 1 if phase == PREPARE else self.launched
        lane = None if not self.overlap else "forward" if phase == FORWARD else "schedule"
        if self._holds:
            self._holds[-1].rows.append((table, rows, (step, lane, awaited, make, given)))
        else:
            self.sink.defer(table, rows, step, lane, awaited, make, given)

    def lead(self, held: Held, table: str, **columns: Any) -> None:
        """Record an event before those that `held` holds back."""
        if table not in self.muted:
            held.leading.append((table, 0, self._placed(columns)))

    def release(self, held: Held, table: str, rows: int, awaited: Any, make: Make, *given: Any) -> None:
        """End a hold: events as for `defer`, then those that were held back, in order."""
        self._holds.remove(held)
        self.defer(table, rows, awaited, make, *given)
        alone, sink = not self._holds, self.sink
        for into, count, columns in held.rows:
            if alone and isinstance(columns, tuple):  # in line: it runs in every step
                sink.defer(into, count, *columns)
            else:
                self._pass_on(into, count, columns)

    def hold(self) -> Hold:
        """Hold events back until the block ends, however it ends."""
        return Hold(self)

    def begin_hold(self, held: Held) -> None:
        """Hold back in `held` what is recorded from now on."""
        self._holds.append(held)

    def end_hold(self, held: Held) -> None:
        """Let what was held back follow, in order."""
        self._holds.remove(held)
        for table, rows, columns in (*held.leading, *held.rows):
            self._pass_on(table, rows, columns)

    def _placed(self, columns: dict[str, Any]) -> dict[str, Any]:
        """With the step and the lane of the moment, unless the event has its own."""
        phase = self.phases[-1]
        if "step" not in columns:
            columns["step"] = self.launched + 1 if phase == PREPARE else self.launched
        if self.overlap:
            columns["lane"] = "forward" if phase == FORWARD else "schedule"
        return columns

    def _pass_on(self, table: str, rows: int, columns: dict[str, Any] | tuple[Any, ...]) -> None:
        """0 rows stand for a single event."""
        if self._holds:
            self._holds[-1].rows.append((table, rows, columns))
        elif isinstance(columns, tuple):
            self.sink.defer(table, rows, *columns)
        elif rows:
            self.sink.emit_rows(table, rows, columns)
        else:
            self.sink.emit(table, **columns)


class Hold:
    """Holds events back for a block."""

    __slots__ = ("_held", "_journal")

    def __init__(self, journal: Journal) -> None:
        self._journal, self._held = journal, Held()

    def __enter__(self) -> Held:
        self._journal.begin_hold(self._held)
        return self._held

    def __exit__(self, *error: object) -> None:
        self._journal.end_hold(self._held)


class During:
    """A phase that ends with its block."""

    __slots__ = ("_phase", "_phases")

    def __init__(self, phases: list[str], phase: str) -> None:
        self._phases, self._phase = phases, phase

    def __enter__(self) -> None:
        self._phases.append(self._phase)

    def __exit__(self, *error: object) -> None:
        self._phases.pop()
