"""Moves of accepted rows done again: which slot gets whose KV, whatever order and padding the engine's list has."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from speckv_debug.replay.moves import CALLS, Relocations
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.places import Place, place_at
from speckv_debug.replay.ragged import Int64s, Mask, Ragged, any_per_list, mask, spread, starts
from speckv_debug.replay.readers import END
from speckv_debug.replay.recomputed_pairs import RecomputedPairs
from speckv_debug.replay.replayed_calls import CalledPairs
from speckv_debug.replay.settlements import Settlements


class Strays(NamedTuple):
    """Pairs of the engine that are not due: the verify that each falls to, its source and target."""

    verify: Int64s
    source: Int64s
    target: Int64s


class Reading(NamedTuple):
    """What is wrong if targets are those of the window, or those of the row.

    Attributes:
        missing: Rows, parallel to `path.values`, that some call does not bring to their place.
        strays: What the calls move besides.
    """

    missing: Mask
    strays: Strays


class ReplayedMoves:
    """One instance a verify: what has to be moved beside what the calls of its step move.

    Two lists are the same if each slot ends up with the same content: pairs in place may be there or not, in any order.
    """

    reads = ("accept", "move", "table_write")
    columns_from = ("forward", "cache", "row_free")
    rests_on = CALLS

    def __init__(self, due: RecomputedPairs, relocations: Relocations, settlements: Settlements) -> None:
        self.due, self.relocations, self.settlements = due, relocations, settlements
        self.verifies = due.verifies

    def __len__(self) -> int:
        return len(self.verifies)

    def place(self, index: int) -> Place:
        """The verify's place, at the `seq` of the first call of its step; that of the reader where there is none."""
        place, call = self.verifies.place(index), int(self.first_call[index])
        if call >= 0:
            return place_at(place, int(self.relocations.moves.seq[call]))
        return self.settlements.place(index) if self.uncalled[index] else place

    @cached_property
    def calls(self) -> CalledPairs:
        """What the engine's calls pass."""
        return CalledPairs(self.relocations)

    @cached_property
    def first_call(self) -> Int64s:
        """The first call of each verify's step, -1 if there is none."""
        found = np.full(len(self), -1, dtype=np.int64)
        found[self.relocations.verify[::-1]] = self.relocations.call[::-1]
        return found

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """The batch's accepts and the calls of its step, the writes into the row, and the reader that meets a gap."""
        first, last = (
            self.settlements.spans if self.uncalled.any() else (self.verifies.seq, self.verifies.seq)
        )
        first, last = first.copy(), np.maximum(last, self.verifies.seq)
        begin, end = self.relocations.spans
        np.minimum.at(first, self.relocations.verify, begin)
        np.maximum.at(last, self.relocations.verify, end)
        return first, last

    @cached_property
    def uncalled(self) -> Mask:
        """Verifies without a call whose rows are read where they never were brought, as the recording proves."""
        found = np.zeros(len(self), dtype=np.bool_)
        idle = self.misplaced & (self.first_call < 0)
        if idle.any() and self.verifies.info.records("move", "accept"):
            lacking = self.settlements.unsettled.items()
            found[[i for i, gap in lacking if gap.unmoved and gap.reader != END]] = True
        return found & idle

    @cached_property
    def open_end(self) -> Mask:
        """Verifies with misplaced rows and no call, of which the recording does not tell whether someone missed it."""
        idle = self.misplaced & (self.first_call < 0) & ~self.uncalled
        if not idle.any():
            return idle
        settled = self.settlements.moving.copy()
        settled[list(self.settlements.unsettled)] = False
        return idle & ~settled

    @cached_property
    def misplaced(self) -> Mask:
        """Verifies of which an accepted row is not in place, by the window and by the row."""
        by_window, by_row = (self._any(self.due.moving(t)) for t in (self.due.window, self.due.row))
        return mask(by_window & by_row)

    @cached_property
    def by_row(self) -> Mask:
        """Verifies whose targets are taken from the request row: the calls agree with that, and not with the window."""
        return self._broken(self._by_window) & ~self._broken(self._by_row)

    @cached_property
    def missing(self) -> Mask:
        """Rows that a call of their step does not bring to their place."""
        return np.where(self.by_row[self.due.owners], self._by_row.missing, self._by_window.missing)

    @cached_property
    def strays(self) -> Strays:
        """Pairs of the calls that move something which is not due."""
        parts = []
        for reading, mine in ((self._by_window, ~self.by_row), (self._by_row, self.by_row)):
            parts.append([column[mine[reading.strays.verify]] for column in reading.strays])
        return Strays(*map(np.concatenate, zip(*parts, strict=True)))

    def strays_of(self, index: int) -> list[tuple[int, int]]:
        """(source, target) of each stray pair that falls to a verify."""
        verify, source, target = self._strays_by_verify
        at = slice(*np.searchsorted(verify, (index, index + 1)).tolist())
        return list(zip(source[at].tolist(), target[at].tolist(), strict=True))

    def loose(self, index: int) -> bool:
        """Whether all that is wrong of a verify are pairs that touch no slot of the batch's several requests: whose they
        are can't be told.
        """
        verify, group = self.calls.verify_groups
        mates = np.unique(verify[np.isin(group, group[verify == index])]).tolist()
        path = self.due.path
        if len(mates) < 2 or self.missing[path.offsets[index] : path.offsets[index + 1]].any():
            return False
        slots = np.concatenate([self._windows[mate] for mate in mates])
        strays = self.strays_of(index)
        return bool(strays) and not np.isin(strays, slots).any()

    @cached_property
    def _strays_by_verify(self) -> Strays:
        order = np.argsort(self.strays.verify, kind="stable")
        return Strays(*(column[order] for column in self.strays))

    @cached_property
    def _by_window(self) -> Reading:
        return self._read(self.due.window)

    @cached_property
    def _by_row(self) -> Reading:
        same = np.array_equal(self.due.row, self.due.window)
        return self._by_window if same else self._read(self.due.row)

    def _broken(self, reading: Reading) -> Mask:
        """Verifies of which the calls do not do what a reading has due."""
        found = self._any(reading.missing)
        found[reading.strays.verify] = True
        return found

    def _read(self, targets: Int64s) -> Reading:
        """The due pairs to these targets beside those of every group of calls that the verify belongs to."""
        verify, group = self.calls.verify_groups
        counts = self.due.path.lengths[verify]
        at = np.repeat(self.due.path.offsets[verify], counts) + spread(counts)
        moving = self.due.moving(targets)[at]
        groups, at = np.repeat(group, counts)[moving], at[moving]
        due, calls = np.stack([groups, self.due.source[at], targets[at]]), np.flatnonzero(self.calls.moving)
        number = numbered(np.hstack([due, self.calls.keys[:, calls]]))
        wanted, called = number[: len(at)], number[len(at) :]
        missing = np.zeros(len(targets), dtype=np.bool_)
        missing[at[~np.isin(wanted, called)]] = True
        return Reading(missing, self._strays(calls[~np.isin(called, wanted)]))

    def _strays(self, stray: Int64s) -> Strays:
        """The pairs of the calls that are not due, where it can be told whose they are."""
        owner = self._owners(stray) if len(stray) else stray
        named = stray[owner >= 0]
        return Strays(owner[owner >= 0], self.calls.source[named], self.calls.target[named])

    def _owners(self, pairs: Int64s) -> Int64s:
        """The verify that each pair of the calls falls to: whose window has its target, its source, its place.

        -1 where that can't be told: the path of a verify of the batch is not known, or a request's accept may be missing.
        """
        owner = self.calls.owner_of_slot(self._windows, pairs, self.calls.target)
        by_source = self.calls.owner_of_slot(self._windows, pairs, self.calls.source)
        by_place = self.calls.owner_of_place(pairs)
        by_place = by_place if self.relocations.batch_is_whole else np.full(len(pairs), -1, dtype=np.int64)
        unclear = self.calls.any_of_group(~self.due.path.present)[pairs]
        loose = np.where(unclear, -1, np.where(by_source >= 0, by_source, by_place))
        return np.where(owner >= 0, owner, loose)

    @cached_property
    def _windows(self) -> Ragged:
        """All slots that a verify's rows are written to, or its row holds there."""
        written, row = self.due.written, self.due.slots_of_rows
        both = np.concatenate((written.values, row.values))
        owners = np.concatenate((written.owners, row.owners))
        order = np.argsort(owners, kind="stable")
        return Ragged(both[order], starts(written.lengths + row.lengths), written.present)

    @cached_property
    def stray(self) -> Mask:
        """Verifies to which a pair falls that is not due."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[self.strays.verify] = True
        return found

    @cached_property
    def unclaimed(self) -> Mask:
        """Verifies at whose place pairs stand that touch no slot of the batch, where a request's accept may be missing."""
        found = np.zeros(len(self), dtype=np.bool_)
        pairs = np.flatnonzero(self.calls.moving)
        if len(pairs) and not self.relocations.batch_is_whole:
            ends = (self.calls.source, self.calls.target)
            owners = [self.calls.owner_of_slot(self._windows, pairs, end) for end in ends]
            nobodys = pairs[np.maximum(*owners) < 0]
            found[self.calls.owner_of_place(nobodys)] = True
        return found

    @cached_property
    def torn(self) -> Mask:
        """Verifies of a call that writes one slot from two sources: which stays is not defined."""
        verify, group = self.calls.verify_groups
        found = np.zeros(len(self), dtype=np.bool_)
        found[verify[np.isin(group, self.calls.torn_groups)]] = True
        return found

    @cached_property
    def headless(self) -> Mask:
        """Verifies of a batch that begins with requests which are not in the recording."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[self.relocations.verify[self.relocations.headless]] = True
        return found

    def _any(self, hit: Mask) -> Mask:
        return any_per_list(hit, self.due.owners, len(self))
