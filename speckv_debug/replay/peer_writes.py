"""Forwards of the target against the mapping: a slot that is written has a peer, where the window's layers write too."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.page_turns import GRANT, PageTurns
from speckv_debug.replay.peer_ops import GetColumns, PeerEntries
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.row_ends import ended_before

MODES = ("extend", "decode", "target_verify")


def written_rows(forward: Columns, main: str) -> Mask:
    """Forwards of the target that write slots of the main pool."""
    pool = forward.texts("pool")
    told = forward.lists("slots").filled & (forward.flags("padded") != 1)
    return mask(told & forward.texts("mode").equal(*MODES) & (pool.equal(main) | ~pool.known))


class PeerWrites:
    """One entry a slot that some forwards write.

    Attributes:
        owners: Which of the forwards each slot is of.
        slots: Full slots, int64.
    """

    def __init__(
        self, columns: GetColumns, rows: Int64s, entries: PeerEntries, turns: PageTurns, page_size: int
    ) -> None:
        """`rows` of `forward`; `turns` are those of pages, those of the main pool numbered 0."""
        forward = columns("forward")
        named = forward.lists("slots").take(rows)
        self.owners, self.slots = named.owners, named.values
        self._columns, self._rows, self._forward = columns, rows, forward
        self._entries, self._turns, self._page_size = entries, turns, page_size

    @cached_property
    def seq(self) -> Int64s:
        """Of the forward, slot by slot."""
        return self._forward.ints("seq")[self._rows][self.owners]

    @cached_property
    def last(self) -> Int64s:
        """The entry of the mapping that holds, -1 if none was seen."""
        return self._entries.before(self.slots, self.seq)

    @cached_property
    def without_peer(self) -> Mask:
        """Slots of a live request, granted, that the mapping gives no peer."""
        turn, since = self._turns.before(0 * self.slots, self.slots // self._page_size, self.seq)
        granted = (turn == GRANT) & ~self._entries.reset_between(since, self.seq)
        peer = np.append(self._entries.swa, 0)[self.last]
        return mask((peer == 0) & granted & ~self._over[self.owners])

    @property
    def _over(self) -> Mask:
        """Forwards whose life in the row had ended before: their slots may be others' since."""
        row, epoch = (self._forward.ints(name)[self._rows] for name in ("row", "epoch"))
        over = ended_before(self._columns("row_free"), self._forward, self._rows)
        return mask((row != NULL) & (epoch != NULL) & over)
