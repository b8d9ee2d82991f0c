"""Which slots of the prefix tree were read before anyone wrote to them, over a whole recording or window by window."""

from __future__ import annotations

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.ledger_events import LedgerEvents, SlotRows
from speckv_debug.replay.ragged import NULL, Int64s, Mask, frozen

WRITERS = ("extend", "decode", "target_verify")
"""Modes of the forwards that write to the target's pool."""
LOST = ("forward", "alloc", "transfer", "cache")
"""Tables of which no row may have been dropped."""
COMPILED_FROM = 1 << 20
"""Slots named by events from which on compiled code looks at all of them."""


class WrittenSlots:
    """Slots that were granted and not written since.

    Args:
        info: The process.
        slots: How many slots there are.
        goes_on: More events are fed later.

    Attributes:
        waiting: Whether a slot is published and not written when the events that were fed end.
    """

    def __init__(self, info: Process, slots: int, *, goes_on: bool = False) -> None:
        self._info, self._state, self._goes_on = info, np.zeros(slots, dtype=np.int8), goes_on
        self.waiting = False

    def feed(self, events: LedgerEvents, holes: Int64s) -> Int64s:
        """For each cache event a slot that it published and that was read too early, -1 if none or not recorded.

        Args:
            events: The next events.
            holes: `seq` behind each hole among them.
        """
        cached, dropped = events.slots["cache"], events.rows["drop"].columns.texts("table")
        none = np.full(len(cached), -1, dtype=np.int64)
        records = self._info.records
        if not (records("forward") or all(records("forward", mode) for mode in WRITERS)):
            return none
        if dropped.equal(*LOST).any() or not dropped.known.all():
            self._state[:] = 0
            return none
        small = sum(len(rows.listed.values) for rows in events.slots.values()) < COMPILED_FROM
        if small and not self._goes_on and not _any_ahead(events):
            return none
        return self._read_early(events, np.union1d(holes, _untold(events)))

    def _read_early(self, events: LedgerEvents, holes: Int64s) -> Int64s:
        from speckv_debug.replay import published_compiled as compiled

        numbers = dict[str, int]()
        cached, forward, alloc, transfer = (
            events.slots[name] for name in ("cache", "forward", "alloc", "transfer")
        )
        requests, written = _numbered(cached, numbers), _of_target(events)
        granted = _main(events, alloc) & (alloc.columns.ints("granted") != 0)
        loaded = alloc.columns.texts("reason").equal("load_back").astype(np.int64)
        moved = np.ones(len(transfer), dtype=np.int64)
        kinds = np.zeros(len(cached), dtype=np.int64)
        for action, kind in (("insert", compiled.INSERT), ("match", compiled.MATCH)):
            kinds[cached.columns.texts("action").equal(action) & _main(events, cached)] = kind
        steps = forward.columns.ints("step")[written]
        early, waiting = compiled.read_early(
            compiled.Listed(*_listed(alloc, granted, loaded)),
            compiled.Listed(*_listed(transfer, _main(events, transfer), moved)),
            compiled.Listed(*_listed(forward, written, _numbered(forward, numbers))),
            frozen(np.where(steps == NULL, compiled.NEVER, steps)),
            compiled.Listed(*_listed(cached, np.ones(len(cached), dtype=np.bool_), kinds)),
            frozen(requests),
            frozen(holes),
            self._state,
        )
        self.waiting = bool(waiting)
        return np.asarray(early, dtype=np.int64)


def _any_ahead(events: LedgerEvents) -> bool:
    """Whether any slot is published that nobody has written to since its grant."""
    cached, forward, alloc = (events.slots[name] for name in ("cache", "forward", "alloc"))
    inserts = _main(events, cached) & cached.columns.texts("action").equal("insert")
    tables = ((alloc, _main(events, alloc)), (forward, _of_target(events)), (cached, inserts))
    slot, seq, kind = (
        np.concatenate(column) for column in zip(*map(_entries, tables, range(3)), strict=True)
    )
    order = np.lexsort((kind, seq, slot))
    slot, kind = slot[order], kind[order]
    last = np.maximum.accumulate(np.where(kind < 2, np.arange(len(kind)), -1))
    return bool(((kind == 2) & (last >= 0) & (slot[last] == slot) & (kind[last] == 0)).any())


def _untold(events: LedgerEvents) -> Int64s:
    """`seq` of the target's forwards that do not say what they write: they may have written anything."""
    forward = events.slots["forward"]
    silent = _of_target(events) & ~forward.listed.present
    return np.asarray(forward.columns.ints("seq")[silent], dtype=np.int64)


def _main(events: LedgerEvents, rows: SlotRows) -> Mask:
    return np.asarray(rows.namespace == events.namespaces.main, dtype=np.bool_)


def _of_target(events: LedgerEvents) -> Mask:
    """Forwards of the target: the draft pool may share its ids."""
    columns = events.slots["forward"].columns
    pool = columns.texts("pool")
    own = ~pool.known | pool.equal(events.namespaces.main_name)
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
