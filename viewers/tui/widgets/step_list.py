"""The list of verifies: step, request, accept length as a bar, findings."""

from __future__ import annotations

import numpy as np
from textual.content import Content

from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.lookup import Ints, StepLookup
from speckv_debug.viewers.tui.outline import Marks
from speckv_debug.viewers.tui.widgets.line_list import LineList

BAR = 8
STEP = 9


class StepList(LineList):
    """A window over the columns of a `StepLookup`; no line exists before it is in sight."""

    empty = "no verify step here"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lookup: StepLookup | None = None
        self._shown: Ints = np.zeros(0, np.int64)
        self._marks: Marks = {}
        self._longest = 1
        self._name_width = 8

    def show(self, lookup: StepLookup, shown: Ints, marks: Marks, at: int | None = None) -> None:
        """List the verifies `shown` (ascending indices); the cursor goes to verify `at` or the next one."""
        if lookup is not self._lookup:
            self._longest = max(1, int(lookup.steps.accept_len.max(initial=1)))
            self._name_width = max([8, *(len(printable(name or "")) for name in lookup.requests[:1000])])
        cursor = int(np.searchsorted(shown, at)) if at is not None else 0
        same = lookup is self._lookup and marks == self._marks and np.array_equal(shown, self._shown)
        self._lookup, self._shown, self._marks = lookup, shown, marks
        if same and cursor != self.cursor and self.in_sight(cursor):
            self.cursor = cursor  # the other lines stay as they are drawn
        else:
            self.lines_changed(cursor)

    def mark(self, marks: Marks) -> None:
        """Show other findings."""
        self._marks = marks
        self.redraw()

    @property
    def count(self) -> int:
        return len(self._shown)

    def verify_at(self, line: int) -> int:
        """The index, among all verifies of the process, of the verify on `line`."""
        return int(self._shown[line])

    @property
    def chosen(self) -> int | None:
        """The index of the verify under the cursor."""
        return self.verify_at(self.cursor) if self.count else None

    def heading(self, width: int) -> Content:
        name = self._name_cells(width)
        bar = min(self._longest, BAR) + 10
        return Content(f"  {'':2}{'step':>{STEP}}  {'request':{name}}  {'accepted':{bar}}  finding")

    def line(self, index: int, width: int) -> Content:
        assert self._lookup is not None
        i, steps = self.verify_at(index), self._lookup.steps
        found = self._marks.get(i, ())
        step = int(steps.step[i])
        request = steps.request[i]
        return Content.assemble(
            ("✗ " if found else "  ", ink.BAD),
            f"{step if step >= 0 else '-':>{STEP}}  ",
            Content(printable(request or "unnamed")).truncate(
                self._name_cells(width), ellipsis=True, pad=True
            ),
            "  ",
            accepted(int(steps.accept_len[i]), int(steps.width[i]), self._longest),
            "  ",
            (", ".join(dict.fromkeys(finding.rule for finding in found)), ink.BAD),
        )

    def _name_cells(self, width: int) -> int:
        return max(8, min(self._name_width, width - STEP - BAR - 34))


def accepted(accept_len: int, width: int, longest: int) -> Content:
    """A bar of `accept_len` against the longest one, and the words `3 of 4`; negative is unknown."""
    if accept_len < 0:
        return Content.styled(f"{'?':{min(longest, BAR)}}{' unknown':10}", ink.FAINT)
    cells = accept_len if longest <= BAR else round(accept_len * BAR / longest)
    room = min(longest, BAR)
    cells = max(min(1, accept_len), min(cells, room))
    of = f"of {width}" if width >= 0 else ""
    return Content.assemble(
        ("▇" * cells, ink.GOOD),
        ("·" * (room - cells), ink.FAINT),
        f" {accept_len:>2} {of:<6}",
    )
