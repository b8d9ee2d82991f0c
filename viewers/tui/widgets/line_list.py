"""A list that draws only the lines in sight: each line is asked for when it is shown."""

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

from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.drawing import room_of, strip_of

MOST_KEPT = 1000
"""Drawn lines that are kept, some ten screens."""


class LineList(ScrollView, can_focus=True):
    """Lines of one row each with a cursor; subclasses say how many there are and draw one."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"line-list--cursor", "line-list--heading"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", tooltip="Go one line down", id="move.down", show=False),
        Binding("up,k", "move(-1)", "Up", tooltip="Go one line up", id="move.up", show=False),
        Binding(
            "pagedown,ctrl+f",
            "page(1)",
            "Page down",
            tooltip="Go one page down",
            id="move.page-down",
            show=False,
        ),
        Binding(
            "pageup,ctrl+b", "page(-1)", "Page up", tooltip="Go one page up", id="move.page-up", show=False
        ),
        Binding("home,g", "first", "First", tooltip="Go to the first line", id="move.first", show=False),
        Binding("end,G", "last", "Last", tooltip="Go to the last line", id="move.last", show=False),
        Binding("enter", "choose", "Open", tooltip="Open what the cursor stands on", id="list.open"),
    ]

    cursor: reactive[int] = reactive(0, repaint=False)

    @dataclass
    class Moved(Message):
        """The cursor stands on another line."""

        index: int

    @dataclass
    class Chosen(Message):
        """A line was opened."""

        index: int

    empty = "nothing to show"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._strips: dict[tuple[int, int, Style], Strip] = {}
        """Line, width and ground → what was drawn: what comes into sight again is not drawn again."""

    @property
    def count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def line(self, index: int, width: int) -> Content:
        """The line `index`, to be cut at `width` cells."""
        raise NotImplementedError

    def heading(self, width: int) -> Content | None:
        """A line that stays on top, or None."""
        return None

    def lines_changed(self, cursor: int = 0) -> None:
        """Draw again after the lines became others; the cursor goes to line `cursor`, in the middle."""
        self._strips = {}
        self.virtual_size = Size(0, self.count + self._top)
        self.set_reactive(LineList.cursor, self.validate_cursor(cursor))
        self._scroll_to_line(self.cursor - self._page // 2)
        self.call_after_refresh(self._place_scrollbar)
        self.refresh()
        if self.count:
            self.post_message(self.Moved(self.cursor))

    @property
    def _top(self) -> int:
        return 0 if self.heading(0) is None else 1

    @property
    def _page(self) -> int:
        return max(1, room_of(self).height - self._top)

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, self.count - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        if old != new and self.count:
            top = self.scroll_offset.y
            self._show_cursor()
            if self.scroll_offset.y == top:  # else all of it is drawn again
                rows = (index - top + self._top for index in (old, new))
                self.refresh(*(Region(0, row, room_of(self).width, 1) for row in rows))
            self.post_message(self.Moved(new))

    def redraw(self) -> None:
        """Draw the same lines again: their marks have become others."""
        self._strips = {}
        self.refresh()

    def on_resize(self) -> None:
        self._show_cursor()

    def in_sight(self, line: int) -> bool:
        """Whether a line is on the screen."""
        return 0 <= line - self.scroll_offset.y < min(self._page, self.count - self.scroll_offset.y)

    def _place_scrollbar(self) -> None:
        """One that appears with these lines has not heard of the scrolling before it was there."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = self.scroll_offset.y

    def _show_cursor(self) -> None:
        top = self.scroll_offset.y
        wanted = min(max(top, self.cursor - self._page + 1), self.cursor)
        if wanted != top:
            self._scroll_to_line(wanted)

    def _scroll_to_line(self, line: int) -> None:
        self.scroll_to(y=max(0, line), animate=False, force=True, immediate=True)

    def render_line(self, y: int) -> Strip:
        width = room_of(self).width
        if self._top and y == 0:
            return strip_of(
                self.heading(width) or Content(""), width, self.get_visual_style("line-list--heading")
            )
        index = self.scroll_offset.y + y - self._top
        if not self.count and y == self._top:
            return strip_of(Content.styled(f"  {self.empty}", ink.FAINT), width, self.visual_style)
        if not 0 <= index < self.count:
            return Strip.blank(width, self.visual_style.rich_style)
        return self._line_strip(index, width)

    @property
    def _sign(self) -> str:
        """At the cursor; where the keys go to another part of the screen it is a fainter one."""
        return "› " if self.has_focus else "· "

    def _line_strip(self, index: int, width: int) -> Strip:
        here = index == self.cursor
        ground = self.get_visual_style("line-list--cursor") if here else self.visual_style
        found = self._strips.get((index, width, ground))
        if found is None:
            if len(self._strips) >= MOST_KEPT:
                self._strips.clear()
            line = Content.assemble(self._sign if here else "  ", self.line(index, max(0, width - 2)))
            found = self._strips[index, width, ground] = strip_of(line, width, ground)
        return found

    def action_move(self, by: int) -> None:
        self.cursor += by

    def action_page(self, by: int) -> None:
        self.cursor += by * self._page

    def action_first(self) -> None:
        self.cursor = 0

    def action_last(self) -> None:
        self.cursor = self.count - 1

    def action_choose(self) -> None:
        if self.count:
            self.post_message(self.Chosen(self.cursor))

    def on_click(self, event: events.Click) -> None:
        index = self.scroll_offset.y + event.y - self._top
        if event.y >= self._top and index < self.count:
            self.cursor = index
            if event.chain == 2:
                self.action_choose()
