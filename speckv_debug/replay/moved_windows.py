"""Which steps' mover calls leave rows of the sliding window's pool behind, and of which that can't be told."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Pool, Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.moved_peers import FullPairs, MovedPeers
from speckv_debug.replay.moves import MoveCalls
from speckv_debug.replay.ragged import Int64s, Mask, any_per_list, mask

SWA = "swa"
SEVERAL = "there are several windows' pools: whose slots the peers of moved rows are is not said"
PEERLESS = "which slots of the window's pool a moved row has is not known"
UNDECLARED = "the process line does not declare the components of the window's pool"
UNNAMED = "a mover call of the window's pool does not name its components"
UNRECORDED = "moves were not recorded whole"
IN_FLIGHT = "a peer in the window's pool was given up in the move's own step: only the stream's order tells which came first"


def window_of(info: Process) -> Pool | None:
    """The pool of the sliding window, if there is one alone and its slots are ids of its own."""
    pools = [pool for pool in info.pools if pool.kind == SWA]
    return pools[0] if len(pools) == 1 and pools[0].allocated_by is None else None


class MovedWindow:
    """The window's share of the instances of `MovedComponents`.

    Args:
        pairs: Pairs of the main pool, with the instance of each.
        count: How many instances there are.
        moves: All mover calls.
        columns: Of any table.
        whole: Whether the recording holds what the process did from its beginning.
    """

    def __init__(
        self, pairs: FullPairs, count: int, moves: MoveCalls, columns: Callable[[str], Columns], whole: bool
    ) -> None:
        self.pool, self.pairs, self._count, self._info = window_of(moves.info), pairs, count, moves.info
        self.peers = None if self.pool is None else MovedPeers(self.pool, pairs, moves, columns, whole)

    @property
    def looks_back(self) -> bool:
        """Whether any instance rests on what the mapping was told in earlier steps."""
        return self.peers is not None and len(self.pairs.src) > 0

    @property
    def components(self) -> tuple[str, ...]:
        """Of a row of the window's pool; none where they are not declared."""
        return () if self.pool is None or self.pool.components is None else self.pool.components

    @cached_property
    def lacking(self) -> Mask:
        """Where a component stays behind for at least one pair."""
        return self._any(self._lost)

    @cached_property
    def untold(self) -> dict[str, Mask]:
        """Reason → where what became of the window's rows is not known."""
        if (peers := self.peers) is None:
            return {}
        silent, left = np.bool_(peers.pool.components is None), self._some(peers.left)
        return {
            PEERLESS: self._any(peers.unknown),
            UNDECLARED: self._any(mask(peers.due & silent)),
            UNNAMED: self._any(mask(peers.due & peers.unnamed)),
            UNRECORDED: self._any(mask(left & ~self._evident)),
            IN_FLIGHT: self._any(mask(left & peers.in_flight)),
        }

    @cached_property
    def first_left(self) -> Int64s:
        """Target in the main pool of each instance's first pair that stays behind, -1 if none does."""
        found = np.full(self._count, -1, dtype=np.int64)
        behind = np.flatnonzero(self._lost)
        owners, first = np.unique(self.pairs.instance[behind], return_index=True)
        found[owners] = self.pairs.tgt[behind[first]]
        return found

    def widened(self, spans: tuple[Int64s, Int64s]) -> tuple[Int64s, Int64s]:
        """Spans of the instances, from what the peers rest on to right behind the last call, where a pool's own call may be."""
        if (peers := self.peers) is None:
            return spans
        first, last = spans[0].copy(), spans[1].copy()
        np.minimum.at(first, self.pairs.instance, peers.since)
        last[np.unique(self.pairs.instance)] += 1
        return first, last

    def left(self, index: int, component: str) -> list[tuple[int, int, int, int]]:
        """Source and target in the main pool and their peers, of each pair of an instance that stays behind."""
        if (peers := self.peers) is None:
            return []
        lost = np.flatnonzero(self._lost_in(component) & (self.pairs.instance == index))
        columns = (self.pairs.src, self.pairs.tgt, peers.src, peers.tgt)
        return list(dict.fromkeys(zip(*(column[lost].tolist() for column in columns), strict=True)))

    def total(self, index: int) -> int:
        """How many pairs of the window's pool are due of an instance."""
        if (peers := self.peers) is None:
            return 0
        mine = np.flatnonzero(peers.due & (self.pairs.instance == index)).tolist()
        return len({(int(peers.src[k]), int(peers.tgt[k])) for k in mine})

    @property
    def _evident(self) -> bool:
        """Whether a call that is not there was not made."""
        return self._info.records("move")

    @cached_property
    def _lost(self) -> Mask:
        """Pairs with a component that surely stays behind."""
        return self._some(self._lost_in)

    def _lost_in(self, component: str) -> Mask:
        assert self.peers is not None
        doubtful = self.peers.unknown | self.peers.in_flight | self.peers.unnamed
        return mask(self.peers.left(component) & ~doubtful & self._evident)

    def _some(self, which: Callable[[str], Mask]) -> Mask:
        found = np.zeros(len(self.pairs.src), dtype=np.bool_)
        for component in self.components:
            found |= which(component)
        return mask(found)

    def _any(self, hit: Mask) -> Mask:
        return any_per_list(hit, self.pairs.instance, self._count)
