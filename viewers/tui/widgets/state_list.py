"""Pools, counted pages, rings and requests, one line each."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from textual.content import Content

from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.state_lines import StateLine
from speckv_debug.viewers.tui.widgets.line_list import LineList

BARS_AT, LEAST_BAR, LONGEST_BAR = 80, 24, 100
"""Where bars begin, and how many cells the whole has at least and at most."""


def _bar(parts: tuple[float, ...], cells: int) -> Iterator[tuple[str, str]]:
    """█ for the first share and ░ for the one behind it; what is not nothing is seen."""
    for share, sign, style in zip(parts, ("█", "░"), ("", ink.FAINT), strict=False):
        yield sign * (max(1, round(share * cells)) if share > 0 else 0), style


class StateList(LineList):
    """Lines in parts, each with a heading."""

    empty = "the pools are being replayed"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: tuple[StateLine, ...] = ()

    def show(self, lines: tuple[StateLine, ...], at: int) -> None:
        """List these."""
        self._lines = lines
        self.empty = "this process says nothing of its pools"
        self.lines_changed(at)

    def wait(self, why: str) -> None:
        """Say why there is nothing to list, unless there is something."""
        if not self._lines:
            self.empty = why
            self.lines_changed()

    @property
    def count(self) -> int:
        return len(self._lines)

    @property
    def chosen(self) -> StateLine | None:
        """The line under the cursor."""
        return self._lines[self.cursor] if self._lines else None

    def next_part(self) -> None:
        """Put the cursor on the next heading, behind the last one on the first."""
        headings = [at for at, line in enumerate(self._lines) if line.heading]
        self.cursor = next((at for at in headings if at > self.cursor), headings[0] if headings else 0)

    def find(self, text: str) -> bool:
        """Put the cursor on the next line with `text`; False if there is none."""
        order = [*range(self.cursor + 1, self.count), *range(self.cursor + 1)]
        found = next((at for at in order if text.lower() in self._lines[at].text.lower()), None)
        if found is not None:
            self.cursor = found
        return found is not None

    def line(self, index: int, width: int) -> Content:
        line = self._lines[index]
        style = f"bold {ink.PLACE}" if line.heading else ink.DOUBT if line.doubt else ""
        room = width - BARS_AT - 4
        if line.parts and room >= LEAST_BAR and cell_len(line.text) < BARS_AT:
            return Content.assemble(
                (line.text + " " * (BARS_AT + 2 - cell_len(line.text)), style),
                *_bar(line.parts, min(room, LONGEST_BAR)),
            )
        if "✗ " in line.text and "holder" in line.text:
            text, _, mark = line.text.partition("✗ ")
            return Content.assemble(text, (f"✗ {mark}", ink.BAD))
        return Content.styled(line.text, style)
