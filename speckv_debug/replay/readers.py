"""Who reads the positions that a verify committed, and when."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.worthwhile import worth_compiling
from speckv_debug.replay.writes import of_drafter

END = int(np.iinfo(np.int64).max)
"""The `seq` of a reader that the recording does not hold."""


class NextReads:
    """For each verify the first event after it that reads `[L, L + n)` of its request row.

    That is the request's next verify, extend or decode in the target pool, or an insert of these positions into the
    prefix tree, as long as the row is the request's.
    """

    def __init__(self, columns: Callable[[str], Columns], verifies: VerifyBatch, info: Process) -> None:
        self._columns, self._verifies, self._info = columns, verifies, info

    @cached_property
    def forward(self) -> Int64s:
        """`seq` of the next forward over the same row and epoch, END if there is none."""
        batch, forward = self._verifies, self._columns("forward")
        rows = np.flatnonzero(self._reading)
        if len(found := self._in_one_pass(rows)):
            return found
        rows = rows[~np.isin(rows, self._own_forward)]
        keys = np.hstack(
            [
                np.stack([batch.row, batch.epoch]),
                np.stack([forward.ints("row")[rows], forward.ints("epoch")[rows]]),
            ]
        )
        own = self._own_forward
        read = np.where(own >= 0, np.append(forward.ints("seq"), END)[own], batch.seq)
        seq = np.concatenate((np.minimum(read, batch.seq), forward.ints("seq")[rows]))
        number = numbered(keys)
        order = np.lexsort((seq, number))
        following = np.append(order[1:], -1)[: len(order)]
        found = np.full(len(order), END, dtype=np.int64)
        same = (following >= 0) & (number[order] == number[following])
        found[order[same]] = seq[following[same]]
        known = (batch.row != NULL) & (batch.epoch != NULL)
        return np.where(known, found[: len(batch)], END)

    def _in_one_pass(self, rows: Int64s) -> Int64s:
        """The same where each verify has its forward, one behind another, and lives don't mix; else empty."""
        batch, forward = self._verifies, self._columns("forward")
        if not worth_compiling(len(batch)):
            return rows[:0]
        from speckv_debug.replay.readers_compiled import next_reads, own_times

        checking = forward.texts("mode").equal("target_verify")[rows]
        names = ("seq", "step", "row", "epoch")
        verified, forwards = (np.stack([c.ints(name) for name in names]) for c in (batch.columns, forward))
        forwards = forwards if len(rows) == len(forward) else forwards[:, rows]
        times = own_times(verified, forwards, checking)
        return times if not len(times) else next_reads(verified, times, forwards, checking)

    @cached_property
    def _own_forward(self) -> Int64s:
        """Row of `forward` that is each verify's own, -1 if it was not recorded."""
        batch, forward = self._verifies, self._columns("forward")
        rows = np.flatnonzero(self._reading & forward.texts("mode").equal("target_verify"))
        of_forward = np.stack([forward.ints(name)[rows] for name in ("step", "row", "epoch")])
        number = numbered(np.hstack([of_forward, np.stack([batch.step, batch.row, batch.epoch])]))
        own = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
        own[number[: len(rows)]] = rows
        return np.where(batch.step == NULL, -1, own[number[len(rows) :]])

    @property
    def _reading(self) -> Mask:
        forward = self._columns("forward")
        mode = forward.texts("mode").equal("extend", "decode", "target_verify")
        return mask(mode & ~of_drafter(forward, self._info) & (forward.flags("padded") != 1))

    def first(self, verify: int) -> int:
        """`seq` of the first reader of one verify, END if there is none."""
        batch = self._verifies
        seq, request = int(batch.seq[verify]), batch.request[verify]
        until = min(int(self.forward[verify]), self._row_ends(int(batch.row[verify]), seq))
        inserts = self._inserts.get(request or "", [])
        for at, end in inserts[bisect_right(inserts, (seq, END)) :]:
            if at >= until:
                break
            if end > int(batch.seq_len[verify]):
                return at
        return int(self.forward[verify])

    def storing(self, verify: int) -> int:
        """`seq` of the drafter's forward that stores what the verify put out, in its own step; END if there is none."""
        batch, forward = self._verifies, self._columns("forward")
        row, step, seq = int(batch.row[verify]), int(batch.step[verify]), forward.ints("seq")
        own = self._storing & (forward.ints("row") == row) & (forward.ints("step") == step)
        known = step != NULL and row != NULL
        return int(seq[own & (seq > batch.seq[verify])].min(initial=END)) if known else END

    @cached_property
    def _storing(self) -> Mask:
        forward = self._columns("forward")
        return mask(of_drafter(forward, self._info) & forward.texts("mode").equal("draft_extend"))

    def _row_ends(self, row: int, seq: int) -> int:
        ends = self._frees.get(row, [])
        at = bisect_right(ends, seq)
        return ends[at] if at < len(ends) else END

    @cached_property
    def _frees(self) -> dict[int, list[int]]:
        frees, found = self._columns("row_free"), defaultdict(list)
        for row, seq in zip(frees.ints("row").tolist(), frees.ints("seq").tolist(), strict=True):
            found[row].append(seq)
        return found

    @cached_property
    def _inserts(self) -> dict[str, list[tuple[int, int]]]:
        """(seq, exclusive end of the positions) of each request's inserts."""
        cache, found = self._columns("cache"), defaultdict(list)
        ends = cache.ints("start") + cache.lists("slots").lengths
        for i in np.flatnonzero(
            cache.texts("action").equal("insert") & (cache.ints("start") != NULL)
        ).tolist():
            found[cache.texts("request")[i] or ""].append((int(cache.ints("seq")[i]), int(ends[i])))
        return found
