"""A sheet of text over the screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static


class Sheet(ModalScreen[None]):
    """Scrolls; any of the keys that could have opened it closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,question_mark,u", "dismiss", "Close", id="sheet.close", show=False),
        Binding("down,j", "scroll(1)", "Down", id="move.down", show=False),
        Binding("up,k", "scroll(-1)", "Up", id="move.up", show=False),
    ]

    def __init__(self, title: str, lines: Iterable[Content]) -> None:
        super().__init__()
        self._heading = title
        self._lines = tuple(lines)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="sheet") as sheet:
            sheet.border_title = self._heading
            sheet.border_subtitle = "escape closes"
            yield Static(Content("\n").join(self._lines))

    def action_scroll(self, by: int) -> None:
        self.query_one("#sheet").scroll_relative(y=by, animate=False)
