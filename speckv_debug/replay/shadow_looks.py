"""When the shadow is looked at: each committed position once, and again whenever its slot or its row entry changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from speckv_debug.replay.lives import Lives
from speckv_debug.replay.ragged import NULL, Int64s, Mask, expanded, mask
from speckv_debug.replay.shadow_dues import Dues, Readers
from speckv_debug.replay.shadow_rows import RowEntries
from speckv_debug.replay.shadow_units import ShadowUnits


@dataclass(frozen=True, slots=True)
class Looks:
    """Looks at one position each, sorted by unit.

    Attributes:
        due: Index into the dues.
        entry: Index into the row entries: the slot that is looked at.
        unit: After which the slot is read.
        seq: Of the reader, or of what settles a verify that nobody reads.
        settled: Whether the latter.
        event: The forward, as an index into the writes.
    """

    due: Int64s
    entry: Int64s
    unit: Int64s
    seq: Int64s
    settled: Mask
    event: Int64s

    def __len__(self) -> int:
        return len(self.due)

    def take(self, which: Int64s) -> Looks:
        """Some of them, in that order."""
        names = ("due", "entry", "unit", "seq", "settled", "event")
        return Looks(*(getattr(self, name)[which] for name in names))


def all_looks(dues: Dues, entries: RowEntries, units: ShadowUnits, lives: Lives) -> Looks:
    """Every look that is due, by unit."""
    claims = _Claims(dues, entries)
    parts = [_first(claims), _again(claims, units), _settled(dues, entries, units, lives)]
    due, entry, unit, seq, settled, event = (np.concatenate([part[i] for part in parts]) for i in range(6))
    order = np.lexsort((dues.position[due], seq, unit))
    return Looks(due, entry, unit, seq, mask(settled), event).take(order)


class _Claims:
    """One entry a due position and a row entry that names its slot while someone reads it.

    Attributes:
        due, entry: Indices.
        first, last: Readers between which the entry holds, both included.
    """

    def __init__(self, dues: Dues, entries: RowEntries) -> None:
        self.dues, self.entries, readers = dues, entries, dues.readers
        known = np.flatnonzero((dues.first >= 0) & entries.listed)
        known = known[readers.start[dues.first[known]] > dues.position[known]]
        key = dues.key[known]
        low = entries.last(key, readers.time[dues.first[known]])
        high = entries.last(key, readers.time[dues.until[known]])
        counts = np.where(low < 0, 0, high - low + 1)
        owners, place = expanded(counts)
        self.due, self.entry = known[owners], low[owners] + place
        life, after = readers.life[dues.first[self.due]], entries.seq[self.entry]
        self.first = np.maximum(readers.first_after(life, after), dues.first[self.due])
        following = np.append(entries.seq, 0)[self.entry + 1]
        end = (
            readers.first_after(life, np.where(place + 1 < counts[owners], following, np.iinfo(np.int64).max))
            - 1
        )
        self.last = np.minimum(end, dues.until[self.due])
        self._keep(self.first <= self.last)
        self._keep(readers.start[self.first] > dues.position[self.due])

    def _keep(self, which: Mask) -> None:
        for name in ("due", "entry", "first", "last"):
            setattr(self, name, getattr(self, name)[which])

    @property
    def slot(self) -> Int64s:
        """Slot id of each."""
        slots: Int64s = self.entries.slot[self.entry]
        return slots


Part = tuple[Int64s, Int64s, Int64s, Int64s, Mask, Int64s]


def _by_readers(readers: Readers, due: Int64s, entry: Int64s, reader: Int64s) -> Part:
    none = np.zeros(len(due), dtype=np.bool_)
    return due, entry, readers.unit[reader], readers.time[reader], none, readers.event[reader]


def _first(claims: _Claims) -> Part:
    return _by_readers(claims.dues.readers, claims.due, claims.entry, claims.first)


def _again(claims: _Claims, units: ShadowUnits) -> Part:
    """Looks by the next reader after each write or move that touches a slot which is still claimed.

    Not at the dummy, which every padding row writes to: it holds nothing.
    """
    readers, slot = claims.dues.readers, units.number(claims.slot)
    held = ~placeless(claims.due, claims.entry, claims.dues, claims.entries)
    touched = np.flatnonzero((slot >= 0) & (claims.first < claims.last) & held)
    slot, first, last = slot[touched], claims.first[touched], claims.last[touched]
    low = units.touches.until(slot, readers.unit[first])
    counts = np.maximum(units.touches.until(slot, readers.unit[last]) - low, 0)
    owners, place = expanded(counts)
    reader = readers.first_from(readers.life[first[owners]], units.touches.unit[low[owners] + place])
    claim = touched[owners]
    keep = reader <= last[owners]
    keep[keep] = readers.start[reader[keep]] > claims.dues.position[claims.due[claim[keep]]]
    claim, reader = np.unique(np.stack((claim[keep], reader[keep])), axis=1)
    return _by_readers(readers, claims.due[claim], claims.entry[claim], reader)


def _settled(dues: Dues, entries: RowEntries, units: ShadowUnits, lives: Lives) -> Part:
    """Looks at what nobody reads any more: after the last move of the verify's own step, or at once where all is in place.

    Where the recording does not list `table_write` no later look is safe, so every verify is looked at then, and no other
    forward: only a verify says what its row names.
    """
    readers, writes = dues.readers, dues.writes
    told = entries.listed | (writes.verify[readers.event] >= 0)
    wanted = np.flatnonzero(dues.seen & ((dues.first < 0) | (not entries.listed)) & told[dues.reader])
    event = readers.event[dues.reader[wanted]]
    unit, seq = units.of_event[event], writes.time[event] + 1
    moved, moved_seq = _last_move(units, event)
    unit, seq = np.where(moved >= 0, moved, unit), np.where(moved >= 0, moved_seq + 1, seq)
    ready = (moved >= 0) | all_in_place(dues)[dues.reader[wanted]]
    ready &= seq - 1 < lives.end[writes.life[event]]
    entry = entries.last(dues.key[wanted], seq)
    keep = np.flatnonzero(ready & (entry >= 0))
    found = (wanted[keep], entry[keep], unit[keep], seq[keep] - 1)
    return (*found, np.ones(len(keep), dtype=np.bool_), event[keep])


def _last_move(units: ShadowUnits, event: Int64s) -> tuple[Int64s, Int64s]:
    """Unit and `seq` of the last mover call of each event's step, -1 if there is none after its launch."""
    calls = np.flatnonzero((units.of_call >= 0) & (units.moves.step != NULL) & units.moves.of_accept)
    order = np.lexsort((units.of_call[calls], units.moves.step[calls]))
    step, unit, seq = (each[calls][order] for each in (units.moves.step, units.of_call, units.moves.seq))
    own = units.writes.step[event]
    at = np.searchsorted(step, own, side="right") - 1
    found = (at >= 0) & (np.append(step, NULL)[at] == own) & (own != NULL)
    found[found] = unit[at[found]] > units.of_event[event[found]]
    return np.where(found, np.append(unit, -1)[at], -1), np.where(found, np.append(seq, -1)[at], -1)


def all_in_place(dues: Dues) -> Mask:
    """Readers whose accepted rows, if they are a verify, are the first of their block."""
    found = np.ones(len(dues.readers), dtype=np.bool_)
    found[dues.reader[~dues.in_place]] = False
    return found


def placeless(due: Int64s, entry: Int64s, dues: Dues, entries: RowEntries) -> Mask:
    """Pairs of a due position and a row entry of which a slot, or the one that the row was written to, is the dummy."""
    element, least = dues.element[due], dues.writes.least
    own = np.where(element < 0, least, np.append(dues.writes.slots.values, least)[element])
    return mask((entries.slot[entry] < least) | (own < least))
