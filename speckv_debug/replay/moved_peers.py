"""What a mover's calls bring along in the pool of the sliding window: peers of sources go to the peers of targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Pool
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.moves import MoveCalls
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.peer_ops import PeerEntries
from speckv_debug.replay.ragged import NULL, Int64s, Mask, any_per_list, mask
from speckv_debug.replay.writes import reserved


@dataclass(frozen=True, slots=True)
class FullPairs:
    """Pairs of the main pool that its mover was called with, int64 each: what they belong to, slots, `seq` and step of the call."""

    instance: Int64s
    src: Int64s
    tgt: Int64s
    seq: Int64s
    step: Int64s


class MovedPeers:
    """One entry a pair of the main pool: which pair is due in the window's pool, by the mapping as it stands at the call.

    A slot without a peer has left the window: nothing of it is due (SGLang `SWAKVPool.move_kv_cache`,
    `translate_loc_from_full_to_swa`).

    Args:
        pool: The window's.
        pairs: Of the main pool.
        moves: All mover calls.
        columns: Of any table.
        whole: Whether the recording holds what the process did from its beginning.
    """

    def __init__(
        self, pool: Pool, pairs: FullPairs, moves: MoveCalls, columns: Callable[[str], Columns], whole: bool
    ) -> None:
        self.pool, self.pairs, self._moves, self._map = pool, pairs, moves, columns("swa_map")
        self._recorded = moves.info.records("swa_map")
        self._unseen = 0 if whole and self._recorded else NULL
        self._overlaps = moves.info.settings.get("overlap") is not False
        self.entries = PeerEntries(columns)

    @cached_property
    def src(self) -> Int64s:
        """Peer of each pair's source, 0 for none, NULL where the mapping was not told."""
        return np.asarray(self._peers[0], dtype=np.int64)

    @cached_property
    def tgt(self) -> Int64s:
        """Peer of each pair's target."""
        return np.asarray(self._peers[1], dtype=np.int64)

    @property
    def unknown(self) -> Mask:
        """Pairs with an end whose peer is not known; a change that was not recorded may follow those that were."""
        return mask((self.src == NULL) | (self.tgt == NULL) | self._untold | (not self._recorded))

    @cached_property
    def due(self) -> Mask:
        """Pairs whose window rows have to move."""
        dummy = reserved(self.pool)
        return mask((self.src >= dummy) & (self.tgt >= dummy) & (self.src != self.tgt))

    def left(self, component: str) -> Mask:
        """Due pairs that no call of the same step brings along in this component."""
        return mask(self.due & ~np.isin(self._due_number, self._moved_number[self._has(component)]))

    @cached_property
    def in_flight(self) -> Mask:
        """Pairs with a peer that the same step's events take back behind the call: which came first only the stream tells."""
        if not self._overlaps:
            return mask(np.zeros(len(self.src)))
        ends = np.append(self.entries.seq, NULL)[np.append(self.entries.end, len(self.entries))[self._last]]
        row = np.searchsorted(self._map.ints("seq"), ends)
        step = np.append(self._map.ints("step"), NULL)[np.minimum(row, len(self._map))]
        taken = (ends != NULL) & ((step == NULL) | (step <= self.pairs.step))
        return mask(taken.any(axis=0))

    @cached_property
    def since(self) -> Int64s:
        """`seq` of the earliest change of the mapping that each pair's peers rest on, 0 for the beginning."""
        told = np.append(self.entries.seq, 0)[self._last]
        return np.asarray(np.where(self._last < 0, 0, told).min(axis=0), dtype=np.int64)

    @cached_property
    def _last(self) -> Int64s:
        """Entry of the mapping that holds at the call for source and target, `[2, pairs]`, -1 if there is none."""
        ends = (self.pairs.src, self.pairs.tgt)
        return np.stack([self.entries.before(slots, self.pairs.seq) for slots in ends])

    @property
    def _peers(self) -> Int64s:
        return np.append(self.entries.swa, self._unseen)[self._last]

    @property
    def _untold(self) -> Mask:
        """Pairs before whose call some change of the mapping does not say what it changed."""
        silent = self._map.ints("seq")[~self.entries.told]
        held = np.searchsorted(silent, self.pairs.seq) > np.searchsorted(silent, self.since, side="right")
        return mask(held)

    @cached_property
    def _calls(self) -> Int64s:
        """Pairs of the accepts' calls in the window's pool, as indices into `src.values`."""
        texts, caller = self._moves.columns.texts("pool"), self._moves.columns.texts("caller")
        mine = texts.equal(self.pool.name) & (caller.equal("accept") | ~caller.known)
        return np.flatnonzero(mine[self._moves.src.owners])

    @cached_property
    def _numbers(self) -> Int64s:
        """Step and pair as one number: of the due pairs, then of those that calls have."""
        own, moves = self._calls, self._moves
        due = np.stack((self.pairs.step, self.src, self.tgt))
        owners = moves.src.owners[own]
        moved = np.stack((moves.step[owners], moves.src.values[own], moves.tgt_of_src[own]))
        return numbered(np.hstack((due, moved)))

    @property
    def _due_number(self) -> Int64s:
        return self._numbers[: len(self.pairs.src)]

    @property
    def _moved_number(self) -> Int64s:
        return self._numbers[len(self.pairs.src) :]

    def _has(self, component: str) -> Mask:
        """Pairs of `_calls` whose call moves this component."""
        texts, owners, _ = self._moves.columns.text_lists("components")
        found = any_per_list(texts.equal(component), owners, len(self._moves))
        return mask(found[self._moves.src.owners[self._calls]])

    @cached_property
    def unnamed(self) -> Mask:
        """Pairs of a step with a call in the window's pool that does not say what it moves."""
        owners = np.unique(self._moves.src.owners[self._calls])
        silent = ~self._moves.columns.text_lists("components")[2]
        return np.isin(self.pairs.step, self._moves.step[owners[silent[owners]]])
