"""What a finding about a page says: who held it, who freed it, where, with the page's history."""

from __future__ import annotations

from speckv_debug.checks.evidence import named
from speckv_debug.checks.rule import Details
from speckv_debug.kernels.reserve import tail_start
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import quantity
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_facts import Broken
from speckv_debug.replay.ownership import EventFacts, RequestEnds, event_place
from speckv_debug.replay.page_history import last_event, page_history, ranges, slots_in
from speckv_debug.replay.places import Place

HISTORIES = 2
"""Pages whose history a finding shows; the others are named only."""


def explain_again(frees: EventFacts, i: int) -> Details:
    """A page that was in the free list already."""
    broken, place, (table, row) = frees.broken(i), frees.place(i), frees.event(i)
    slots, page = slots_in(frees.ledger.events.slots[table], row, broken.pages), broken.pages[0]
    if broken.way == "early":
        return _explain_early(frees, place, broken, slots)
    first = last_event(frees.ledger, "free", place.pool, page, place.seq)
    where = {
        "itself": "the same free, which names it twice",
        "group": f"{_freed(frees.ledger, first)}, in the same free group",
        "again": _freed(frees.ledger, first),
    }[broken.way]
    return Details(
        message=f"{_what(frees.ledger, slots, broken.pages)} of pool {place.pool} {_be(broken.pages)} freed a second "
        f"time, after {where}",
        expected="each page is freed once after it was granted",
        actual=f"freed again by {_freed(frees.ledger, row)}",
        slots=slots,
        pages=broken.pages,
        evidence=_histories(frees.ledger, place, broken.pages),
    )


def _explain_early(frees: EventFacts, place: Place, broken: Broken, slots: tuple[int, ...]) -> Details:
    """A page that is granted before its free has taken effect."""
    granted = place.seq if broken.at is None else broken.at[0]
    return Details(
        message=f"{_what(frees.ledger, slots, broken.pages)} of pool {place.pool} {_be(broken.pages)} granted again at event "
        f"{granted}, while the free waits for the end of its free group",
        expected="a free inside a group takes effect at the group's end, and the page is granted behind it",
        actual=f"the group of event {place.seq} had no end before event {granted}",
        slots=slots,
        pages=broken.pages,
        evidence=tuple(page_history(frees.ledger, place.pool, p, granted) for p in broken.pages[:HISTORIES]),
    )


def explain_unsafe(reclaims: EventFacts, i: int) -> Details:
    """A page that goes back with live positions in it."""
    broken, place, (table, row) = reclaims.broken(i), reclaims.place(i), reclaims.event(i)
    ledger = reclaims.ledger
    positions = "" if broken.positions is None else f"[{broken.positions[0]}, {broken.positions[1] + 1})"
    start = ledger.events.rows["release"].int_or_none("free_start", row) if table == "release" else None
    size = ledger.page_size
    message = {
        "unaligned": f"the tail is freed from position {start}, inside a page of {size}: "
        f"positions {positions} share that page",
        "short": f"the tail is freed from position {start}, but positions {positions} are kept",
        "tail": f"the free of the tail names positions {positions}, before the boundary of the tail",
        "tree": f"{_pages(broken.pages)} {_be(broken.pages)} freed from under the prefix tree",
        "row": f"{_pages(broken.pages)} {_be(broken.pages)} freed from under {_who(ledger, broken)}, positions {positions}",
    }[broken.way]
    return Details(
        message=message,
        expected=_due(broken, start, size),
        actual=f"{_pages(broken.pages)} {'would go' if table == 'release' else 'went'} back",
        slots=_slots(reclaims, i, broken),
        pages=broken.pages,
        evidence=_histories(ledger, place, broken.pages),
    )


