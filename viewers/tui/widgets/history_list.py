"""The history of a slot, page, row or request, one event a line."""

from __future__ import annotations

from textual.content import Content

from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.history import HistoryLine
from speckv_debug.viewers.tui.widgets.line_list import LineList


class HistoryList(LineList):
    """Events in order; those with a finding are marked."""

    empty = "no event of this process is about it"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._history: tuple[HistoryLine, ...] = ()
        self._marked: frozenset[int] = frozenset()

    def show(self, lines: tuple[HistoryLine, ...], marked: frozenset[int]) -> None:
        """List them; `marked` are seqs with a finding; the cursor goes to the first of these, else to the last line."""
        self._history, self._marked = lines, marked
        broken = (i for i, line in enumerate(lines) if line.seq in marked)
        self.lines_changed(next(broken, len(lines) - 1))

    def mark(self, marked: frozenset[int]) -> None:
        """Mark other events."""
        self._marked = marked
        self.refresh()

    @property
    def count(self) -> int:
        return len(self._history)

    @property
    def chosen(self) -> HistoryLine | None:
        """The line under the cursor."""
        return self._history[self.cursor] if self._history else None

    def heading(self, width: int) -> Content:
        return Content(f"    {'event':>9}  {'step':>7}  {'what':<18} who, slots and why")

    def line(self, index: int, width: int) -> Content:
        line = self._history[index]
        return Content.assemble(
            ("✗ " if line.seq in self._marked else "  ", ink.BAD),
            (f"{line.seq:>9}  ", ink.FAINT),
            f"{'-' if line.step is None else line.step:>7}  ",
            (f"{printable(line.event):<18} ", ink.STRONG),
            (f"{printable(line.who)}  " if line.who else "", ink.PLACE),
            printable(line.what),
        )
