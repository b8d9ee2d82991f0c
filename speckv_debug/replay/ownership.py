"""What the ownership laws look at: the ledger's facts as instances in the order of `seq`."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_beside import UNPAGED
from speckv_debug.replay.ledger_events import TABLES
from speckv_debug.replay.ledger_facts import FAIL, JUDGED, PASS, SKIP, Broken, End
from speckv_debug.replay.ledger_loss import HARMLESS
from speckv_debug.replay.ledger_unsaid import unsaid
from speckv_debug.replay.not_said import NotSaid
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import Int64s

Codes = npt.NDArray[np.uint8]
PAGES = ("alloc", "free", "free_group")
ROWS = (*PAGES, "table_write", "cache")
NEEDS = {
    "double": PAGES,
    "unsafe": ROWS,
    "alias": ROWS,
    "dangling": (*PAGES, "table_write"),
    "owned": ROWS,
    "leak": ROWS,
    "totals": ROWS,
    "orphan": ROWS,
    "publish": ("table_write", "lengths"),
}
"""Tables without whose every event a law of the ledger can't be judged."""
ENDS = ("release", "row_free")
OF_USES = ("dangling", "owned")
"""Laws that are judged at forwards and verifies."""
LEAK = "leak"
"""What is judged at the end of a request's hold."""
SCOPES = {
    "frees": "double",
    "reclaims": "unsafe",
    "holds": "alias",
    "uses": "dangling",
    "writers": "owned",
    "overwrites": "orphan",
    "pool_totals": "totals",
    "publications": "publish",
    "request_ends": LEAK,
}
"""Scope of a rule → what the ledger judges for it."""


class Judged:
    """Instances of one law with a code each."""

    def __init__(self, ledger: Ledger, law: str, codes: Codes) -> None:
        self.ledger, self.law = ledger, law
        self.codes = codes if (why := unlisted(ledger, law)) is None else np.full_like(codes, why)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def not_said(self) -> NotSaid:
        """Events that would be instances if they said what they are about."""
        return unsaid(self.ledger.events, self.law)

    @property
    def columns_from(self) -> tuple[str, ...]:
        """Tables that the ledger folds for this law."""
        own = (name for name in TABLES if name not in HARMLESS or self.law in OF_USES)
        return (*own, *(("swa_map",) if self.law == "owned" and self.ledger.events.window.pool else ()))

    @property
    def failed(self) -> Int64s:
        """Instances that break the law."""
        return np.flatnonzero(self.codes == FAIL).astype(np.int64)

    @property
    def unknown(self) -> dict[str, Int64s]:
        """Why → instances that can't be judged."""
        found = [int(code) for code in np.unique(self.codes) if code not in (PASS, FAIL)]
        return {self.ledger.facts.why(c): np.flatnonzero(self.codes == c).astype(np.int64) for c in found}


class EventFacts(Judged):
    """One instance an event at which the law is judged."""

    def __init__(self, ledger: Ledger, law: str) -> None:
        facts, tables = ledger.facts, JUDGED[law]
        codes = [facts.column(law, name) for name in tables]
        rows = [np.flatnonzero(c != SKIP) for c in codes]
        table = np.repeat(np.arange(len(tables)), [len(r) for r in rows])
        seqs = [ledger.events.table(n).columns.ints("seq")[r] for n, r in zip(tables, rows, strict=True)]
        order = np.argsort(np.concatenate(seqs), kind="stable")
        self._tables, self._table, self._row = tables, table[order], np.concatenate(rows)[order]
        picked = np.concatenate([c[r] for c, r in zip(codes, rows, strict=True)])
        super().__init__(ledger, law, picked[order])

    def event(self, index: int) -> tuple[str, int]:
        """Table and row of the event."""
        return self._tables[int(self._table[index])], int(self._row[index])

    def broken(self, index: int) -> Broken:
        """In which way the instance breaks the law."""
        return self.ledger.facts.broken[self.law, *self.event(index)]

    def place(self, index: int) -> Place:
        """Where the event stands; the pool is the one whose allocator hands out the ids."""
        return event_place(self.ledger, *self.event(index))


class RequestEnds(Judged):
    """One instance an end of a request's hold: a release, a row_free without one, or a session's save and close."""

    def __init__(self, ledger: Ledger) -> None:
        self.ends = sorted(ledger.facts.ends, key=lambda end: end.seq)
        super().__init__(ledger, LEAK, np.array([end.code for end in self.ends], dtype=np.uint8))

    def end(self, index: int) -> End:
        """The end itself."""
        return self.ends[index]

    def place(self, index: int) -> Place:
        """Where the request ended."""
        end = self.ends[index]
        place = Place(seq=end.seq, step=end.step, request=end.request, row=end.row, epoch=end.epoch)
        return replace(place, pool=self.ledger.namespaces.main_name)


class Ownership:
    """The ledger of a process and the scopes over its facts."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    @cached_property
    def frees(self) -> EventFacts:
        """One instance a free: are its pages free already?"""
        return EventFacts(self.ledger, "double")

    @cached_property
    def reclaims(self) -> EventFacts:
        """One instance a free of the main pool and a release: does something live in what goes back?"""
        return EventFacts(self.ledger, "unsafe")

    @cached_property
    def holds(self) -> EventFacts:
        """One instance a grant and a write into a row: does another running request hold the page?"""
        return EventFacts(self.ledger, "alias")

    @cached_property
    def uses(self) -> EventFacts:
        """One instance a forward, an accept, and a use by tree or session: is the page free?"""
        return EventFacts(self.ledger, "dangling")

    @cached_property
    def overwrites(self) -> EventFacts:
        """One instance a write over entries of a running request's row that named other slots."""
        return EventFacts(self.ledger, "orphan")

    @cached_property
    def writers(self) -> EventFacts:
        """One instance a forward and an accept that names slots: are the pages its request's own?"""
        return EventFacts(self.ledger, "owned")

    @cached_property
    def ends(self) -> RequestEnds:
        """One instance a request end."""
        return RequestEnds(self.ledger)


def event_place(ledger: Ledger, table: str, row: int) -> Place:
    """The place of an event, with the request that its row belonged to and its allocator's pool."""
    events = ledger.events.table(table)
    place = place_of(events.columns, row)
    space = getattr(events, "namespace", None)
    pool = ledger.namespaces.all[ledger.namespaces.main if space is None else int(space[row])].name
    if place.request is None and place.row is not None and place.epoch is not None:
        life = ledger.past.get((place.row, place.epoch))
        place = replace(place, request=None if life is None else life.request)
    return replace(place, pool=pool)


def unlisted(ledger: Ledger, law: str) -> int | None:
    """The code of the table that was not recorded whole, if the law needs one."""
    info = ledger.info
    if law != "double" and not ledger.main.paged:
        return ledger.facts.reason(UNPAGED)
    missing = [name for name in NEEDS[law] if not info.records(name)]
    if law != "double" and law != "dangling" and not any(info.records(name) for name in ENDS):
        missing.append("release")
    if "free_group" in missing and ledger.page_size == 1 and not ledger.grouped:
        missing.remove("free_group")
    if not missing:
        return None
    return ledger.facts.reason(f"{missing[0]} was not recorded whole")
