"""What the signs of a page map mean, and how many pages there are of each."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from speckv_debug.model.text import amount, printable
from speckv_debug.replay.page_map import PageMap
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.page_signs import ALWAYS, OF_OTHERS, SIGNS, words_of
from speckv_debug.viewers.tui.widgets.panel import Panel

COLUMN = 37
"""Cells of an entry."""


class PageLegend(Panel):
    """In one column where there is room, else in as many as the width has."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("Pages", id=id)
        self._map: PageMap | None = None

    def show(self, found: PageMap, per: int) -> None:
        """Count this map."""
        self._map = found
        cell = "one cell a page" if per == 1 else f"{per:,} pages a cell"
        size = "" if found.whole else " that events name"
        self.retitle(
            Content(f"{amount(len(found), 'page')}{size} of {amount(found.page_size, 'slot')} · {cell}")
        )
        self.redraw()

    def lines(self, width: int, height: int) -> Iterable[Content]:
        if self._map is None:
            return []
        counts = self._map.counts
        usual = ALWAYS if self._map.held_as is None else OF_OTHERS
        shown = [use for use in SIGNS if counts[use] or use in usual]
        aside = self._asides()
        per_line = max(1, min(width // COLUMN, -(-len(shown) // max(1, height - len(aside)))))
        lines = -(-len(shown) // per_line)
        cells = width if per_line == 1 else COLUMN
        entries = [_entry(use, counts[use], words_of(use, self._map), cells) for use in shown]
        found = [Content("").join(entries[at::lines]) for at in range(lines)]
        return [*found, *aside]

    def _asides(self) -> list[Content]:
        found = self._map
        if found is None:
            return []
        said = [f"? {printable(found.why_unknown)}"] if found.why_unknown else []
        if found.dangling:
            said.append(f"freed, still in a row: {amount(len(found.dangling), 'page')}")
        return [Content.styled(line, ink.FAINT) for line in said]


def _entry(use: Use, count: int, words: str, cells: int) -> Content:
    sign, style, _ = SIGNS[use]
    entry = Content.assemble(f"{count:>7,} ", (f"{sign:^7} ", style), words)
    return entry.truncate(cells, pad=True, ellipsis=True)
