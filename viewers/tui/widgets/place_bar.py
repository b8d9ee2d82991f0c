"""The top line: which recording, process, step and request one looks at, and how the check stands."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.reactive import reactive

from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.lines import Lines

BETWEEN = " ▸ "
LEAST = 6
LONGEST = 20
"""Cells from which on a long name gives way to what leads to it."""
WAITING = "⋯"


class PlaceBar(Lines):
    """Crumbs on the left, which give way, and the state of the check on the right, which stays."""

    crumbs: reactive[tuple[str, ...]] = reactive((), repaint=False)
    count: reactive[str] = reactive("", repaint=False)
    state: reactive[Content] = reactive(Content(""), repaint=False, always_update=True)
    aside: reactive[str] = reactive("", repaint=False)
    """What is good to know beside the state; where there is no room its sign alone stands there."""
    waiting: reactive[bool] = reactive(False, repaint=False)
    """Whether something that belongs to this place is still being worked out: `⋯` behind the count."""

    def watch_crumbs(self) -> None:
        self.redraw()

    def watch_count(self) -> None:
        self.redraw()

    def watch_state(self) -> None:
        self.redraw()

    def watch_aside(self) -> None:
        self.redraw()

    def watch_waiting(self) -> None:
        self.redraw()

    def lines(self, width: int, height: int) -> Iterable[Content]:
        right = self._right(self.count)
        if width - right.cell_length - 2 < _least(self.crumbs):
            right = self._right("")  # where one is comes before how far along
        if self.aside:
            fits = width - right.cell_length - len(self.aside) - 4 >= _least(self.crumbs)
            right = right.append(Content.styled(f"  {self.aside if fits else self.aside[0]}", ink.FAINT))
        room = max(0, width - right.cell_length - 2)
        names = shortened(self.crumbs, room)
        left = Content.styled(BETWEEN, ink.FAINT).join(Content.styled(name, ink.STRONG) for name in names)
        yield Content.assemble(left.truncate(room, ellipsis=True, pad=True), "  ", right)

    def _right(self, count: str) -> Content:
        told = f"{count} {WAITING}" if self.waiting else f"{count}  " if count else ""
        return Content.assemble((told, ink.FAINT), "  " if told else "", self.state)


def shortened(names: tuple[str, ...], room: int) -> list[str]:
    """The names, to be joined in `room` cells; what leads there gives way before the place itself, and in the end goes."""
    if len(names) > 1 and _least(names) > room:
        names = (*names[:-1], _cut(names[-1], max(LONGEST, room // 2)))
    while len(names) > 1 and _least(names) > room:
        names = names[1:]
    excess = sum(map(cell_len, names)) + len(BETWEEN) * (len(names) - 1) - room
    cut = []
    for name in names:
        give = min(max(0, excess), max(0, cell_len(name) - LEAST))
        excess -= give
        cut.append(name if not give else set_cell_size(name, cell_len(name) - give - 1) + "…")
    return cut


def _cut(name: str, most: int) -> str:
    return name if cell_len(name) <= most else set_cell_size(name, most - 1) + "…"


def _least(names: tuple[str, ...]) -> int:
    """Cells that these need with the last one whole."""
    if not names:
        return 0
    before = sum(min(cell_len(name), LEAST) for name in names[:-1])
    return before + cell_len(names[-1]) + len(BETWEEN) * (len(names) - 1)
