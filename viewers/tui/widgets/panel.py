"""A titled part of a screen that draws lines for the room it has."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widgets import Static


class Panel(Static):
    """Drawn anew when its size changes; subclasses say what with."""

    ALLOW_SELECT = False

    def __init__(self, title: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.border_title = Content(title)

    def lines(self, width: int, height: int) -> Iterable[Content]:
        """At most `height` lines of `width` cells."""
        raise NotImplementedError

    def on_resize(self) -> None:
        self.redraw()

    def redraw(self) -> None:
        """Draw what is known now."""
        width, height = self.content_region.size
        if width and height:
            lines = (line.truncate(width, ellipsis=True) for line in self.lines(width, height))
            self.update(Content("\n").join(list(lines)[:height]))
