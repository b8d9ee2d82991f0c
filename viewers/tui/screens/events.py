"""The events around one, as they were recorded."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from speckv_debug.model.events import Event
from speckv_debug.model.text import printable
from speckv_debug.viewers.tui.inspection import OnProgress
from speckv_debug.viewers.tui.outline import Outcome
from speckv_debug.viewers.tui.places import Place
from speckv_debug.viewers.tui.screens.inspector import InspectorScreen
from speckv_debug.viewers.tui.widgets.event_detail import EventDetail
from speckv_debug.viewers.tui.widgets.event_list import EventList
from speckv_debug.viewers.tui.widgets.prompt import Prompt

AROUND = 500
ROOMY = 100
"""Cells from which on the place on top leaves room for more; where there is none the keys below say how to read on."""


class EventsScreen(InspectorScreen):
    """A thousand events around one; moving past an end reads on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "right_square_bracket",
            "on(1)",
            "Later",
            key_display="]",
            tooltip="Read later events",
            id="events.later",
        ),
        Binding(
            "left_square_bracket",
            "on(-1)",
            "Earlier",
            key_display="[",
            tooltip="Read earlier events",
            id="events.earlier",
        ),
    ]

    def __init__(self, process: str, seq: int) -> None:
        super().__init__()
        self._process, self._seq = process, seq
        self._count = ""

    @property
    def process(self) -> str:
        """Label of the process whose events are listed."""
        return self._process

    @property
    def seq(self) -> int:
        """The event under the cursor."""
        return self._seq

    def body(self) -> ComposeResult:
        yield EventList(id="events")
        yield EventDetail(id="event")

    def on_mount(self) -> None:
        self._begin()
        self.focus_body()

    def focus_body(self) -> None:
        self.query_one(EventList).focus()

    def show(self, process: str, seq: int) -> None:
        """Read and list the events around `seq`."""
        self._process, self._seq = process, seq
        if self.is_mounted:
            self._begin()

    def _begin(self) -> None:
        self._count = "reading"
        self._name_place()
        self.ask(self._read, self._list, "reading")

    def asking_failed(self, why: str) -> None:
        self._count = why
        self._name_place()

    def _name_place(self) -> None:
        event = self.query_one(EventList).chosen
        table = f" ({event.table})" if event is not None and event.seq == self._seq else ""
        self.locate(self._process, f"event {self._seq}{table}", count=self._count)

    def _read(self, tell: OnProgress) -> tuple[Event, ...]:
        """Runs beside the screen."""
        process = self.inspector.inspection.process(self._process)
        first, last = process.span
        middle = min(max(self._seq, first), last)
        return tuple(process.events(middle - AROUND, middle + AROUND))

    def _list(self, events: tuple[Event, ...]) -> None:
        self.query_one(EventList).show(events, self._marked(), self._seq)
        roomy = self.size.width >= ROOMY
        span = f"{events[0].seq:,} to {events[-1].seq:,}" if events else "no event"
        _, last = self.inspector.inspection.process(self._process).span
        rest = f" of {last:,}{', ] reads on' if roomy else ''}" if events and events[-1].seq < last else ""
        self._count = f"{'events ' if roomy and events else ''}{span}{rest}"
        self._name_place()

    def _marked(self) -> frozenset[int]:
        outcome = self.inspector.outcome
        entries = () if outcome is None else outcome.entries
        return frozenset(e.finding.first_seq for e in entries if e.finding.process == self._process)

    def outcome_changed(self, outcome: Outcome | None) -> None:
        self.query_one(EventList).mark(self._marked())

    def on_line_list_moved(self) -> None:
        event = self.query_one(EventList).chosen
        if event is not None:
            self._seq = event.seq
            self._name_place()
            self.query_one(EventDetail).show(event)

    def on_line_list_chosen(self) -> None:
        lookup = self.inspector.lookups.get(self._process)
        index = None if lookup is None else lookup.at_seq(self._seq)
        if index is None:
            self.inspector.say("this event is no verify")
        else:
            self.inspector.open_step(Place(self._process, index))

    def action_on(self, by: int) -> None:
        first, last = self.inspector.inspection.process(self._process).span
        to = min(max(first, self._seq + by * AROUND), last)
        if to == self._seq:
            self.inspector.say(f"no {'later' if by > 0 else 'earlier'} event was recorded")
        else:
            self.show(self._process, to)

    def action_find(self) -> None:
        self.query_one(Prompt).ask("seq", "go to event number")

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        if event.purpose == "seq" and event.text.strip():
            if event.text.strip().isdecimal():
                self.show(self._process, int(event.text))
            else:
                self.inspector.say(f"{printable(event.text)!r} is no event number")
