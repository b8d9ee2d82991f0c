"""What a verify writes to a ring of compressor state, against what an acceptance may leave to be compressed later."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.clears import RING_KIND
from speckv_debug.replay.ragged import NULL, Int64s, Mask, expanded, mask
from speckv_debug.replay.ring_reads import RingReads

RATIOS = {RING_KIND: 128, "c4_state": 4}
"""Positions of a group; an entry of C4 is made of the group before, too."""
BY_PREFIX = ("dspark", "dflash")
"""Algorithms that may write the states of accepted rows alone."""


class VerifyWrites:
    """The write pad: a verify of positions `L .. L+w-1` stores all that may be committed and not compressed yet.

    If n rows are accepted, the next compression reads the ring from `floor((L+n)/ratio) * ratio` on (C4: a ratio before). Over
    all n from 1 that leaves out the last position of a group of C128 alone (SGLang 0.5.23 `get_compress_state_write_pad`).
    What is written behind the accept, as by an engine that commits a prefix, has to hold the accepted positions.

    Attributes:
        event: First write of each verify and pool, a row in `state_access`.
    """

    def __init__(self, rings: RingReads) -> None:
        self.rings, self._verifies = rings, rings.verifies
        judged = rings.access.texts("action").equal("write") & rings.cells.told & (rings.verify >= 0)
        judged &= ~np.append(self._verifies.of("algorithm", "uno"), False)[rings.verify]
        self._events = np.flatnonzero(judged)
        keys = np.stack((rings.pool[self._events], rings.verify[self._events]))
        _, first, number = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        self.event, self._number = self._events[first], number.reshape(-1)

    @cached_property
    def _due(self) -> tuple[Int64s, Int64s]:
        """Number of the verify and pool, and a position that is due; one pair each."""
        verify = self.rings.verify[self.event]
        owners, position = self._positions
        length, n = (column[verify][owners] for column in (self._verifies.seq_len, self._verifies.accepted))
        late = self._late[owners]
        kinds = {pool.name: pool.kind for pool in self.rings.info.pools}
        ratio = np.array([RATIOS.get(kinds[name], NULL) for name in self.rings.names] + [NULL], np.int64)
        ratio = ratio[self.rings.pool[self.event]][owners]
        counts = (position != NULL) & (length != NULL) & (ratio != NULL) & (position >= length)
        counts &= ~late | ((n != NULL) & (position < length + np.where(n == NULL, 0, n)))
        ends = (ratio == RATIOS[RING_KIND]) & ((position + 1) % np.where(ratio == NULL, 1, ratio) == 0)
        counts &= ~ends
        return owners[counts], position[counts]

    @cached_property
    def _positions(self) -> tuple[Int64s, Int64s]:
        """Number of the verify and pool, and a position of its rows; a chain's are those from its length on."""
        verifies, verify = self._verifies, self.rings.verify[self.event]
        told = verifies.ragged("positions").take(verify)
        chain = verifies.of("layout", "chain") | (verifies.columns.ints("topk") == 1)
        chain = (chain & verifies.sized & (verifies.seq_len != NULL))[verify] & ~told.present
        owners, within = expanded(np.where(chain, verifies.width[verify], 0))
        follows = verifies.seq_len[verify][owners] + within
        return np.concatenate((told.owners, owners)), np.concatenate((told.values, follows))

    @property
    def _late(self) -> Mask:
        """Written once it was known which rows are accepted."""
        verify = self.rings.verify[self.event]
        behind = self.rings.access.ints("seq")[self.event] > self._verifies.seq[verify]
        return mask(behind | self._verifies.of("algorithm", *BY_PREFIX)[verify])

    @cached_property
    def left_out(self) -> tuple[Int64s, Int64s]:
        """Number of the verify and pool, and a position that is due and not written; one pair each."""
        number = np.full(len(self.rings), -1, dtype=np.int64)
        number[self._events] = self._number
        cells = self.rings.cells
        mine = np.flatnonzero((cells.table == 0) & ~cells.reads)
        mine = mine[number[cells.event[mine]] >= 0]
        written = np.stack((number[cells.event[mine]], cells.position[mine]))
        owners, position = self._due
        both = np.unique(np.hstack((np.stack((owners, position)), written)), axis=1, return_inverse=True)[1]
        both = both.reshape(-1)
        missing = ~np.isin(both[: len(owners)], both[len(owners) :])
        return owners[missing], position[missing]

    @cached_property
    def short(self) -> Mask:
        """Events of `state_access` that begin the writes of a verify which leave out a position."""
        return self._at(self.left_out[0][self._seen[self.left_out[0]]])

    @property
    def untold(self) -> Mask:
        """The same where others of its writes may lie before the recording, or may not have been recorded."""
        return self._at(self.left_out[0][~self._seen[self.left_out[0]]])

    def _at(self, verifies: Int64s) -> Mask:
        found = np.zeros(len(self.rings), dtype=np.bool_)
        found[self.event[verifies]] = True
        return found

    @property
    def _seen(self) -> Mask:
        """Verifies and pools of which all writes were recorded: another step's verify comes before the first of them."""
        rings, verifies = self.rings, self._verifies
        if rings.whole:
            return mask(np.ones(len(self.event)))
        own, seq = verifies.step[rings.verify[self.event]], rings.access.ints("seq")[self.event]
        first = np.full(len(self.event), np.iinfo(np.int64).max)
        for step in np.unique(own).tolist():
            others = verifies.seq[verifies.step != step]
            first[own == step] = others.min(initial=np.iinfo(np.int64).max)
        return mask((first < seq) & rings.info.records("state_access"))

    def missing(self, event: int) -> list[int]:
        """Positions that the verify behind an event leaves out, ascending."""
        return self._behind(event, *self.left_out)

    def due(self, event: int) -> list[int]:
        """Positions that the verify behind an event has to write, ascending."""
        return self._behind(event, *self._due)

    def _behind(self, event: int, owners: Int64s, position: Int64s) -> list[int]:
        return sorted(set(position[self.event[owners] == event].tolist()))
