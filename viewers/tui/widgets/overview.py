"""The whole run in two lines: accept lengths as columns, findings and the cursor below."""

from __future__ import annotations

import numpy as np
from textual.content import Content
from textual.widgets import Static

from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.lookup import Ints

COLUMNS = " ▁▂▃▄▅▆▇█"


class Overview(Static):
    """Mean accept length of all listed verifies, as many to a column as needed."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._accept_len: Ints = np.zeros(0, np.int64)
        self._marked: Ints = np.zeros(0, np.int64)
        self._cursor = 0

    def show(self, accept_len: Ints, marked: Ints) -> None:
        """Draw these accept lengths; `marked` are the indices with a finding."""
        self._accept_len, self._marked = accept_len, marked
        self._draw()

    def point_at(self, index: int) -> None:
        """Move the cursor mark."""
        self._cursor = index
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        width = self.content_region.width
        self.update(overview(self._accept_len, self._marked, self._cursor, width))


def overview(accept_len: Ints, marked: Ints, cursor: int, width: int) -> Content:
    """Two lines of at most `width` cells; negative accept lengths are left out."""
    if not len(accept_len) or width <= 0:
        return Content("")
    cells = min(width, len(accept_len))
    column = np.arange(len(accept_len)) * cells // len(accept_len)
    known = accept_len >= 0
    total = np.bincount(column[known], accept_len[known], cells)
    seen = np.bincount(column[known], minlength=cells)
    mean = np.divide(total, seen, out=np.zeros(cells), where=seen > 0)
    height = np.ceil(mean * 8 / max(1.0, float(accept_len.max()))).astype(int)
    below = [" "] * cells
    below[column[min(cursor, len(accept_len) - 1)]] = "▲"
    for index in marked:
        below[column[index]] = "✗"
    return Content.assemble(
        ("".join(COLUMNS[h] for h in height), ink.GOOD),
        "\n",
        *((mark, ink.BAD if mark == "✗" else ink.PLACE) for mark in below),
    )
