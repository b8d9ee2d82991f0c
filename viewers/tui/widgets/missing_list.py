"""What the recording lacks, and what could not be judged for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content

from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.panel import Panel


class MissingList(Panel):
    """One line a gap; what does not fit is counted, `u` shows all."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("Missing from the recording", id=id)
        self._said: Sequence[str] = ()
        self._empty = ""

    def show(self, said: Sequence[str], empty: str) -> None:
        """List these lines, or say `empty`."""
        self._said, self._empty = said, empty
        self.redraw()

    def lines(self, width: int, height: int) -> Iterable[Content]:
        if not self._said:
            return [Content.styled(self._empty, ink.FAINT)]
        shown = [Content.styled(line, ink.DOUBT) for line in self._said]
        if len(shown) > height > 1:
            rest = f"and {len(shown) - height + 1} more: u shows all"
            return [*shown[: height - 1], Content.styled(rest, ink.FAINT)]
        return shown