def explain_use(uses: EventFacts, i: int) -> Details:
    """A page that is used while it is in the free list."""
    broken, place, (table, row) = uses.broken(i), uses.place(i), uses.event(i)
    page = broken.pages[0]
    freed = _freed(uses.ledger, last_event(uses.ledger, "free", place.pool, page, place.seq))
    action = uses.ledger.events.slots["cache"].texts("action")[row] if table == "cache" else table
    verb = {"written": "writes to", "read": "reads", "cached": "names"}[broken.way]
    return Details(
        message=f"{action} {verb} {_pages(broken.pages)} of pool {place.pool}, which went to the free list before "
        f"({freed})",
        expected="every page that is used is held by its user",
        actual=f"{_pages(broken.pages)} {_since(uses, place, page)}",
        slots=_slots(uses, i, broken),
        pages=broken.pages,
        evidence=_histories(uses.ledger, place, broken.pages),
    )


def explain_alias(holds: EventFacts, i: int) -> Details:
    """A page that two running requests hold."""
    broken, place, (table, row) = holds.broken(i), holds.place(i), holds.event(i)
    ledger, slots = holds.ledger, slots_in(holds.ledger.events.slots[table], row, broken.pages)
    if broken.way == "unfreed":
        return _explain_unfreed(holds, place, broken, slots)
    what = _what(ledger, slots, broken.pages)
    at = (
        ""
        if broken.positions is None
        else f" at positions [{broken.positions[0]}, {broken.positions[1] + 1})"
    )
    start = ledger.events.slots[table].int_or_none("start", row) if table == "table_write" else None
    verb = (
        "is granted to" if table == "alloc" else f"is written into row {place.row} (from position {start}) of"
    )
    return Details(
        message=f"{what} of pool {place.pool} {verb} {named(place.request)} while {_who(ledger, broken)} "
        f"holds {_pages(broken.pages)}{at}",
        expected="two running requests share a page only in a prefix of the tree",
        actual=f"{_pages(broken.pages)} {_be(broken.pages)} held by {_who(ledger, broken)} and by row {place.row}, epoch {place.epoch}",
        slots=slots,
        pages=broken.pages,
        evidence=_histories(ledger, place, broken.pages),
    )


def _explain_unfreed(holds: EventFacts, place: Place, broken: Broken, slots: tuple[int, ...]) -> Details:
    """A page that is granted without having gone back."""
    be = _be(broken.pages)
    return Details(
        message=f"{_what(holds.ledger, slots, broken.pages)} of pool {place.pool} {be} granted to {named(place.request)}, but "
        f"did not go back since {'it was' if len(broken.pages) == 1 else 'they were'} granted before",
        expected="a page is granted from the free list",
        actual=f"{_pages(broken.pages)} {be} not free, and nobody holds {'it' if len(broken.pages) == 1 else 'them'}",
        slots=slots,
        pages=broken.pages,
        evidence=_histories(holds.ledger, place, broken.pages),
    )


def explain_leak(ends: RequestEnds, i: int) -> Details:
    """Pages that have no holder any more and never went back."""
    end, place, ledger = ends.end(i), ends.place(i), ends.ledger
    count = len(end.pages) * ledger.page_size
    rows = tuple(_last_seen(ledger, place, page) for page in end.pages[:64])
    left_out = f", the first 64 of {len(end.pages)} pages" if len(end.pages) > 64 else ""
    what, have = ("page", "has") if len(end.pages) == 1 else ("pages", "have")
    return Details(
        message=f"{named(end.request)} ended, but {len(end.pages)} {what} that it held ({quantity(count, 'slot')} of pool "
        f"{place.pool}) {have} no holder and never went back: {ranges(end.pages)}",
        expected="every page is free, or held by the tree, a session, a transfer or another request",
        actual=f"{what} {ranges(end.pages, 12)}: granted, not freed since",
        pages=end.pages,
        evidence=(
            Evidence(
                title=f"pages left behind{left_out}",
                columns=("page", "granted at seq", "step", "to request", "row", "epoch", "site"),
                rows=rows,
            ),
        ),
    )


