"""The page under the cursor: what it is used for and everybody who holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.content import Content

from speckv_debug.model.text import printable
from speckv_debug.replay.holders import PageHolders
from speckv_debug.replay.page_map import PageMap
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.page_signs import SIGNS, sign_of, words_of
from speckv_debug.viewers.tui.widgets.panel import Panel


class PageDetail(Panel):
    """In words, so that nothing depends on a sign."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("Page", id=id)
        self._map: PageMap | None = None
        self._page = 0
        self._holders: PageHolders | None = None

    def show(self, found: PageMap, page: int, holders: PageHolders | None) -> None:
        """Draw a page of this map; `holders` None while they are being asked for."""
        self._map, self._page, self._holders = found, page, holders
        start = page * found.page_size
        self.retitle(Content(f"Page {page:,} · slots [{start}, {start + found.page_size})"))
        self.redraw()

    def lines(self, width: int, height: int) -> Iterable[Content]:
        found = self._map
        if found is None or not len(found):
            return []
        use = Use(int(found.use[self._page - found.first]))
        holder = found.holder_of(self._page)
        style = SIGNS[use][1]
        lines = [Content.assemble((f"{sign_of(use, holder)} ", style), words_of(use, found))]
        held = self._holders
        if held is not None and held.page == self._page:
            lines += [Content(line) for line in _held(held)]
        elif holder is not None:
            lines.append(Content(f"request {_name(holder.request)} · row {holder.row} epoch {holder.epoch}"))
        if self._page in found.dangling:
            lines.append(
                Content.styled("freed, still in a running row; normal until it is written again", ink.DOUBT)
            )
        return [*lines, Content.styled("enter shows its history", ink.FAINT)]


def _held(held: PageHolders) -> Iterator[str]:
    for row in held.rows:
        yield f"request {_name(row.request)} · row {row.row} epoch {row.epoch} · positions [{row.start}, {row.end})"
    if held.owner is not None and held.owner not in {row.request for row in held.rows}:
        yield f"last granted to {_name(held.owner)}"
    if held.tree:
        yield "node of the prefix tree, " + ("locked" if held.locked else "not locked")
    if held.session is not None:
        yield f"session of {_name(held.session)}"
    if held.in_flight:
        yield "in a transfer that has not ended"
    if held.pending is not None:
        yield f"waits in free group {held.pending}"
    if held.free:
        yield "in the free list"


def _name(request: str | None) -> str:
    return "without a name" if request is None else printable(request)
