"""Tails that are freed from inside a page: broken unless the head of that page goes back beside them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.further import LooksFurther
from speckv_debug.replay.ledger_facts import PASS, UNSEEN, Broken
from speckv_debug.replay.ledger_groups import NEVER
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.ragged import Int64s

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The part of a page before a tail that starts inside it: positions `[first, end)` and their slots and pages."""

    release: int
    seq: int
    tenure: int
    first: int
    end: int
    slots: Int64s
    pages: tuple[int, ...]


@dataclass(slots=True)
class Heads:
    """Releases whose boundary lies inside a page, to be judged when the frees that follow them have come."""

    waiting: list[Head] = field(default_factory=list)

    def add(self, ledger: Ledger, release: int, tenure: Tenure, first: int, end: int) -> None:
        """Wait for the end of the free group, or for the next quiet point."""
        reach = slice(max(first, 0), max(0, min(end, tenure.extent)))
        slots, pages = tenure.slots[reach].copy(), tenure.pages[reach]
        named = tuple(np.unique(pages[pages >= 0]).tolist())
        seq = ledger.events.rows["release"].ints("seq")[release]
        head = Head(
            release=release, seq=seq, tenure=tenure.id, first=first, end=end, slots=slots, pages=named
        )
        self.waiting.append(head)
        ledger.facts.mark("unsafe", "release", release, UNSEEN)

    def settle(self, ledger: Ledger) -> None:
        """Judge what waits: fail where a position of the page is kept or was not named by any free since."""
        for head in self.waiting:
            kept = ~np.isin(head.slots, _freed_since(ledger, head.seq))
            if kept.any() or len(head.slots) < head.end - head.first:
                ends = (head.first, head.end - 1)
                broken = Broken(way="unaligned", pages=head.pages, other=head.tenure, positions=ends)
                ledger.facts.fail("unsafe", "release", head.release, broken)
            else:
                ledger.facts.mark("unsafe", "release", head.release, PASS)
        self.waiting.clear()

    def renumber(self, gone: int) -> None:
        """Count the rows of the table `release` from a later one on."""
        if any(head.release < gone for head in self.waiting):
            raise LooksFurther("a release waits long for its frees")
        self.waiting = [replace(head, release=head.release - gone) for head in self.waiting]

    def finish(self, ledger: Ledger) -> None:
        """The recording ends; inside a group the frees to come are not known."""
        if ledger.groups:
            self.lose(ledger, ledger.facts.reason(NEVER))
        self.settle(ledger)

    def lose(self, ledger: Ledger, why: int) -> None:
        """The frees that decide it may be missing."""
        for head in self.waiting:
            ledger.facts.mark("unsafe", "release", head.release, why)
        self.waiting.clear()


def _freed_since(ledger: Ledger, seq: int) -> Int64s:
    """Slots of the main pool that frees between an event and now named."""
    rows = ledger.events.slots["free"]
    seqs = rows.columns.ints("seq")
    first, end = np.searchsorted(seqs, seq), np.searchsorted(seqs, ledger.seq, side="right")
    main = ledger.namespaces.main
    named = [rows.slots(i) for i in range(int(first), int(end)) if rows.namespace[i] == main]
    return np.concatenate(named) if named else np.empty(0, dtype=np.int64)
