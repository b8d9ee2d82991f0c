"""The top line: which recording, process, step and request one looks at, and how the check stands."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from speckv_debug.viewers.tui import ink

BETWEEN = " ▸ "
LEAST = 6


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
        right = Content.assemble((self.count, ink.FAINT), "   " if self.count else "", self.state)
        room = max(0, self.content_region.width - right.cell_length - 2)
        names = shortened(self.crumbs, room)
        left = Content.styled(BETWEEN, ink.FAINT).join(Content.styled(name, ink.STRONG) for name in names)
        self.update(Content.assemble(left.truncate(room, ellipsis=True, pad=True), "  ", right))


def shortened(names: tuple[str, ...], room: int) -> list[str]:
    """The names, to be joined in `room` cells; what leads there gives way before the place itself."""
    excess = sum(map(cell_len, names)) + len(BETWEEN) * (len(names) - 1) - room
    cut = []
    for name in names:
        give = min(max(0, excess), max(0, cell_len(name) - LEAST))
        excess -= give
        cut.append(name if not give else set_cell_size(name, cell_len(name) - give - 1) + "…")
    return cut
