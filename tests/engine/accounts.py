"""A plain account of one recording's slots, kept from its events alone, to be held against the engine's own.

It shares no code with the ledger of `replay`: sets and counters, one event at a time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from speckv_debug.model.events import Alloc, Cache, Free, FreeGroup, PoolStat, Release


@dataclass
class Account:
    """Free pages, slots of the tree and their locks."""

    page_size: int
    slots: int
    free_pages: set[int] = field(default_factory=set)
    queued: list[int] = field(default_factory=list)
    tree: set[int] = field(default_factory=set)
    locks: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    compared: int = 0

    def __post_init__(self) -> None:
        self.free_pages = set(range(1, self.slots // self.page_size + 1))

    def take(self, event: Any) -> None:
        """Book one event; disagreements are noted."""
        if isinstance(event, Alloc) and event.slots:
            self.free_pages -= {slot // self.page_size for slot in event.slots}
        elif isinstance(event, Free):
            pages = dict.fromkeys(slot // self.page_size for slot in event.slots)
            if event.group is None:
                self._give_back(event, pages)
            else:
                self.queued += pages
        elif isinstance(event, FreeGroup) and event.action == "end":
            self._give_back(event, dict.fromkeys(self.queued))
            self.queued = []
        elif isinstance(event, Cache):
            self._take_cache(event)
        elif isinstance(event, PoolStat):
            self._compare(event)

    def _give_back(self, event: Any, pages: dict[int, None]) -> None:
        if twice := self.free_pages & pages.keys():
            self.faults.append(f"seq {event.seq}: pages {sorted(twice)} are free already")
        self.free_pages |= pages.keys()

    def _take_cache(self, event: Cache) -> None:
        slots = event.slots or ()
        if event.action == "insert":
            self.tree |= set(slots)
        elif event.action == "evict":
            self.tree -= set(slots)
        elif event.action in ("lock", "unlock"):
            sign = 1 if event.action == "lock" else -1
            self.locks.update({slot: sign for slot in slots})

    def _compare(self, stat: PoolStat) -> None:
        protected = sum(1 for slot in self.tree if self.locks[slot] > 0)
        ours = (len(self.free_pages) * self.page_size, len(self.tree) - protected, protected)
        theirs = (stat.available, stat.evictable, stat.protected)
        self.compared += 1
        if ours != theirs:
            self.faults.append(
                f"seq {stat.seq}: available, evictable, protected are {ours}, the engine says {theirs}"
            )


def account_of(process: Any) -> Account:
    """The account of one recorded process, all events booked."""
    pool = process.info.pool("full")
    account = Account(page_size=pool.page_size, slots=pool.slots)
    for event in process.events():
        account.take(event)
    return account


def rejected_at_the_end(events: list[Any]) -> set[str]:
    """Requests that were finished while their last verify had rejected drafts."""
    last, ended = {}, set()
    for event in events:
        if event.table == "accept":
            last[event.request] = event
        elif isinstance(event, Release) and event.kind == "finish":
            verify = last.get(event.request)
            if verify is not None and verify.accept_len < len(verify.accept_index):
                ended.add(event.request)
    return ended
