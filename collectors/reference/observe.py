"""The one way from the engine to a recording: every component reports what it did to its own state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol

Lane = Literal["schedule", "forward"]


class Emitter(Protocol):
    """What a recorder offers an engine."""

    def emit(self, table: str, /, **columns: Any) -> None:
        """Append one row to `table`."""


class EventLog(list[tuple[str, dict[str, Any]]]):
    """Events in memory, in order, where no recording is wanted."""

    def emit(self, table: str, /, **columns: Any) -> None:
        """Keep one event."""
        self.append((table, columns))

    def of(self, table: str) -> list[dict[str, Any]]:
        """Columns of the events of one table."""
        return [columns for name, columns in self if name == table]


class Observer:
    """Stamps each event with the engine's step and, under overlap, with the host lane it came from."""

    def __init__(self, emitter: Emitter | None, *, overlap: bool) -> None:
        """Report to `emitter`, or to nobody."""
        self._emit: Callable[..., None] | None = None if emitter is None else emitter.emit
        self._lane: Lane | None = "schedule" if overlap else None
        self.step = 0

    @contextmanager
    def forward_lane(self) -> Iterator[None]:
        """Everything reported inside runs on the forward lane."""
        before = self._lane
        self._lane = before and "forward"
        yield
        self._lane = before

    def emit(self, table: str, *, step: int | None = None, **columns: Any) -> None:
        """Report one event at the current step, or at `step`; before the first one there is none."""
        if self._emit is not None:
            at = self.step if step is None else step
            self._emit(table, step=at or None, lane=self._lane, **columns)
