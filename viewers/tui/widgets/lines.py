"""A widget of lines that are drawn for the room it has; only lines that became others are drawn again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from speckv_debug.viewers.tui.drawing import room_of, same, strip_of

NARROWEST = 4
"""Cells below which nothing is wrapped."""


class Lines(Widget):
    """Subclasses say which lines, and call `redraw` when they have become others."""

    ALLOW_SELECT = False
    WRAPS: ClassVar[bool] = False
    """Whether a line that is too long goes on in the next one; else it is cut with an ellipsis."""

    def __init__(self, title: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title = Content(title)
        if title:
            self.border_title = self._title
        self._drawn: list[Content] | None = None
        self._drawn_for = Size(0, 0)
        self._strips: dict[int, Strip] = {}
        self._ground: Style | None = None

    def lines(self, width: int, height: int) -> Iterable[Content]:
        """The lines for `width` cells; of a widget that can't grow more than `height` are not seen."""
        raise NotImplementedError

    def retitle(self, title: Content) -> None:
        """Write another title into the border."""
        if not same(title, self._title):
            self.border_title = self._title = title

    def on_resize(self) -> None:
        self.redraw()

    def redraw(self) -> None:
        """Draw what is known now; without any room, or while it is not shown, that waits until there is."""
        size, old = room_of(self), self._drawn
        self._drawn = None
        if not size.width or not self.display:
            self._strips.clear()
            return
        new = self._fitted(size)
        if old is not None and len(old) == len(new) and self._strips:
            self._refresh_lines([y for y, lines in enumerate(zip(old, new, strict=True)) if not same(*lines)])
        else:
            self._strips.clear()
            self.refresh(layout=self.styles.auto_dimensions)

    def _refresh_lines(self, changed: Sequence[int]) -> None:
        for y in changed:
            self._strips.pop(y, None)
        if changed:
            self.refresh(*(Region(0, y, self._drawn_for.width, 1) for y in changed))

    def _fitted(self, size: Size) -> list[Content]:
        if self._drawn is None or self._drawn_for != size:
            lines = self.lines(*size)
            if self.WRAPS:
                lines = [part for line in lines for part in _wrapped(line, size.width)]
            if self._drawn_for.width != size.width:
                self._strips.clear()
            self._drawn, self._drawn_for = list(lines), size
        return self._drawn

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return max((line.cell_length for line in self.lines(*container)), default=0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        size = room_of(self)
        return len(self._fitted(size if size.width == width else Size(width, viewport.height)))

    def render_line(self, y: int) -> Strip:
        room, ground = room_of(self), self.visual_style
        if ground is not self._ground:
            self._strips.clear()
            self._ground = ground
        lines = self._fitted(room)
        if y not in self._strips:
            self._strips[y] = strip_of(lines[y] if y < len(lines) else Content(""), room.width, ground)
        return self._strips[y]


class Said(Lines):
    """Lines that somebody else says."""

    WRAPS = True

    def __init__(self, said: Iterable[Content] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._said = tuple(said)

    def say(self, *said: Content) -> None:
        """Draw these."""
        self._said = said
        self.redraw()

    def lines(self, width: int, height: int) -> Iterable[Content]:
        return self._said


def _wrapped(line: Content, width: int) -> Sequence[Content]:
    """Where there is no room for words the line stays, and is cut."""
    fits = line.cell_length <= width and "\n" not in line.plain
    return [line] if fits or width < NARROWEST else line.wrap(width)
