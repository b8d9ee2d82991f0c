"""What the keys do here and what the marks mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.keys import Deed, by_area

MARKS = (
    ("✗ E", ink.BAD, "an error: a law is broken"),
    ("! W", ink.DOUBT, "a warning: a law is broken, or something could not be taken for sure"),
    ("· N", ink.FAINT, "a note: it never changes the verdict"),
    ("? ", ink.DOUBT, "unknown: what it needs was not recorded"),
    ("●", ink.GOOD, "an accepted verify row"),
    ("○", ink.FAINT, "a rejected verify row"),
    ("=", "", "source and target are the same slot, nothing has to move"),
    ("→", "", "KV[target] <- KV[source] is due"),
    ("R A B", "", "verify rows 0, 1, 2 of this request; X is the bonus token"),
)


class HelpScreen(ModalScreen[None]):
    """Lists the actions of the screen below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,question_mark", "dismiss", "Close", id="help.close", show=False),
    ]

    def __init__(self, listed: Iterable[Deed]) -> None:
        super().__init__()
        self._deeds = tuple(listed)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title = "Keys and marks"
            box.border_subtitle = "escape closes"
            yield Static(Content("\n").join(self._lines()))

    def _lines(self) -> Iterator[Content]:
        for area, listed in by_area(self._deeds).items():
            yield Content.styled(area, f"bold {ink.PLACE}")
            for deed in listed:
                yield Content.assemble((f"  {' '.join(deed.keys):<16} ", ink.STRONG), deed.sentence)
        yield Content.styled("marks", f"bold {ink.PLACE}")
        for mark, style, meaning in MARKS:
            yield Content.assemble((f"  {mark:<16} ", style), meaning)
