"""Recorded events, one a line, as they were recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from textual.content import Content

from speckv_debug.model.events import Event
from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.drawing import hanging
from speckv_debug.viewers.tui.widgets.line_list import LineList

MOST = 512
WIDE = 1 << 16
NAMED = ("seq", "step", "t_ns", "lane", "request", "row", "epoch")


class EventList(LineList):
    """A span of events; those with a finding are marked."""

    empty = "no event here"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._events: tuple[Event, ...] = ()
        self._marked: frozenset[int] = frozenset()

    def show(self, events: tuple[Event, ...], marked: frozenset[int], at_seq: int) -> None:
        """List `events`; `marked` are seqs with a finding; the cursor goes to `at_seq` or the next one."""
        self._events, self._marked = events, marked
        at = next((i for i, event in enumerate(events) if event.seq >= at_seq), len(events) - 1)
        self.lines_changed(at)

    def mark(self, marked: frozenset[int]) -> None:
        """Mark other events."""
        self._marked = marked
        self.redraw()

    @property
    def count(self) -> int:
        return len(self._events)

    @property
    def chosen(self) -> Event | None:
        """The event under the cursor."""
        return self._events[self.cursor] if self._events else None

    def heading(self, width: int) -> Content:
        return Content(f"    {'event':>9}  {'step':>7}  {'table':<13} request, row and what was recorded")

    def line(self, index: int, width: int) -> Content:
        event = self._events[index]
        step = "-" if event.step is None else event.step
        return Content.assemble(
            ("✗ " if event.seq in self._marked else "  ", ink.BAD),
            (f"{event.seq:>9}  ", ink.FAINT),
            f"{step:>7}  ",
            (f"{event.table:<13} ", ink.STRONG),
            (_who(event), ink.PLACE),
            ", ".join(_values(event)),
        )


def _who(event: Event) -> str:
    request, row = getattr(event, "request", None), getattr(event, "row", None)
    parts = [printable(request)] if request is not None else []
    parts += [f"row {row}"] if row is not None else []
    return " · ".join(parts) + ("  " if parts else "")


def _values(event: Event) -> Iterator[str]:
    """What was recorded beside place and request: single values first, then lists."""
    values = [(f.name, getattr(event, f.name)) for f in dataclasses.fields(event) if f.name not in NAMED]
    for name, value in sorted(values, key=lambda item: isinstance(item[1], tuple)):
        if value is not None:
            yield f"{name} {_shown(value)}"


def whole(event: Event, width: int = WIDE) -> Content:
    """Every recorded column of one event, each on lines of its own, lists up to their first 512 items."""
    lines = [Content.styled(f"{event.table} event {event.seq}", ink.STRONG)]
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        if field.name != "seq" and value is not None:
            name = Content.styled(f"{field.name:<18} ", ink.FAINT)
            lines += hanging(name, Content(_shown(value, most=MOST)), width)
    return Content("\n").join(lines)


def _shown(value: object, most: int = 8) -> str:
    if not isinstance(value, tuple):
        return printable(str(value))
    spans = list(_spans(value))
    rest = f" … {len(value)} in all" if len(spans) > most else ""
    return "[" + " ".join(spans[:most]) + rest + "]"


def _spans(values: tuple[object, ...]) -> Iterator[str]:
    """The items in order; three or more that rise by one become a half-open range `4224:4352`."""
    start = 0
    while start < len(values):
        end = start + 1
        while end < len(values) and _follows(values[end - 1], values[end]):
            end += 1
        if end - start > 2:
            yield f"{values[start]}:{int(str(values[end - 1])) + 1}"
        else:
            yield from (printable(str(value)) for value in values[start:end])
        start = end


def _follows(before: object, after: object) -> bool:
    return isinstance(before, int) and isinstance(after, int) and after == before + 1
