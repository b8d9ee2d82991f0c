"""The whole run in two lines: accept lengths as columns, findings and the cursor below."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from textual.content import Content

from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.drawing import merged
from speckv_debug.viewers.tui.lookup import Ints
from speckv_debug.viewers.tui.widgets.lines import Lines

COLUMNS = " ▁▂▃▄▅▆▇█"


class RunChart(Lines):
    """Mean accept length of all listed verifies, as many to a column as needed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._accept_len: Ints = np.zeros(0, np.int64)
        self._marked: Ints = np.zeros(0, np.int64)
        self._cursor = 0
        self._columns: str | None = None

    def show(self, accept_len: Ints, marked: Ints) -> None:
        """Draw these accept lengths; `marked` are the indices with a finding."""
        self._accept_len, self._marked = accept_len, marked
        self._columns = None
        self.redraw()

    def point_at(self, index: int) -> None:
        """Move the cursor mark."""
        self._cursor = index
        self.redraw()

    def on_resize(self) -> None:
        self._columns = None
        self.redraw()

    def lines(self, width: int, height: int) -> Iterable[Content]:
        if self._columns is None:
            self._columns = columns(self._accept_len, width)
        marks = pointers(len(self._accept_len), len(self._columns), self._marked, self._cursor)
        yield Content.styled(self._columns, ink.GOOD)
        yield Content.assemble(*merged([(mark, ink.BAD if mark == "✗" else ink.PLACE) for mark in marks]))


def columns(accept_len: Ints, width: int) -> str:
    """At most `width` columns, as high as the mean of what they stand for; negative lengths are left out."""
    cells = max(0, min(width, len(accept_len)))
    if not cells:
        return ""
    starts = -(-np.arange(cells) * len(accept_len) // cells)
    known = accept_len >= 0
    total = np.add.reduceat(np.where(known, accept_len, 0), starts)
    seen = np.add.reduceat(known, starts, dtype=np.int64)
    mean = np.divide(total, seen, out=np.zeros(cells), where=seen > 0)
    height = np.ceil(mean * 8 / max(1.0, float(accept_len.max()))).astype(int)
    return "".join(COLUMNS[h] for h in height)


def pointers(count: int, cells: int, marked: Ints, cursor: int) -> str:
    """Below `cells` columns for `count` verifies: ✗ at the marked ones, ▲ at the cursor."""
    if not cells:
        return ""
    below = [" "] * cells
    below[min(cursor, count - 1) * cells // count] = "▲"
    for column in np.unique(marked * cells // count):
        below[column] = "✗"
    return "".join(below)
