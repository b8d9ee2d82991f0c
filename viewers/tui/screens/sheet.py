"""A sheet of text over the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from speckv_debug.viewers.tui.widgets.lines import Lines

OfWidth = Callable[[int], Iterable[Content]]


class SheetText(Lines):
    """Text that is laid out for the width of its sheet."""

    WRAPS = True

    def __init__(self, text: OfWidth) -> None:
        super().__init__()
        self._text = text

    def lines(self, width: int, height: int) -> Iterable[Content]:
        return self._text(width)


class Sheet(ModalScreen[None]):
    """Scrolls; any of the keys that could have opened it closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,question_mark,u", "dismiss", "Close", id="sheet.close", show=False),
        Binding("down,j", "scroll(1)", "Down", id="move.down", show=False),
        Binding("up,k", "scroll(-1)", "Up", id="move.up", show=False),
    ]

    def __init__(self, title: str, text: OfWidth) -> None:
        super().__init__()
        self._heading, self._text = title, text

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="sheet") as sheet:
            sheet.border_title = self._heading
            sheet.border_subtitle = "escape closes"
            yield SheetText(self._text)

    def refill(self) -> None:
        """What it tells has become other."""
        if self.is_mounted:
            self.query_one(SheetText).redraw()

    def action_scroll(self, by: int) -> None:
        self.query_one("#sheet").scroll_relative(y=by, animate=False)
