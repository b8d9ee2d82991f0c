"""The map of a pool: one cell a page, or many pages a cell; only the lines in sight are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from speckv_debug.replay.page_map import Cells, PageMap, cells
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.drawing import merged, room_of, strip_of, strip_of_runs
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

    page: reactive[int] = reactive(0, repaint=False)
    """The page under the cursor, by its number in the pool."""

    @dataclass
    class Moved(Message):
        """The cursor stands on another page."""

        page: int

    @dataclass
    class Chosen(Message):
        """A page was opened."""

        page: int

    @dataclass
    class Gathered(Message):
        """So many pages make a cell now."""

        per: int

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._map: PageMap | None = None
        self._cells: Cells | None = None
        self._per: int | None = None
        self._known: dict[tuple[int, int], tuple[str, str]] = {}
        """Use and holder → sign and look, in this map."""
        self._strips: dict[tuple[int, int, int, Style], Strip] = {}
        """Line, the cursor's cell in it, width and ground → what was drawn of this map."""

    @property
    def per(self) -> int:
        """Pages of a cell: what was chosen, else as few as let the whole pool be seen."""
        if self._per is not None or self._map is None:
            return self._per or 1
        per, room = 1, max(1, room_of(self).height) * self.columns
        while -(-len(self._map) // per) > room:
            per *= 2
        return per

    @property
    def columns(self) -> int:
        """Cells of a line: whole groups of eight."""
        width = room_of(self).width - self._label - 2
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
        before, per = self._cells, self.per
        self._cells, self._strips, self._known = cells(self._map, per), {}, {}
        if before is None or before.per != per:
            self.post_message(self.Gathered(per))
        self.virtual_size = Size(0, -(-len(self._cells.use) // self.columns))
        self.set_reactive(PageGrid.page, self.validate_page(self.page))
        self._follow()
        self.refresh()

    def validate_page(self, page: int) -> int:
        found = self._map
        return page if found is None else max(found.first, min(page, found.first + len(found) - 1))

    def watch_page(self, old: int, new: int) -> None:
        if old != new:
            top = self.scroll_offset.y
            self._follow()
            if self.scroll_offset.y == top and self._map is not None:  # else all of it is drawn again
                rows = {self._cell_of(page) // self.columns - top for page in (old, new)}
                self.refresh(*(Region(0, row, room_of(self).width, 1) for row in rows))
            self.post_message(self.Moved(new))

    @property
    def _at(self) -> int:
        """The cell of the cursor."""
        return self._cell_of(self.page)

    def _cell_of(self, page: int) -> int:
        return 0 if self._map is None else (page - self._map.first) // self.per

    def _follow(self) -> None:
        line, top, height = self._at // self.columns, self.scroll_offset.y, max(1, room_of(self).height)
        wanted = min(max(top, line - height + 1), line)
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        self._gather()

    def render_line(self, y: int) -> Strip:
        width, number = room_of(self).width, self.scroll_offset.y + y
        found, gathered, ground = self._map, self._cells, self.visual_style
        if found is None or gathered is None or (y and not len(found)):
            return Strip.blank(width, ground.rich_style)
        if not len(found):
            return strip_of(
                Content.styled("this pool has no page that an event names", ink.FAINT), width, ground
            )
        columns = self.columns
        if number * columns >= len(gathered.use):
            return Strip.blank(width, ground.rich_style)
        at = self._at - number * columns
        key = number, at if 0 <= at < columns else -1, width, ground
        if key not in self._strips:
            self._strips[key] = strip_of_runs(self._drawn(found, gathered, number, columns), width, ground)
        return self._strips[key]

    def _drawn(self, found: PageMap, gathered: Cells, number: int, columns: int) -> list[tuple[str, str]]:
        first, cursor = number * columns, self._at
        part = slice(first, min(first + columns, len(gathered.use)))
        label = f"{found.first + first * gathered.per:>{self._label},}  "
        runs: list[tuple[str, str]] = [(label, ink.FAINT)]
        uses, holders = gathered.use[part].tolist(), gathered.holder[part].tolist()
        for at, (use, holder, is_mixed) in enumerate(
            zip(uses, holders, gathered.mixed[part].tolist(), strict=True)
        ):
            sign, look = self._signs(found, use, holder)
            look += " italic" if is_mixed else ""
            runs.append((sign, f"reverse {look}" if first + at == cursor else look))
            if at % GROUP == GROUP - 1:
                runs.append((" ", ""))
        return merged(runs)

    def _signs(self, found: PageMap, use: int, holder: int) -> tuple[str, str]:
        """Sign and look of a cell."""
        if (use, holder) not in self._known:
            kind = Use(use)
            sign = sign_of(kind, None if holder < 0 else found.holders[holder])
            self._known[use, holder] = sign, SIGNS[kind][1]
        return self._known[use, holder]

    def action_move(self, by: int) -> None:
        self.page += by * self.per

    def action_rows(self, by: int) -> None:
        self.page += by * self.per * self.columns

    def action_page(self, by: int) -> None:
        self.action_rows(by * max(1, room_of(self).height))

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
