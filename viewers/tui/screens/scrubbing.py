"""A screen that shows the state after any step, and walks from step to step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from speckv_debug.viewers.tui.inspection import OnProgress, part_of
from speckv_debug.viewers.tui.moments import Moments
from speckv_debug.viewers.tui.outline import Entry
from speckv_debug.viewers.tui.screens.inspector import InspectorScreen
from speckv_debug.viewers.tui.widgets.scrub_bar import ScrubBar

FAR = 100
HALF = 0.5
"""The share of the first look that reading takes, more or less."""
LAST = 1 << 62
"""Behind every event."""


class ScrubbingScreen(InspectorScreen):
    """Subclasses say what they look at after an event, and draw it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "scrub(1)", "Step", key_display="[ ]", tooltip="One step on", id="scrub.on"),
        Binding("left_square_bracket", "scrub(-1)", key_display="[", tooltip="One step back", id="scrub.back", show=False),
        Binding("right_curly_bracket", f"scrub({FAR})", key_display="}", tooltip="A hundred steps on", id="scrub.far", show=False),
        Binding("left_curly_bracket", f"scrub(-{FAR})", key_display="{", tooltip="A hundred steps back", id="scrub.far-back", show=False),
        Binding("e", "events", tooltip="Show the events around here", id="scrub.events", show=False),
    ]  # fmt: skip

    def __init__(self, process: str, seq: int) -> None:
        super().__init__()
        self._process, self._seq = process, seq
        self._moments: Moments | None = None
        self._grown, self._with_end, self._owed = False, False, 0

    @property
    def process(self) -> str:
        """Label of the process."""
        return self._process

    @property
    def seq(self) -> int:
        """The event after which the state is shown."""
        return self._seq

    @property
    def at_end(self) -> bool:
        """Whether there is no later step."""
        return self._moments is None or self._index >= len(self._moments) - 1

    @property
    def playing(self) -> bool:
        """Whether it goes on by itself."""
        return False

    @property
    def _index(self) -> int:
        return 0 if self._moments is None else self._moments.of_seq(self._seq)

    def look(self, seq: int, tell: OnProgress) -> Any:
        """Work out what is to be drawn; runs beside the screen."""
        raise NotImplementedError

    def looked(self, found: Any) -> None:
        """Draw it."""
        raise NotImplementedError

    def crumbs(self) -> tuple[str, ...]:
        """What the screen shows, for the place on top."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.focus_body()
        self.name_place()
        self.ask_again()

    def show(self, process: str, seq: int) -> None:
        """Show the state after event `seq` of a process."""
        if process != self._process:
            self._moments = None
        self._process, self._seq, self._with_end, self._owed = process, seq, False, 0
        if self.is_mounted:
            self.name_place()
            self.ask_again()

    def ask_again(self) -> None:
        """Work out the state at the place where one is."""
        if self._moments is not None and len(self._moments):
            self._seq = int(self._moments.seq[self._index])
        moments, process = None if self._grown else self._moments, self._process
        seq, self._grown = LAST if self._with_end else self._seq, False

        def work(tell: OnProgress) -> tuple[Moments, int, bool, Any]:
            known, rest = moments, tell
            if known is None:
                known = self.inspector.inspection.process(process).moments(part_of(tell, 0, HALF))
                rest = part_of(tell, HALF, 1)
            at = int(known.seq[known.of_seq(seq)]) if len(known) else seq
            return known, at, seq == LAST, self.look(at, rest)

        self.ask(work, self._found, "replaying", stale=True)
        self.draw_bar()

    def _found(self, found: tuple[Moments, int, bool, Any]) -> None:
        first, (self._moments, seq, last, what) = self._moments is None, found
        if first or (last and self._with_end):
            self._seq = seq
        self.looked(what)
        self.draw_bar()
        self.name_place()
        if owed := self._owed:
            self._owed = 0
            self.action_scrub(owed)

    def name_place(self) -> None:
        """Name process, what is shown, and the step."""
        found = self._moments
        if found is None or not len(found):
            owed = f"{self._owed:+,} when the steps are known" if self._owed else ""
            self.locate(self._process, *self.crumbs(), count=owed if found is None else "no step")
            return
        step = f"{found.axis} {int(found.at[self._index])}"
        count = f"{self._index + 1:,} of {len(found):,}"
        self.locate(self._process, *self.crumbs(), step, count=count)

    def draw_bar(self) -> None:
        """Draw where one stands."""
        found = self._moments
        if found is not None and len(found):
            self.query_one(ScrubBar).show(found, self._index, self._marked(found), playing=self.playing)

    def _marked(self, found: Moments) -> Iterator[int]:
        outcome = self.inspector.outcome
        for entry in () if outcome is None else outcome.entries:
            if entry.finding.process == self._process:
                yield found.of_seq(entry.finding.first_seq)

    def steps_read(self) -> None:
        """More steps have come; who stood at the end goes on with it."""
        if self.inspector.following:
            self._grown = True
            self._with_end = self._with_end or (self._moments is not None and self.at_end)
            if not self.asking:
                self.ask_again()

    def asking_changed(self) -> None:
        """What has come while an answer was awaited is asked for behind it."""
        super().asking_changed()
        if self._grown and not self.asking:
            self.ask_again()

    def show_finding(self, entry: Entry) -> None:
        """Go to the step of a finding."""
        self.show(entry.finding.process, entry.finding.first_seq)

    def show_step(self, step: int) -> None:
        """Go to a step, or to the next one that there is."""
        if self._moments is not None and len(self._moments):
            self._go(int(self._moments.seq[self._moments.of_step(step)]))

    def on_scrub_bar_picked(self, event: ScrubBar.Picked) -> None:
        self.action_scrub(event.index - self._index)

    def action_scrub(self, by: int) -> None:
        found = self._moments
        if found is None:
            self._owed += by
            self.name_place()
            return
        if not len(found):
            return
        to = found.bounded(self._index + by)
        if to == self._index:
            self.inspector.say(f"this is the {'last' if by > 0 else 'first'} step")
            return
        self._go(int(found.seq[to]))

    def _go(self, seq: int) -> None:
        self._seq, self._with_end = seq, False
        self.name_place()
        self.ask_again()

    def action_events(self) -> None:
        self.inspector.open_events(self._process, self._seq)
