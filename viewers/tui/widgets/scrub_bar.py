"""Where one stands in the run: a line with the steps, findings and the place."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from textual import events
from textual.content import Content
from textual.message import Message

from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.drawing import merged
from speckv_debug.viewers.tui.lookup import Ints
from speckv_debug.viewers.tui.moments import Moments
from speckv_debug.viewers.tui.widgets.lines import Lines


class ScrubBar(Lines):
    """A click goes to the step below it."""

    class Picked(Message):
        """A place of the line was clicked."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._moments: Moments | None = None
        self._index = 0
        self._marked: Ints = np.zeros(0, np.int64)
        self._playing = False

    def show(self, moments: Moments, index: int, marked: Iterable[int], *, playing: bool) -> None:
        """Draw the place `index`; `marked` are places with a finding."""
        self._moments, self._index, self._playing = moments, index, playing
        self._marked = np.unique(np.fromiter(marked, np.int64))
        self.redraw()

    @property
    def _ends(self) -> tuple[str, str]:
        found = self._moments
        assert found is not None
        first, last = f"{found.axis} {int(found.at[0])} ", f" {int(found.at[-1])}"
        return first, last + (" ▶" if self._playing else "")

    def lines(self, width: int, height: int) -> Iterable[Content]:
        found = self._moments
        if found is None or not len(found):
            return
        left, right = self._ends
        cells = max(8, width - len(left) - len(right))
        line = ["─"] * cells
        for at in np.unique(self._marked * cells // len(found)).tolist():
            line[at] = "✗"
        line[self._index * cells // len(found)] = "●"
        looks = {"✗": ink.BAD, "●": ink.PLACE, "─": ink.FAINT}
        yield Content.assemble(
            (left, ink.FAINT), *merged([(sign, looks[sign]) for sign in line]), (right, ink.FAINT)
        )

    def on_click(self, event: events.Click) -> None:
        found = self._moments
        if found is not None and len(found):
            left, right = self._ends
            cells = max(8, self.content_region.width - len(left) - len(right))
            at = min(max(0, event.x - len(left)), cells - 1)
            self.post_message(self.Picked(-(-at * len(found) // cells)))
