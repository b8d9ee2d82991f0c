"""What OWN-PUBLISH looks at: inserts into the prefix tree, by what the ledger says and by who read too early."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_facts import FAIL, PASS, Broken
from speckv_debug.replay.ownership import EventFacts
from speckv_debug.replay.ragged import Int64s
from speckv_debug.replay.written_slots import WrittenSlots


class Publications(EventFacts):
    """One instance a node that takes slots.

    A node may be published before the forward that writes it, where one stream keeps the order: what counts is that no
    request that is served the node runs at an earlier step than the write.
    """

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger, "publish")
        early = self._early_slots[self._row]
        self.codes = np.where((self.codes == PASS) & (early >= 0), FAIL, self.codes).astype(np.uint8)

    @property
    def columns_from(self) -> tuple[str, ...]:
        """Forwards write what is published."""
        return (*super().columns_from, "forward")

    def broken(self, index: int) -> Broken:
        """As the ledger has it, or with the slot that was read before it was written."""
        table, row = self.event(index)
        if (found := self.ledger.facts.broken.get(("publish", table, row))) is not None:
            return found
        slot = int(self._early_slots[row])
        rows = self.ledger.events.slots["cache"]
        position = rows.ints("start")[row] + int(np.flatnonzero(rows.slots(row) == slot)[0])
        page = slot // self.ledger.page_size
        return Broken(way="unwritten", pages=(page,), positions=(position, position), slots=(slot,))

    @cached_property
    def _early_slots(self) -> Int64s:
        """For each cache event a published slot that was read too early, -1 if none or if writes were not recorded."""
        ledger = self.ledger
        holes = np.array([end for _, end in ledger.process.gaps()], dtype=np.int64)
        written = WrittenSlots(ledger.info, ledger.main.pages * ledger.page_size)
        return written.feed(ledger.events, holes)
