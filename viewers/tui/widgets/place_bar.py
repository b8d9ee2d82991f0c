"""The top line: which recording, process, step and request one looks at, and how the check stands."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from speckv_debug.viewers.tui import ink


class PlaceBar(Static):
    """Crumbs on the left, which give way, and the state of the check on the right, which stays."""

    ALLOW_SELECT = False

    crumbs: reactive[tuple[str, ...]] = reactive(())
    count: reactive[str] = reactive("")
    state: reactive[Content] = reactive(Content(""))

    def watch_crumbs(self) -> None:
        self._draw()

    def watch_count(self) -> None:
        self._draw()

    def watch_state(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        left = Content.styled(" ▸ ", ink.FAINT).join(
            Content.styled(crumb, ink.STRONG) for crumb in self.crumbs
        )
        right = Content.assemble((self.count, ink.FAINT), "   " if self.count else "", self.state)
        room = max(0, self.content_region.width - right.cell_length - 2)
        self.update(Content.assemble(left.truncate(room, ellipsis=True, pad=True), "  ", right))
