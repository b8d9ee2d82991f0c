"""Calls of the pools' movers, and which verifies each call of an accept belongs to."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.batches import verifies_of_steps
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.places import Place, place_at, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask, starts
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import reserved

CALLS = {"accept": ("step",), "move": ("src", "tgt", "step")}
"""What has to be known of mover calls and verifies to tell whose rows a call moves where."""


class MoveCalls:
    """One instance a row of `move`: one call `KV[tgt] <- KV[src]`."""

    def __init__(self, move: Columns, info: Process) -> None:
        self.columns = move
        self.info = info
        self.seq, self.step = move.ints("seq"), move.ints("step")
        self.src, self.tgt = move.lists("src"), move.lists("tgt")

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the call stands."""
        return place_of(self.columns, index)

    @cached_property
    def of_accept(self) -> Mask:
        """Calls that bring accepted rows to the front, in the namespace of `accept.out_cache_loc`.

        Not those that copy a prefix's tail into draft branches, nor those of a pool with other slot ids.
        """
        caller, pool = self.columns.texts("caller"), self.columns.texts("pool")
        names = [name for name in pool.names if self._is_target(name)]
        return (caller.equal("accept") | ~caller.known) & (pool.equal(*names) | ~pool.known)

    def _is_target(self, name: str) -> bool:
        pool = self.info.pool(name)
        return name == "full" if pool is None else pool.kind == "full"

    @cached_property
    def tgt_of_src(self) -> Int64s:
        """The target of each source, parallel to `src.values`; NULL where the lists differ in length."""
        return self.tgt.at(self.src.owners, self.src.within)

    @cached_property
    def padding(self) -> Mask:
        """Which pairs, parallel to `src.values`, are the (0, 0) padding of fixed-size lists."""
        return mask((self.src.values == 0) & (self.tgt_of_src == 0))

    def pairs(self, index: int) -> list[tuple[int, int]]:
        """(src, tgt) of one call in its order, without padding and what goes into the dummy: nobody reads it."""
        pairs, dummy = zip(self.src[index].tolist(), self.tgt[index].tolist(), strict=False), self._dummy
        return [(s, t) for s, t in pairs if t >= dummy]

    @cached_property
    def _dummy(self) -> int:
        return reserved(self.info.pool(None))


class Relocations:
    """One instance a verify and a mover call of its step: `start` is where its pairs begin in the packed list.

    The engine packs the accepted rows of all requests in batch order, n[i] pairs each, and pads with (0, 0)
    (`move_accept_tokens_to_target_kvcache`).
    """

    reads = ("accept", "move")

    def __init__(self, verifies: VerifyBatch, moves: MoveCalls) -> None:
        self.verifies, self.moves = verifies, moves
        self.verify, self.call, self.start = _packed(verifies, moves)

    def __len__(self) -> int:
        return len(self.verify)

    def place(self, index: int) -> Place:
        """The verify's place, at the `seq` of the mover call."""
        return place_at(self.verifies.place(int(self.verify[index])), int(self.moves.seq[self.call[index]]))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From right before the first of the batch's accepts, which a hole there may hide, to the call."""
        accept, call = self.verifies.seq[self.verify], self.moves.seq[self.call]
        first, last = (
            call.max(initial=0) + np.zeros(len(self.moves), np.int64),
            np.zeros(len(self.moves), np.int64),
        )
        np.minimum.at(first, self.call, np.minimum(accept, call))
        np.maximum.at(last, self.call, np.maximum(accept, call))
        return first[self.call] - 1, last[self.call]

    @cached_property
    def headless(self) -> Mask:
        """The batch begins with requests whose accepts are not in the recording: places in the list are unknown."""
        index = self.verifies.batch_index[self.verify]
        first = np.full(len(self.moves), np.iinfo(np.int64).max, dtype=np.int64)
        np.minimum.at(first, self.call, np.where(index == NULL, 0, index))
        return np.asarray(first[self.call] > 0)

    @property
    def batch_is_whole(self) -> bool:
        """Whether the accepts of all requests of a batch are in the recording; else a call may move rows of others."""
        return self.verifies.info.records("accept")

    @cached_property
    def whole(self) -> Mask:
        """Per instance: whether the call's list holds exactly the pairs of its verifies, and padding."""
        due = np.bincount(
            self.call, weights=self.verifies.accepted[self.verify].clip(0), minlength=len(self.moves)
        )
        real = self.moves.src.owners[~self.moves.padding]
        filled = np.bincount(real, minlength=len(self.moves))
        return np.asarray((due == filled)[self.call], dtype=np.bool_)

    def engine_pair(
        self, index: int, k: int, source: int | None, target: int | None
    ) -> tuple[int, int] | None:
        """What the engine passed for the k-th accepted row, or None if it passed nothing of it."""
        call = int(self.call[index])
        if self.whole[index]:
            at = int(self.start[index]) + k
            if at < min(len(self.moves.src[call]), len(self.moves.tgt[call])):
                return int(self.moves.src[call][at]), int(self.moves.tgt[call][at])
        pairs = self.moves.pairs(call)
        return next((p for p in pairs if p[1] == target), next((p for p in pairs if p[0] == source), None))


def _packed(verifies: VerifyBatch, moves: MoveCalls) -> tuple[Int64s, Int64s, Int64s]:
    calls = np.flatnonzero(moves.of_accept)
    verify, call, counts = verifies_of_steps(verifies, moves.seq[calls], moves.step[calls])
    before = starts(verifies.accepted[verify].clip(min=0))
    first = np.repeat(starts(counts)[:-1], counts)
    return verify, calls[call], before[:-1] - before[first]
