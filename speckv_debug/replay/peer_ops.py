"""Entries of the full→SWA mapping as columns in the order of `seq`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.searching import NEVER, latest_with

GetColumns = Callable[[str], Columns]


class PeerEntries:
    """One entry a slot that a `swa_map` event names: `full[k]` gets the peer `swa[k]`, 0 for none.

    Attributes:
        event: Row of the event in `swa_map`.
        resets: `seq` of the events at which the tree and the allocators started over.
    """

    def __init__(self, columns: GetColumns) -> None:
        table, cache = columns("swa_map"), columns("cache")
        full, swa = table.lists("full_slots"), table.lists("swa_slots")
        self.told = mask(full.filled & swa.filled & (full.lengths == swa.lengths))
        which = self.told[full.owners]
        self.event, self.full = full.owners[which], full.values[which]
        self.swa = swa.values[self.told[swa.owners]]
        self.seq = table.ints("seq")[self.event]
        self.resets = cache.ints("seq")[cache.texts("action").equal("reset")]

    def __len__(self) -> int:
        return len(self.full)

    @property
    def maps(self) -> Mask:
        """Entries that give a peer."""
        return mask(self.swa != 0)

    @cached_property
    def _order(self) -> Int64s:
        return np.argsort(self.full, kind="stable")

    @cached_property
    def era(self) -> Int64s:
        """How often tree and allocators started over before each entry."""
        return np.searchsorted(self.resets, self.seq, side="right")

    @cached_property
    def last(self) -> Int64s:
        """For each entry, the one before it of the same full slot, -1 if there is none since a reset."""
        last, order = np.full(len(self), -1, dtype=np.int64), self._order
        same = (self.full[order][1:] == self.full[order][:-1]) & (self.era[order][1:] == self.era[order][:-1])
        last[order[1:]] = np.where(same, order[:-1], -1)
        return last

    @cached_property
    def end(self) -> Int64s:
        """Number of the entry at which each one stops to hold, the number of all entries if it never does."""
        ends = np.append(np.searchsorted(self.seq, self.resets), len(self)).astype(np.int64)
        end = ends[self.era]
        known = self.last >= 0
        end[self.last[known]] = np.flatnonzero(known)
        return end

    @cached_property
    def until(self) -> Int64s:
        """`seq` at which each entry stops to hold, NEVER if it never does."""
        until = np.append(self.resets, NEVER)[self.era]
        taken = self.end < len(self)
        until[taken] = np.minimum(until[taken], self.seq[self.end[taken]])
        return until

    def reset_between(self, since: Int64s, seq: Int64s) -> Mask:
        """Whether tree and allocators started over between each two `seq`."""
        counted = [np.searchsorted(self.resets, each, side="right") for each in (since, seq)]
        return mask(counted[0] != counted[1])

    def before(self, full: Int64s, seq: Int64s) -> Int64s:
        """The last entry of each full slot before `seq`, -1 if there is none since a reset."""
        entry = latest_with((self.full,), self.seq, (full,), seq)
        era = np.append(self.era, -1)[entry]
        return np.where(era == np.searchsorted(self.resets, seq, side="right"), entry, -1)

    @cached_property
    def rival(self) -> Int64s:
        """An entry of another slot that still holds the peer as this one gets it, -1 if there is none.

        A tree may give a peer to its own slot first and take it from the other by the event behind: SGLang 0.5.19 to 0.5.21,
        `SWAComponent`, `set_full_to_swa_mapping` then `clear_full_to_swa_mapping`.
        """
        given = np.flatnonzero(self.maps)
        order = given[np.argsort(self.swa[given], kind="stable")]
        peers = np.cumsum(np.diff(self.swa[order], prepend=NULL) != 0)
        width = len(self) + 1
        longest = np.maximum.accumulate(peers * width + self.end[order])
        holds = (longest[:-1] // width == peers[1:]) & (longest[:-1] % width > order[1:])
        place = np.searchsorted(longest, longest)  # where the longest so far was first reached
        rival = np.full(len(self), -1, dtype=np.int64)
        rival[order[1:][holds]] = order[place[:-1][holds]]
        ends = np.append(self.end, len(self))[rival]
        lost = (rival >= 0) & (np.append(self.swa, NULL)[ends] == 0)
        lost &= np.append(self.seq, NULL)[ends] == self.seq + 1
        return np.where(lost, -1, rival)

    def pages_mapped(self, page_size: int, seq: Int64s) -> Int64s:
        """How many pages of the window's pool hold a peer at each `seq`."""
        given = np.flatnonzero(self.maps)
        page = np.tile(self.swa[given] // page_size, 2)
        time = np.concatenate((self.seq[given], self.until[given]))
        change = np.repeat((1, -1), len(given))
        order = np.lexsort((time, page))
        total = np.cumsum(change[order])
        new = np.diff(page[order], prepend=NULL) != 0
        base = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
        held = total - np.append(0, total)[base]
        before = held - change[order]
        turn = (held > 0).astype(np.int64) - (before > 0)
        by_time = np.argsort(time[order], kind="stable")
        counts = np.append(0, np.cumsum(turn[by_time]))
        return counts[np.searchsorted(time[order][by_time], seq)]
