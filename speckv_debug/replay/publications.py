"""What OWN-PUBLISH looks at: inserts into the prefix tree, by what the ledger says and by who read too early."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_events import SlotRows
from speckv_debug.replay.ledger_facts import FAIL, PASS, Broken
from speckv_debug.replay.ownership import EventFacts
from speckv_debug.replay.ragged import NULL, Int64s, Mask, frozen

WRITERS = ("extend", "decode", "target_verify")
"""Modes of the forwards that write to the target's pool."""
COMPILED_FROM = 1 << 20
"""Slots named by events from which on compiled code looks at all of them."""
LOST = ("forward", "alloc", "transfer", "cache")
"""Tables of which no row may have been dropped."""


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
        info, events = self.ledger.info, self.ledger.events
        cached = events.slots["cache"]
        dropped = events.rows["drop"].columns.texts("table")
        whole = info.records("forward") or all(info.records("forward", mode) for mode in WRITERS)
        if not whole or not len(cached) or dropped.equal(*LOST).any() or not dropped.known.all():
            return np.full(len(cached), -1, dtype=np.int64)
        small = sum(len(rows.listed.values) for rows in events.slots.values()) < COMPILED_FROM
        if small and not self._any_ahead(cached):
            return np.full(len(cached), -1, dtype=np.int64)
        return self._read_early(cached)

    def _any_ahead(self, cached: SlotRows) -> bool:
        """Whether any slot is published that nobody has written to since its grant."""
        forward, alloc = self.ledger.events.slots["forward"], self.ledger.events.slots["alloc"]
        inserts = self._main(cached) & cached.columns.texts("action").equal("insert")
        tables = ((alloc, self._main(alloc)), (forward, self._of_target(forward)), (cached, inserts))
        slot, seq, kind = (
            np.concatenate(column) for column in zip(*map(_entries, tables, range(3)), strict=True)
        )
        order = np.lexsort((kind, seq, slot))
        slot, kind = slot[order], kind[order]
        last = np.maximum.accumulate(np.where(kind < 2, np.arange(len(kind)), -1))
        ahead = (kind == 2) & (last >= 0) & (slot[last] == slot) & (kind[last] == 0)
        return bool(ahead.any())

    def _read_early(self, cached: SlotRows) -> Int64s:
        from speckv_debug.replay import published_compiled as compiled

        events, numbers = self.ledger.events, dict[str, int]()
        forward, alloc, transfer = (events.slots[name] for name in ("forward", "alloc", "transfer"))
        requests, written = _numbered(cached, numbers), self._of_target(forward)
        granted = self._main(alloc) & (alloc.columns.ints("granted") != 0)
        loaded = alloc.columns.texts("reason").equal("load_back").astype(np.int64)
        kinds = np.zeros(len(cached), dtype=np.int64)
        for action, kind in (("insert", compiled.INSERT), ("match", compiled.MATCH)):
            kinds[cached.columns.texts("action").equal(action) & self._main(cached)] = kind
        steps = forward.columns.ints("step")[written]
        found: Int64s = compiled.read_early(
            compiled.Listed(*_listed(alloc, granted, loaded)),
            compiled.Listed(*_listed(transfer, self._main(transfer), np.ones(len(transfer), dtype=np.int64))),
            compiled.Listed(*_listed(forward, written, _numbered(forward, numbers))),
            frozen(np.where(steps == NULL, compiled.NEVER, steps)),
            compiled.Listed(*_listed(cached, np.ones(len(cached), dtype=np.bool_), kinds)),
            frozen(requests),
            frozen(np.array([end for _, end in self.ledger.process.gaps()], dtype=np.int64)),
            np.zeros(self.ledger.main.pages * self.ledger.page_size, dtype=np.int8),
        )
        return found

    def _main(self, rows: SlotRows) -> Mask:
        return np.asarray(rows.namespace == self.ledger.namespaces.main, dtype=np.bool_)

    def _of_target(self, forward: SlotRows) -> Mask:
        """Forwards of the target: the draft pool may share its ids."""
        pool, columns = forward.columns.texts("pool"), forward.columns
        own = ~pool.known | pool.equal(self.ledger.namespaces.main_name)
        return np.asarray(own & columns.texts("mode").equal(*WRITERS) & (columns.ints("padded") != 1))


def _entries(table: tuple[SlotRows, Mask], kind: int) -> tuple[Int64s, Int64s, Int64s]:
    """Slot, `seq` and kind of every slot that the events name."""
    rows, which = table
    lists = rows.listed.take(np.flatnonzero(which))
    seq = np.repeat(rows.columns.ints("seq")[which], lists.lengths)
    return lists.values, seq, np.full(len(seq), kind, dtype=np.int64)


def _listed(rows: SlotRows, which: Mask, what: Int64s) -> tuple[Int64s, ...]:
    """The columns of a `Listed` of some events."""
    at, lists = np.flatnonzero(which).astype(np.int64), rows.listed
    columns = (rows.columns.ints("seq")[at], at, lists.values, lists.offsets, what[at])
    return tuple(frozen(column) for column in columns)


def _numbered(rows: SlotRows, numbers: dict[str, int]) -> Int64s:
    """Requests as numbers that two tables share, -1 where not named."""
    texts = rows.columns.texts("request")
    own = [numbers.setdefault(name, len(numbers)) for name in texts.names]
    return np.array([*own, -1], dtype=np.int64)[texts.codes]
