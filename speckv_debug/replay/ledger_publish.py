"""Inserts into the prefix tree: whether what becomes matchable is committed, and lies where the row has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.ledger_facts import PASS, Broken
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.ragged import NULL, Int64s

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

NOBODY = "the insert names no request whose row is known"
NO_START = "the insert does not tell at which position its slots begin"
NO_LENGTHS = "how much of the request is committed was not recorded"
NO_SLOTS = "the insert does not tell which slots it takes"
NO_ENTRIES = "what the request's row named there was not recorded"


def judge_insert(ledger: Ledger, index: int) -> None:
    """A node takes slots of a request's row."""
    rows = ledger.events.slots["cache"]
    if not rows.told(index):
        return ledger.facts.mark("publish", "cache", index, ledger.facts.reason(NO_SLOTS))
    request, start, slots = rows.texts("request")[index], rows.ints("start")[index], rows.slots(index)
    tenure = None if request is None else ledger.requests.get(request)
    if tenure is None or start == NULL or tenure.committed < 0:
        why = NOBODY if tenure is None else NO_START if start == NULL else NO_LENGTHS
        return ledger.facts.mark("publish", "cache", index, ledger.facts.reason(why))
    places, end = start + np.arange(len(slots)), rows.ints("key_len")[index]
    if rows.told(index) and end not in (NULL, start + len(slots)):
        ends = (min(end, start + len(slots)), max(end, start + len(slots)) - 1)
        return ledger.facts.fail("publish", "cache", index, _of_key(ledger, index, tenure, ends))
    if len(past := np.flatnonzero(places >= tenure.committed)):
        if not tenure.complete:  # a later report may be among what is missing
            return ledger.facts.mark("publish", "cache", index, ledger.facts.reason(NO_LENGTHS))
        return _fail(ledger, index, tenure, "uncommitted", past)
    if start + len(slots) > tenure.extent or (named := tenure.slots[places]).min(initial=0) < 0:
        return ledger.facts.mark("publish", "cache", index, ledger.facts.reason(NO_ENTRIES))
    if len(other := np.flatnonzero(named != slots)):
        stretch = np.arange(other[0], other[-1] + 1)
        return _fail(ledger, index, tenure, "elsewhere", stretch, tuple(named[stretch].tolist()))
    ledger.facts.mark("publish", "cache", index, PASS)


def _of_key(ledger: Ledger, index: int, tenure: Tenure, positions: tuple[int, int]) -> Broken:
    """The node ends elsewhere than its key."""
    pages = ledger.events.slots["cache"].pages(index)
    return Broken(way="key", pages=tuple(pages[-1:].tolist()), other=tenure.id, positions=positions)


def _fail(
    ledger: Ledger, index: int, tenure: Tenure, way: str, which: Int64s, named: tuple[int, ...] = ()
) -> None:
    """`which` are places among the event's slots; `named` is what the row has there."""
    rows = ledger.events.slots["cache"]
    pages = rows.slot_pages(index)[which]
    first = rows.ints("start")[index]
    broken = Broken(
        way=way,
        pages=tuple(np.unique(pages[pages >= 0]).tolist()),
        other=tenure.id,
        positions=(first + int(which[0]), first + int(which[-1])),
        slots=named,
    )
    ledger.facts.fail("publish", "cache", index, broken)
