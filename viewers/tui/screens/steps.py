"""All verifies of one process, one line each; on a wide screen the one under the cursor is drawn beside."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from speckv_debug.viewers.tui.drawn import Drawn
from speckv_debug.viewers.tui.lookup import Ints, StepLookup
from speckv_debug.viewers.tui.outline import Marks, Outcome
from speckv_debug.viewers.tui.places import Place
from speckv_debug.viewers.tui.screens.filtered import FilteredScreen
from speckv_debug.viewers.tui.screens.reading import READING, ReadingScreen
from speckv_debug.viewers.tui.widgets.run_chart import RunChart
from speckv_debug.viewers.tui.widgets.step_list import StepList
from speckv_debug.viewers.tui.widgets.step_view import StepView


class StepsScreen(FilteredScreen, ReadingScreen):
    """Jump to a step, filter by request, open one."""

    finds = "show steps of requests with this text"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "events", "Events", tooltip="Show the events around this verify", id="step.events"),
    ]

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._process = place.process
        self._at: int | None = place.index

    def body(self) -> ComposeResult:
        yield RunChart(id="run")
        with Container(id="steps-and-step"):
            yield StepList(id="steps")
            yield StepView(id="preview", can_focus=False)

    def on_mount(self) -> None:
        self.focus_body()

    def focus_body(self) -> None:
        self.query_one(StepList).focus()

    def show(self, place: Place) -> None:
        """Put the cursor on `place`; a filter that hides it is given up."""
        self._process, self._at = place.process, place.index
        if self._text and place.index not in self._lookup.matching(self._text):
            self._text = ""
        if self.is_mounted:
            self._list()

    def outcome_changed(self, outcome: Outcome | None) -> None:
        self._list()

    def steps_read(self) -> None:
        """More steps have come: the cursor stays, or goes on with the last one if it stood there."""
        lookup = self.inspector.lookups.get(self._process)
        if lookup is not None:
            listed = self.query_one(StepList)
            if listed.count and listed.cursor == listed.count - 1:
                self._at = len(lookup) - 1
            self._list()

    @property
    def _lookup(self) -> StepLookup:
        return self.inspector.lookup(self._process)

    def _list(self) -> None:
        lookup, marks = self._lookup, self.inspector.marks(self._process)
        shown = lookup.matching(self._text) if self._text else lookup.all()
        lengths = lookup.steps.accept_len[shown] if self._text else lookup.steps.accept_len
        self.query_one(RunChart).show(lengths, lines_of(shown, marks))
        self.query_one(StepList).show(lookup, shown, marks, self._at)
        self._name_place()

    def _name_place(self) -> None:
        steps = self.query_one(StepList)
        filtered = f" with {self._text!r}" if self._text else ""
        count = f"{steps.cursor + 1 if steps.count else 0:,} of {steps.count:,}{filtered}"
        self.locate(self._process, "steps", count=count)

    def on_line_list_moved(self) -> None:
        steps = self.query_one(StepList)
        self._at = steps.chosen
        self.query_one(RunChart).point_at(steps.cursor)
        self._name_place()
        self.call_after_refresh(self._preview)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._preview)

    def _preview(self) -> None:
        if self.query_one(StepView).display and self.place is not None:
            self.read_verify(self.place)

    def verify_read(self, place: Place, drawn: Drawn) -> None:
        self.query_one(StepView).show(
            drawn.step,
            self.inspector.marks(place.process).get(place.index, ()),
            moves_recorded=self.inspector.moves_recorded(place.process),
        )

    def verify_awaited(self, words: str = READING) -> None:
        self.query_one(StepView).wait(words)

    @property
    def place(self) -> Place | None:
        """The verify under the cursor."""
        return None if self._at is None else Place(self._process, self._at)

    def on_line_list_chosen(self) -> None:
        if self.place is not None:
            self.inspector.open_step(self.place)

    def action_events(self) -> None:
        if self._at is not None:
            self.inspector.open_events(self._process, int(self._lookup.steps.seq[self._at]))


def lines_of(shown: Ints, marks: Marks) -> Ints:
    """Where in `shown`, ascending, the marked verifies are."""
    marked = np.fromiter(sorted(marks), np.int64, len(marks))
    at = np.searchsorted(shown, marked)
    there = at < len(shown)
    there[there] = shown[at[there]] == marked[there]
    return at[there]
