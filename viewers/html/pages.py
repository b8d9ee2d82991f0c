"""The map of the pages around a finding: before its event, at it, and when its step is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from speckv_debug.model.text import amount, printable
from speckv_debug.replay.namespaces import COUNTED
from speckv_debug.replay.page_map import Holder, PageMap
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
LEAVING = ("↩", "not free yet: freed or taken over later in the step")
"""Of a page that nobody holds for a moment, between the release of its holder and its own end."""
NAMED = (Use.COMMITTED, Use.RESERVE, Use.CONFLICT)
"""Uses of which the request is known whose row names the page."""
GRANTED_TO = (Use.GRANTED, Use.UNHELD)
"""Uses of which it is only known whom the page was granted to at last."""


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
            shapes += _page(moment.map, page, _x(at), y, page in pages, page in leaving(moments, number))
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


def leaving(moments: Sequence[Moment], number: int) -> frozenset[int]:
    """Pages that nobody holds at this moment and that are free or somebody's at the last one: on their way back."""
    found, last = moments[number].map, moments[-1].map
    pages = set(found.pages(Use.UNHELD).tolist()) - set(last.pages(Use.UNHELD).tolist())
    return frozenset(pages)


def _page(found: PageMap, page: int, x: float, y: float, own: bool, returns: bool) -> Iterator[Html]:
    use = Use(int(found.use[page - found.first]))
    look = "leaving" if returns else use.name.lower()
    yield box(x, y, CELL, TALL, f"page use-{look}" + (" own" if own else ""))
    loud = (own and not returns and use in (Use.CONFLICT, Use.UNHELD)) or page in found.dangling
    sign = LEAVING[0] if returns else SIGNS[use]
    yield label(x + CELL / 2, y + TALL / 2 + 4, f"✗{sign}" if loud else sign, "wrong" if loud else "")
    if (holder := holder_shown(found, page)) is not None:
        yield label(x + CELL / 2, y + TALL + 10, _name(holder.request, holder.row), "tiny")


def holder_shown(found: PageMap, page: int) -> Holder | None:
    """Whose row names a page, or whom it was granted to where no row does.

    Tree, sessions and transfers hold without a row; who holds a counted page its references tell, not its grant.
    """
    use = Use(int(found.use[page - found.first]))
    return found.holder_of(page) if use in (*NAMED, *GRANTED_TO) and found.kind != COUNTED else None


def words_of(found: PageMap, use: Use) -> str:
    """The use in words; pages of a pool that rows do not name are out, and that is all the map knows."""
    if use is Use.GRANTED and found.kind == COUNTED:
        return "granted: who holds it its references tell"
    return WORDS[use]


def _name(request: str | None, row: int) -> str:
    name = printable(request) if request is not None else f"row {row}"
    return name if len(name) <= 6 else f"{name[:5]}…"


def _legend(moments: Sequence[Moment], shown: Sequence[int], hidden: int, pages: Sequence[int]) -> Html:
    seen = [
        (moment.map, page, page in leaving(moments, at))
        for at, moment in enumerate(moments)
        for page in shown
    ]
    uses = {Use(int(found.use[page - found.first])) for found, page, returns in seen if not returns}
    words = dict.fromkeys(f"{SIGNS[use]} {words_of(moments[0].map, use)}" for use in sorted(uses))
    keys = [element("span", each) for each in words]
    if any(returns for *_, returns in seen):
        keys.append(element("span", " ".join(LEAVING)))
    if any(page in m.map.dangling for m in moments for page in pages):
        keys.append(element("span", f"✗ {DANGLING}"))
    if uses & set(GRANTED_TO) and any(holder_shown(found, page) for found, page, _ in seen):
        keys.append(element("span", "name below g or !: whom it was granted to at last"))
    if hidden:
        keys.append(element("span", f"{amount(hidden, 'more page')} of the finding not drawn"))
    return element("p", *keys, class_="legend")


def _title(moments: Sequence[Moment], pages: Sequence[int]) -> str:
    told = []
    for number, moment in enumerate(moments):
        shown = [
            page for page in sorted(set(pages))[:MOST_PAGES] if 0 <= page - moment.map.first < len(moment.map)
        ]
        told.append(
            f"{moment.words}: {', '.join(f'page {page} {said_of(moments, number, page)}' for page in shown)}"
        )
    return "Pages of the pool. " + "; ".join(told)


def said_of(moments: Sequence[Moment], number: int, page: int) -> str:
    """The use of a page at a moment in words, with what is wrong about it."""
    found = moments[number].map
    use = words_of(found, Use(int(found.use[page - found.first])))
    said = LEAVING[1] if page in leaving(moments, number) else use
    return f"{said}, ✗ {DANGLING}" if page in found.dangling else said