def explain_orphan(overwrites: EventFacts, i: int) -> Details:
    """Slots that a row no longer names and nobody else has."""
    broken, place, ledger = overwrites.broken(i), overwrites.place(i), overwrites.ledger
    first, last = broken.positions or (0, 0)
    one = len(broken.pages) == 1
    granted = last_event(ledger, "alloc", place.pool, broken.pages[0], place.seq)
    since = "" if granted is None else f", granted at event {event_place(ledger, 'alloc', granted).seq}"
    return Details(
        message=f"row {place.row} of {named(place.request)} is overwritten at positions [{first}, {last + 1}): "
        f"{_pages(broken.pages)} that it named there{since}, {'has' if one else 'have'} no other holder and did not go back",
        expected="what a row no longer names is free, or held by the tree, a session, a transfer or another row",
        actual=f"{_pages(broken.pages)} {_be(broken.pages)} not free, and nobody names {'it' if one else 'them'}",
        slots=broken.slots,
        pages=broken.pages,
        evidence=_histories(ledger, place, broken.pages),
    )


def _since(uses: EventFacts, place: Place, page: int) -> str:
    """What became of a page since it was freed."""
    free = last_event(uses.ledger, "free", place.pool, page, place.seq)
    granted = last_event(uses.ledger, "alloc", place.pool, page, place.seq)
    if granted is None or free is None:
        return "is free"
    to, freed = event_place(uses.ledger, "alloc", granted), event_place(uses.ledger, "free", free)
    return "is free" if to.seq < freed.seq else f"was granted to {named(to.request)} at event {to.seq} since"


def _last_seen(ledger: Ledger, place: Place, page: int) -> tuple[Cell, ...]:
    row = last_event(ledger, "alloc", place.pool, page, 1 << 62)
    if row is None:
        return (page, None, None, None, None, None, None)
    at = event_place(ledger, "alloc", row)
    site = ledger.events.slots["alloc"].columns.text_at("site", row)
    return (page, at.seq, at.step, at.request, at.row, at.epoch, site)


def _due(broken: Broken, start: int | None, size: int) -> str:
    if broken.way in ("unaligned", "short") and start is not None and broken.positions is not None:
        length = start if broken.way == "unaligned" else broken.positions[1] + 1
        return f"the free of the tail starts at {tail_start(length, size)}, the page boundary behind {length}"
    if broken.way == "tail":
        return "the free of a tail names no position before its page boundary"
    return "no freed page holds a live position"


def _slots(scope: EventFacts, i: int, broken: Broken) -> tuple[int, ...] | None:
    """Slots of the event in the pages; those of the row where the event names none."""
    table, row = scope.event(i)
    events = scope.ledger.events
    lists = {"accept": events.accept_written, **events.slots}.get(table)
    named = slots_in(lists, row, broken.pages) if lists is not None else ()
    return named or None


def _histories(ledger: Ledger, place: Place, pages: tuple[int, ...]) -> tuple[Evidence, ...]:
    return tuple(page_history(ledger, place.pool, page, place.seq) for page in pages[:HISTORIES])


def _freed(ledger: Ledger, row: int | None) -> str:
    """One free in words."""
    if row is None:
        return "it has been since the recording began"
    place, columns = event_place(ledger, "free", row), ledger.events.slots["free"].columns
    reason, site = columns.text_at("reason", row), columns.text_at("site", row)
    of = "" if place.request is None else f" of {place.request}"
    return f"event {place.seq}, {reason or 'free'}{of}" + (f" in {site}" if site else "")


def _who(ledger: Ledger, broken: Broken) -> str:
    if broken.other is None:
        return "the prefix tree" if broken.way == "from_tree" else "nobody known"
    tenure = ledger.tenures[broken.other]
    return f"{named(tenure.request)} (row {tenure.row}, epoch {tenure.epoch})"


def _pages(pages: tuple[int, ...]) -> str:
    return f"page {pages[0]}" if len(pages) == 1 else f"pages {ranges(pages)}"


def _be(pages: tuple[int, ...]) -> str:
    return "is" if len(pages) == 1 else "are"


def _what(ledger: Ledger, slots: tuple[int, ...], pages: tuple[int, ...]) -> str:
    if slots and ledger.page_size == 1:
        return f"slot {slots[0]}" if len(set(slots)) == 1 else f"{len(set(slots))} slots ({ranges(slots)})"
    return _pages(pages)
