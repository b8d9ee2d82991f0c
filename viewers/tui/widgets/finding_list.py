"""The list of findings: root causes, their consequences below."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from speckv_debug.model.finding import Finding, Severity
from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.outline import Entry
from speckv_debug.viewers.tui.widgets.line_list import LineList

SIGNS = {
    Severity.ERROR: ("✗ E", ink.BAD),
    Severity.WARNING: ("! W", ink.DOUBT),
    Severity.NOTE: ("· N", ink.FAINT),
}


ROOMY = 70
"""Cells from which on messages begin below one another."""
MEASURED, MOST_PLACE = 1000, 34
"""Findings whose places are measured for it, and the widest that the others wait for."""


class FindingList(LineList):
    """One line a finding: severity, rule, place, message."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._entries: tuple[Entry, ...] = ()
        self._several_processes = False
        self._place_width = 0

    def show(self, entries: tuple[Entry, ...], at: int = 0) -> None:
        """List these entries of the outline."""
        self._entries = entries
        self._several_processes = len({entry.finding.process for entry in entries}) > 1
        places = [where(entry.finding, self._several_processes) for entry in entries[:MEASURED]]
        self._place_width = min(MOST_PLACE, max(map(cell_len, places), default=0))
        self.lines_changed(at)

    def wait(self, why: str) -> None:
        """Say why there is nothing to list."""
        self.empty = why
        self.show(())

    @property
    def count(self) -> int:
        return len(self._entries)

    @property
    def chosen(self) -> Entry | None:
        """The entry under the cursor."""
        return self._entries[self.cursor] if self._entries else None

    def line(self, index: int, width: int) -> Content:
        entry = self._entries[index]
        finding = entry.finding
        more = f"  (and {finding.repeats:,} more)" if finding.repeats else ""
        place = where(finding, self._several_processes)
        gap = " " * (self._place_width - cell_len(place) if width >= ROOMY else 0)
        return Content.assemble(
            ("  " * (entry.depth - 1) + "└ " if entry.depth else "", ink.FAINT),
            SIGNS[finding.severity],
            "  ",
            (f"{finding.rule:<{max(1, 13 - 2 * entry.depth)}}", ink.STRONG),
            (f" {place}{gap}  ", ink.PLACE),
            printable(finding.message),
            (more, ink.FAINT),
        )


def where(finding: Finding, with_process: bool = False) -> str:
    """Process, step, request and row of a finding, as far as they are known."""
    parts = [printable(finding.process)] if with_process else []
    parts += [f"step {finding.step}"] if finding.step is not None else []
    parts += [f"request {printable(finding.request)}"] if finding.request is not None else []
    parts += [f"pool {printable(finding.pool)}"] if finding.pool not in (None, "full") else []
    return " · ".join(parts) or f"event {finding.first_seq}"
