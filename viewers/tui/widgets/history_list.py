"""The history of a slot, page, row or request, one event a line."""

from __future__ import annotations

from textual.content import Content

from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.history import HistoryLine
from speckv_debug.viewers.tui.widgets.line_list import LineList

ROOMY = 100
"""Cells from which on names and ladder need not be short."""
NO_EVENT = "no event of this process is about it"


class HistoryList(LineList):
    """Events in order; those with a finding are marked."""

    empty = "the events about it are being searched"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._history: tuple[HistoryLine, ...] = ()
        self._marked: frozenset[int] = frozenset()
        self._longest = 0

    def show(self, lines: tuple[HistoryLine, ...], marked: frozenset[int], empty: str = NO_EVENT) -> None:
        """List them; `marked` are seqs with a finding; the cursor goes to the first of these, else to the last line.

        Args:
            lines: Of the events, in order.
            marked: Seqs with a finding.
            empty: What stands there if there are no lines.
        """
        self._history, self._marked = lines, marked
        self.empty = empty
        self._longest = max((line.rung[1] for line in lines if line.rung is not None), default=0)
        broken = (i for i, line in enumerate(lines) if line.seq in marked)
        self.lines_changed(next(broken, len(lines) - 1))

    def mark(self, marked: frozenset[int]) -> None:
        """Mark other events."""
        self._marked = marked
        self.redraw()

    @property
    def count(self) -> int:
        return len(self._history)

    @property
    def chosen(self) -> HistoryLine | None:
        """The line under the cursor."""
        return self._history[self.cursor] if self._history else None

    def heading(self, width: int) -> Content:
        width -= 2  # as of the lines, beside the cursor
        cells = self._ladder(width)
        legend = "█ committed ░ reserve" if cells > 20 else "█ committed"
        ladder = f"{legend:<{cells}}  " if self._longest else ""
        return Content(f"    {'event':>9}  {'step':>7}  {'what':<{_what(width)}} {ladder}who, slots and why")

    def _ladder(self, width: int) -> int:
        """Cells of a request's lengths, drawn to one scale all along its life."""
        return min(60, width // 4) if width >= ROOMY else 14

    def _rung(self, index: int, width: int) -> Content:
        rung, before = self._history[index].rung, self._history[index - 1].rung if index else None
        if rung is None or not self._longest:
            return Content("")
        cells = self._ladder(width)
        committed, allocated = (-(-length * cells // self._longest) for length in rung)
        old = min(committed, -(-(before[0] if before else 0) * cells // self._longest))
        return Content.assemble(
            "█" * old,
            ("▓" * (committed - old), ink.GOOD),
            ("░" * (allocated - committed), ink.FAINT),
            " " * (cells - allocated + 2),
        )

    def _who(self, index: int) -> str:
        """Along a request's life its row is named where it becomes another one; there is no room to waste beside the ladder."""
        line = self._history[index]
        before = next(
            (self._history[at].who for at in range(index - 1, -1, -1) if self._history[at].who), None
        )
        again = line.rung is not None and before == line.who
        return f"{printable(line.who)}  " if line.who and not again else ""

    def line(self, index: int, width: int) -> Content:
        line = self._history[index]
        return Content.assemble(
            ("✗ " if line.seq in self._marked else "  ", ink.BAD),
            (f"{line.seq:>9}  ", ink.FAINT),
            f"{'-' if line.step is None else line.step:>7}  ",
            (f"{printable(line.event):<{_what(width)}} ", ink.STRONG),
            self._rung(index, width),
            (self._who(index), ink.PLACE),
            printable(line.what),
        )


def _what(width: int) -> int:
    return 18 if width >= ROOMY else 12
