"""The map of the pages around a finding: before its event, at it, and when its step is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from speckv_debug.model.text import amount, printable
from speckv_debug.replay.page_map import PageMap
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import box, label, picture

CELL, PITCH, TALL, GAP, EDGE, TOP, NAMES, MOST_PAGES, AROUND = 34, 38, 24, 12, 4, 18, 106, 14, 2
SIGNS = {
    Use.UNKNOWN: "?",
    Use.FREE: "·",
    Use.UNHELD: "!",
    Use.GRANTED: "g",
    Use.RESERVE: "r",
    Use.COMMITTED: "C",
    Use.SESSION: "s",
    Use.TREE: "T",
    Use.EVICTABLE: "T",
    Use.LOCKED: "L",
    Use.WAITING: "w",
    Use.TRANSFER: "~",
    Use.CONFLICT: "‼",
}
"""One sign a use, so that the map is read without colour."""
WORDS = {
    Use.UNKNOWN: "not seen yet",
    Use.FREE: "free",
    Use.UNHELD: "out of the free list, held by nobody",
    Use.GRANTED: "granted, named by no row that is followed",
    Use.RESERVE: "reserve of a request",
    Use.COMMITTED: "committed KV of a request",
    Use.SESSION: "kept by a session",
    Use.TREE: "in the prefix tree",
    Use.EVICTABLE: "in the prefix tree",
    Use.LOCKED: "in the tree, locked by a request",
    Use.WAITING: "freed in a group that has not ended",
    Use.TRANSFER: "in a transfer",
    Use.CONFLICT: "two running requests at once",
}
"""The uses in words, also those of the figures over time."""


DANGLING = "freed while a running row names it"


@dataclass(frozen=True, slots=True)
class Moment:
    """A map and when it was: `before event 243`."""

    words: str
    map: PageMap


def draw_pages(moments: Sequence[Moment], pages: Sequence[int]) -> Html:
    """The pages and their neighbours, one lane a moment; the pages of the finding stand in a frame."""
    shown, hidden = window(moments, pages)
    if not shown:
        return Html()
    shapes = [label(EDGE + NAMES - 6, TOP - 5, "page", "lane", "end")]
    for at, page in enumerate(shown):
        shapes.append(label(_x(at) + CELL / 2, TOP - 5, page, "small"))
    for number, moment in enumerate(moments):
        y = TOP + number * (TALL + GAP + 12)
        shapes.append(label(EDGE + NAMES - 6, y + TALL / 2 + 4, moment.words, "lane", "end"))
        for at, page in enumerate(shown):
            shapes += _page(moment.map, page, _x(at), y, page in pages)
    width, height = _x(len(shown)) + EDGE, TOP + len(moments) * (TALL + GAP + 12)
    drawn = picture(width, height, shapes, title=_title(moments, pages), class_="pages")
    return element("div", drawn, _legend(moments, shown, hidden, pages))


def _x(at: int) -> float:
    return EDGE + NAMES + at * PITCH


def window(moments: Sequence[Moment], pages: Sequence[int]) -> tuple[list[int], int]:
    """The finding's pages with two neighbours on each side, as many as there is room for; and how many of its own are not shown."""
    if not moments:
        return [], 0
    first, last = moments[0].map.first, moments[0].map.first + len(moments[0].map) - 1
    own = sorted(page for page in set(pages) if first <= page <= last)
    near = {n for page in own for n in range(page - AROUND, page + AROUND + 1) if first <= n <= last}
    kept = own[:MOST_PAGES]
    for page in sorted(near - set(own)):
        if len(kept) < MOST_PAGES:
            kept.append(page)
    return sorted(kept), len(own) - len(own[:MOST_PAGES])


def _page(found: PageMap, page: int, x: float, y: float, own: bool) -> Iterator[Html]:
    use = Use(int(found.use[page - found.first]))
    loud = own and use in (Use.CONFLICT, Use.UNHELD)
    yield box(x, y, CELL, TALL, f"page use-{use.name.lower()}" + (" own" if own else ""))
    dangling = page in found.dangling
    sign = "✗" + SIGNS[use] if loud or dangling else SIGNS[use]
    yield label(x + CELL / 2, y + TALL / 2 + 4, sign, "wrong" if loud or dangling else "")
    holder = found.holder_of(page)
    if holder is not None and use is not Use.FREE:
        yield label(x + CELL / 2, y + TALL + 10, _name(holder.request, holder.row), "tiny")


def _name(request: str | None, row: int) -> str:
    name = printable(request) if request is not None else f"row {row}"
    return name if len(name) <= 6 else f"{name[:5]}…"


def _legend(moments: Sequence[Moment], shown: Sequence[int], hidden: int, pages: Sequence[int]) -> Html:
    uses = {Use(int(m.map.use[page - m.map.first])) for m in moments for page in shown}
    words = dict.fromkeys(f"{SIGNS[use]} {WORDS[use]}" for use in sorted(uses))
    keys = [element("span", each) for each in words]
    if any(page in m.map.dangling for m in moments for page in pages):
        keys.append(element("span", f"✗ {DANGLING}"))
    if hidden:
        keys.append(element("span", f"{amount(hidden, 'more page')} of the finding not drawn"))
    return element("p", *keys, class_="legend")


def _title(moments: Sequence[Moment], pages: Sequence[int]) -> str:
    told = []
    for moment in moments:
        found = moment.map
        uses = [
            f"page {page} {WORDS[Use(int(found.use[page - found.first]))]}{f', ✗ {DANGLING}' if page in found.dangling else ''}"
            for page in sorted(set(pages))[:MOST_PAGES]
            if 0 <= page - found.first < len(found)
        ]
        told.append(f"{moment.words}: {', '.join(uses)}")
    return "Pages of the pool. " + "; ".join(told)
