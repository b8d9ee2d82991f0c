"""Ends of request rows against the rings of C128 state: whether whoever gets the row next finds its ring empty."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.clears import RING_KIND
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.peer_ops import GetColumns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.searching import first_with, latest_with


class RingEnds:
    """What ends of rows leave in a ring of a request row, in an engine that empties whole rings as rows end.

    One that never does, as releases that have no such call, is held to what its compressions read (ST-RING).

    Attributes:
        row, seq: Of each `row_free`, int64.
    """

    def __init__(self, columns: GetColumns, info: Process) -> None:
        free, clear, access = columns("row_free"), columns("state_clear"), columns("state_access")
        self.row, self.seq = free.ints("row"), free.ints("seq")
        self._columns = columns
        rings = [pool.name for pool in info.pools if pool.kind == RING_KIND and pool.owner != "page"]
        whole = clear.texts("pool").equal(*rings) & (clear.ints("width") == NULL)
        whole &= (clear.ints("accept_len") == NULL) & (clear.ints("row") != NULL)
        self._clear = clear.ints("row")[whole], clear.ints("seq")[whole]
        of_ring = access.texts("pool").equal(*rings)
        self._access = access.ints("row")[of_ring], access.ints("seq")[of_ring]
        self._writes = access.texts("action").equal("write")[of_ring]
        self._at = np.flatnonzero(of_ring)
        online = bool(info.settings.get("online_c128"))
        self.judged = info.records("state_clear") and bool(whole.any()) and not online

    @cached_property
    def written(self) -> Int64s:
        """`seq` of the last write to the ring in the life that ends, -1 if there is none."""
        row, seq = (column[self._writes] for column in self._access)
        last = np.append(seq, -1)[latest_with((row,), seq, (self.row,), self.seq)]
        return np.where(last > self._begin, last, -1)

    @cached_property
    def _begin(self) -> Int64s:
        """When the row was handed out for the life that ends, -1 if that was not seen."""
        alloc = self._columns("row_alloc")
        found = latest_with((alloc.ints("row"),), alloc.ints("seq"), (self.row,), self.seq)
        begin: Int64s = np.append(alloc.ints("seq"), -1)[found]
        return begin

    @cached_property
    def used(self) -> Int64s:
        """When the ring is used in the row's next life, NEVER if it is not."""
        alloc, (row, seq) = self._columns("row_alloc"), self._access
        again = first_with((alloc.ints("row"),), alloc.ints("seq"), (self.row,), self.seq)
        begin = np.append(alloc.ints("seq"), NEVER)[again]
        used: Int64s = np.append(seq, NEVER)[first_with((row,), seq, (self.row,), begin)]
        return used

    @cached_property
    def left(self) -> Mask:
        """Ends behind whose last write the ring was not emptied until the row's next life used it."""
        if not self.judged:
            return np.zeros(len(self.row), dtype=np.bool_)
        row, seq = self._clear
        emptied = np.append(seq, -1)[latest_with((row,), seq, (self.row,), self.used)]
        return mask((self.written >= 0) & (self.used != NEVER) & (emptied < self.written))

    def pool(self, end: int) -> str | None:
        """The pool of the ring that the end of index `end` leaves full."""
        return self._columns("state_access").text_at("pool", self._access_at(int(self.written[end])))

    def turn(self, end: int) -> Iterator[tuple[int, int | None, str, str | None, int | None]]:
        """`seq, step, event, request, epoch` of the last write to a ring that is left full, the end of its row, the row's
        next life, and the first use of the ring in it.
        """
        free, alloc, access = (self._columns(name) for name in ("row_free", "row_alloc", "state_access"))
        again = int(
            first_with((alloc.ints("row"),), alloc.ints("seq"), (self.row[[end]],), self.seq[[end]])[0]
        )
        written, used = (self._access_at(int(seq[end])) for seq in (self.written, self.used))
        use = f"ring {access.text_at('action', used) or 'use'}, not emptied before"
        life, later = free.int_at("epoch", end), alloc.int_at("epoch", again)
        before = ((access, written, "ring write", life), (free, end, "row_free", life))
        for columns, at, name, epoch in (
            *before,
            (alloc, again, "row_alloc", later),
            (access, used, use, later),
        ):
            yield (
                int(columns.ints("seq")[at]),
                columns.int_at("step", at),
                name,
                columns.text_at("request", at),
                epoch,
            )

    def _access_at(self, seq: int) -> int:
        """The row of `state_access` with this `seq`."""
        return int(self._at[np.searchsorted(self._access[1], seq)])
