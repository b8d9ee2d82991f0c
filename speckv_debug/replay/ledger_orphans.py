"""Row entries that are overwritten: whether the pages that they named are free then, or still with someone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.further import LooksFurther
from speckv_debug.replay.ledger_facts import PASS, UNSEEN, Broken
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.ragged import Int64s

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

UNSEEN_ENTRIES = "what the row named there before was not recorded"
NOT_SETTLED = "the recording ends before a settled point shows what became of the overwritten slots"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwritten:
    """Entries of a row that were overwritten: their positions, and the slots and pages that they named."""

    write: int
    seq: int
    step: int | None
    tenure: int
    positions: Int64s
    slots: Int64s
    pages: Int64s


@dataclass(slots=True)
class Orphans:
    """Writes over entries that named other slots; they are judged at the next settled point.

    A free may follow the write: what is free then, or has a holder, is lost to nobody.

    Attributes:
        untold: Tenure → first position that a write without slots may have overwritten.
    """

    waiting: list[Overwritten] = field(default_factory=list)
    untold: dict[int, int] = field(default_factory=dict)

    def hide(self, tenure: Tenure, start: int) -> None:
        """A write into the row does not say which slots: what it names from position `start` on is not known."""
        self.untold[tenure.id] = min(start, self.untold.get(tenure.id, start))

    def note(self, ledger: Ledger, write: int, tenure: Tenure, start: int, slots: Int64s) -> None:
        """A row that runs is about to be written from position `start` on."""
        extent, known = min(start + len(slots), tenure.extent), tenure.slots[start : tenure.extent]
        old, pages = known[: len(slots)], tenure.pages[start:extent]
        changed = np.flatnonzero((old != slots[: len(old)]) & (pages >= 0))
        hidden = start + changed >= self.untold.get(tenure.id, start + len(slots))
        if hidden.any():
            ledger.facts.mark("orphan", "table_write", write, ledger.facts.reason(UNSEEN_ENTRIES))
        elif len(changed):
            self._wait(ledger, write, tenure, start + changed, old[changed].copy(), pages[changed].copy())
        elif _unseen(tenure, start, old, len(slots)):
            ledger.facts.mark("orphan", "table_write", write, ledger.facts.reason(UNSEEN_ENTRIES))

    def _wait(
        self, ledger: Ledger, write: int, tenure: Tenure, at: Int64s, slots: Int64s, pages: Int64s
    ) -> None:
        columns = ledger.events.slots["table_write"]
        ledger.facts.mark("orphan", "table_write", write, UNSEEN)
        self.waiting.append(
            Overwritten(
                write=write,
                seq=columns.ints("seq")[write],
                step=columns.int_or_none("step", write),
                tenure=tenure.id,
                positions=at,
                slots=slots,
                pages=pages,
            )
        )

    def renumber(self, gone: int) -> None:
        """Count the rows of the table `table_write` from a later one on."""
        if any(overwritten.write < gone for overwritten in self.waiting):
            raise LooksFurther("overwritten entries wait long for a settled point")
        self.waiting = [replace(each, write=each.write - gone) for each in self.waiting]

    def settle(self, ledger: Ledger) -> None:
        """Judge what waits: broken where a page is neither free nor with anyone."""
        for overwritten in self.waiting:
            self._judge(ledger, overwritten)
        self.waiting.clear()

    def _judge(self, ledger: Ledger, overwritten: Overwritten) -> None:
        lost, unknown = ledger.main.unkept(overwritten.pages), ledger.main.untold(overwritten.pages)
        code = ledger.why if unknown.any() else PASS
        ledger.facts.mark("orphan", "table_write", overwritten.write, code)
        if lost.any():
            at = overwritten.positions[lost]
            broken = Broken(
                way="overwritten",
                pages=tuple(np.unique(overwritten.pages[lost]).tolist()),
                other=overwritten.tenure,
                positions=(int(at[0]), int(at[-1])),
                slots=tuple(overwritten.slots[lost].tolist()),
            )
            ledger.facts.fail("orphan", "table_write", overwritten.write, broken)

    def finish(self, ledger: Ledger) -> None:
        """The recording ends: a launch of a later step is a settled point too."""
        use, why = ledger.latest_use, ledger.facts.reason(NOT_SETTLED)
        for overwritten in self.waiting:
            step = overwritten.step
            if use is not None and step is not None and use[0] > overwritten.seq and use[1] > step:
                self._judge(ledger, overwritten)
            else:
                ledger.facts.mark("orphan", "table_write", overwritten.write, why)
        self.waiting.clear()

    def lose(self, ledger: Ledger, why: int) -> None:
        """What decides it may be missing."""
        for overwritten in self.waiting:
            ledger.facts.mark("orphan", "table_write", overwritten.write, why)
        self.waiting.clear()


def _unseen(tenure: Tenure, start: int, old: Int64s, count: int) -> bool:
    """Entries before the allocated length named something that no event told."""
    if tenure.complete or start >= tenure.allocated:
        return False
    return bool((old < 0).any()) or start + len(old) < min(start + count, tenure.allocated)
