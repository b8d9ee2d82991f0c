"""One verify of one request, drawn; on a tall screen the request's other verifies below."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from speckv_debug.replay.verify_details import Recomputed
from speckv_debug.viewers.tui.drawn import Drawn
from speckv_debug.viewers.tui.lookup import Ints, StepLookup
from speckv_debug.viewers.tui.outline import Outcome
from speckv_debug.viewers.tui.places import Place
from speckv_debug.viewers.tui.screens.reading import READING, ReadingScreen
from speckv_debug.viewers.tui.widgets.prompt import Prompt
from speckv_debug.viewers.tui.widgets.step_list import StepList
from speckv_debug.viewers.tui.widgets.step_view import StepView

ALONG = Binding.Group("Step", compact=True)


class StepScreen(ReadingScreen):
    """Draft tree, accept_index to slot, token strips, room."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "left,h",
            "along(-1)",
            "Back",
            tooltip="Verify before of this request",
            id="step.back",
            group=ALONG,
        ),
        Binding(
            "right,l", "along(1)", "Next", tooltip="Next verify of this request", id="step.next", group=ALONG
        ),
        Binding("r", "across(1)", "Request", tooltip="Next request of this step", id="step.request"),
        Binding(
            "R", "across(-1)", tooltip="Request before of this step", id="step.request-before", show=False
        ),
        Binding(
            "c",
            "replay",
            "Replay",
            tooltip="Compute this verify again by the bundled kernels",
            id="step.replay",
        ),
        Binding("e", "events", tooltip="Show the events around this verify", id="step.events", show=False),
    ]

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    @property
    def place(self) -> Place:
        """The verify that is drawn."""
        return self._place

    def body(self) -> ComposeResult:
        yield StepView(id="view")
        yield StepList(id="history")

    def on_mount(self) -> None:
        self.query_one("#history").border_title = "All verifies of this request"
        self.focus_body()

    def focus_body(self) -> None:
        self.query_one("#view").focus()

    def outcome_changed(self, outcome: Outcome | None) -> None:
        self._draw()

    def steps_read(self) -> None:
        """More steps have come."""
        if self._place.process in self.inspector.lookups:
            self._draw()

    @property
    def _lookup(self) -> StepLookup:
        return self.inspector.lookup(self._place.process)

    @property
    def _own(self) -> Ints:
        return self._lookup.of_request(self._lookup.steps.request[self._place.index])

    def show(self, place: Place) -> None:
        """Draw `place`."""
        self._place = place
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        place, marks = self._place, self.inspector.marks(self._place.process)
        history = self.query_one("#history", StepList)
        history.show(self._lookup, self._own, marks, place.index)
        self._name_place()
        self.read_verify(place)

    def verify_read(self, place: Place, drawn: Drawn) -> None:
        marks = self.inspector.marks(place.process)
        self.query_one(StepView).show(
            drawn.step,
            marks.get(place.index, ()),
            moves_recorded=self.inspector.moves_recorded(place.process),
            tensors=drawn.tensors,
        )
        if place.index in marks:
            self.action_replay()

    def verify_awaited(self, words: str = READING) -> None:
        self.query_one(StepView).wait(words)

    def _name_place(self) -> None:
        steps, index = self._lookup.steps, self._place.index
        step, request = int(steps.step[index]), steps.request[index]
        number = "step unknown" if step < 0 else f"step {step}"
        name = "request unknown" if request is None else f"request {request}"
        self.locate(self._place.process, number, name, count=f"{index + 1:,} of {len(self._lookup):,}")

    def action_replay(self) -> None:
        """Compute the verify again, beside the screen."""
        place, process = self._place, self.inspector.inspection.process(self._place.process)
        self.query_one(StepView).replayed((), "being computed by the bundled kernels; x gives up")

        def drawn(found: tuple[Recomputed, ...]) -> None:
            if place == self._place:
                self.query_one(StepView).replayed(found)

        def failed(why: str) -> None:
            if place == self._place:
                self.query_one(StepView).replayed((), f"not computed: {why}")

        self.ask(partial(process.recomputed, place.index), drawn, "replaying", failed=failed)

    def action_along(self, by: int) -> None:
        self._walk(self._own, by, "verify of this request")

    def action_across(self, by: int) -> None:
        here = self._lookup.at_step(int(self._lookup.steps.step[self._place.index]))
        self._walk(here, by, "request of this step")

    def _walk(self, indices: Ints, by: int, what: str) -> None:
        to = int(np.searchsorted(indices, self._place.index)) + by
        if 0 <= to < len(indices):
            self.show(Place(self._place.process, int(indices[to])))
        else:
            self.inspector.say(f"this is the {'last' if by > 0 else 'first'} {what}")

    def on_line_list_chosen(self) -> None:
        chosen = self.query_one("#history", StepList).chosen
        if chosen is not None:
            self.show(Place(self._place.process, chosen))

    def action_events(self) -> None:
        self.inspector.open_events(self._place.process, int(self._lookup.steps.seq[self._place.index]))

    def action_find(self) -> None:
        self.query_one(Prompt).ask("request", "go to the next verify of a request with this text")

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        if event.purpose != "request" or not event.text.strip():
            return
        found = self._lookup.matching(event.text.strip())
        if not len(found):
            self.inspector.say(f"no request with {event.text.strip()!r}")
            return
        later = found[found > self._place.index]
        self.show(Place(self._place.process, int(later[0] if len(later) else found[0])))
