"""The map of a pool: one cell a page, or many pages a cell; only the lines in sight are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from speckv_debug.replay.page_map import Cells, PageMap, cells
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.page_signs import SIGNS, sign_of

GROUP = 8
"""Cells that stand together."""


class PageGrid(ScrollView, can_focus=True):
    """A cursor walks from cell to cell; it stays on its page when the map or the zoom changes."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "move(1)", tooltip="Go to the next page", id="move.right", show=False),
        Binding("left,h", "move(-1)", tooltip="Go to the page before", id="move.left", show=False),
        Binding("down,j", "rows(1)", tooltip="Go one line down", id="move.down", show=False),
        Binding("up,k", "rows(-1)", tooltip="Go one line up", id="move.up", show=False),
        Binding("pagedown,ctrl+f", "page(1)", tooltip="Go one page down", id="move.page-down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", tooltip="Go one page up", id="move.page-up", show=False),
        Binding("home,g", "first", tooltip="Go to the first line", id="move.first", show=False),
        Binding("end,G", "last", tooltip="Go to the last line", id="move.last", show=False),
        Binding("plus,equals_sign", "zoom(-1)", "In", key_display="+", tooltip="Fewer pages a cell", id="pages.in", show=False),
        Binding("minus", "zoom(1)", "Zoom", key_display="+ -", tooltip="More pages a cell", id="pages.out"),
        Binding("enter", "choose", "History", tooltip="Show the history of this page", id="pages.history"),
    ]  # fmt: skip

    page: reactive[int] = reactive(0)
    """The page under the cursor, by its number in the pool."""

    @dataclass
    class Moved(Message):
        """The cursor stands on another page."""

        page: int

    @dataclass
    class Chosen(Message):
        """A page was opened."""

        page: int

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._map: PageMap | None = None
        self._cells: Cells | None = None
        self._per: int | None = None
        self._line: list[tuple[str, str]] = []

    @property
    def per(self) -> int:
        """Pages of a cell: what was chosen, else as few as let the whole pool be seen."""
        if self._per is not None or self._map is None:
            return self._per or 1
        per, room = 1, max(1, self.size.height) * self.columns
        while -(-len(self._map) // per) > room:
            per *= 2
        return per

    @property
    def columns(self) -> int:
        """Cells of a line: whole groups of eight."""
        width = self.scrollable_content_region.width - self._label - 2
        return GROUP * max(1, (width + 1) // (GROUP + 1))

    @property
    def _label(self) -> int:
        return 6 if self._map is None else len(f"{self._map.first + len(self._map):,}")

    def show(self, found: PageMap) -> None:
        """Draw this map."""
        self._map = found
        self._gather()

    def _gather(self) -> None:
        if self._map is None:
            return
        self._cells = cells(self._map, self.per)
        self.virtual_size = Size(0, -(-len(self._cells.use) // self.columns))
        self.set_reactive(PageGrid.page, self.validate_page(self.page))
        self._follow()
        self.refresh()

    def validate_page(self, page: int) -> int:
        found = self._map
        return page if found is None else max(found.first, min(page, found.first + len(found) - 1))

    def watch_page(self, old: int, new: int) -> None:
        if old != new:
            self._follow()
            self.refresh()
            self.post_message(self.Moved(new))

    @property
    def _at(self) -> int:
        """The cell of the cursor."""
        return 0 if self._map is None else (self.page - self._map.first) // self.per

    def _follow(self) -> None:
        line, top, height = self._at // self.columns, self.scroll_offset.y, max(1, self.size.height)
        wanted = min(max(top, line - height + 1), line)
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        self._gather()

    def render_line(self, y: int) -> Strip:
        width, number = self.scrollable_content_region.width, self.scroll_offset.y + y
        found, gathered = self._map, self._cells
        line = Content("")
        if found is not None and gathered is not None and not len(found) and y == 0:
            line = Content.styled("this pool has no page that an event names", ink.FAINT)
        elif found is not None and gathered is not None and number * self.columns < len(gathered.use):
            line = self._drawn(found, gathered, number)
        strips = Visual.to_strips(self, line, width, 1, self.visual_style, pad=True, apply_selection=False)
        return strips[0] if strips else Strip.blank(width)

    def _drawn(self, found: PageMap, gathered: Cells, number: int) -> Content:
        first, cursor = number * self.columns, self._at
        last = min(first + self.columns, len(gathered.use))
        runs: list[tuple[str, str]] = [(f"{found.first + first * gathered.per:>{self._label},}  ", ink.FAINT)]
        uses = gathered.use[first:last].tolist()
        holders, mixed = gathered.holder[first:last].tolist(), gathered.mixed[first:last].tolist()
        for at, (number_of_use, holder, is_mixed) in enumerate(zip(uses, holders, mixed, strict=True)):
            use = Use(number_of_use)
            sign = sign_of(use, None if holder < 0 else found.holders[holder])
            style = SIGNS[use][1] + (" italic" if is_mixed else "")
            if first + at == cursor:
                style = f"reverse {style}"
            _add(runs, sign, style)
            if at % GROUP == GROUP - 1:
                _add(runs, " ", "")
        return Content.assemble(*runs)

    def action_move(self, by: int) -> None:
        self.page += by * self.per

    def action_rows(self, by: int) -> None:
        self.page += by * self.per * self.columns

    def action_page(self, by: int) -> None:
        self.action_rows(by * max(1, self.size.height))

    def action_first(self) -> None:
        self.page = 0

    def action_last(self) -> None:
        if self._map is not None:
            self.page = self._map.first + len(self._map)

    def action_zoom(self, by: int) -> None:
        pages = 1 if self._map is None else len(self._map)
        self._per = max(1, min(self.per * 2 if by > 0 else self.per // 2, max(1, pages // GROUP)))
        self._gather()
        self.post_message(self.Moved(self.page))

    def action_choose(self) -> None:
        if self._map is not None and len(self._map):
            self.post_message(self.Chosen(self.page))

    def on_click(self, event: events.Click) -> None:
        column = event.x - self._label - 2
        cell = column - column // (GROUP + 1)
        if self._map is None or column < 0 or cell >= self.columns:
            return
        page = self._map.first + ((self.scroll_offset.y + event.y) * self.columns + cell) * self.per
        if page < self._map.first + len(self._map):
            self.page = page
            if event.chain == 2:
                self.action_choose()


def _add(runs: list[tuple[str, str]], text: str, style: str) -> None:
    """Append to the last run if it looks the same."""
    if runs and runs[-1][1] == style:
        runs[-1] = (runs[-1][0] + text, style)
    else:
        runs.append((text, style))
