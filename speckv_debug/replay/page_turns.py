"""Pages that an allocator grants and takes back, as columns; what is freed in a group goes back at its end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.free_times import FreeTimes
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.ragged import NULL, Int64s, Ragged
from speckv_debug.replay.searching import Keys, first_with, latest_with

GRANT, FREE = 1, 0
PagesOf = Callable[[str], tuple[Ragged, Int64s]]
"""For `alloc` and `free`: the pages of each event, and the number of its pool, -1 of one that is left out."""


class PageTurns:
    """One turn a page that an event grants or frees, grants first.

    Attributes:
        event: Row of the event in its table.
        pool, page: int64 each.
        seq: When it takes effect.
        turn: GRANT or FREE.
    """

    def __init__(self, columns: Callable[[str], Columns], pages_of: PagesOf) -> None:
        parts = [self._of(columns, name, *pages_of(name)) for name in ("alloc", "free")]
        self.event, self.pool, self.page, self.seq = (np.concatenate(c) for c in zip(*parts, strict=True))
        self.turn = np.repeat((GRANT, FREE), [len(part[0]) for part in parts])

    def __len__(self) -> int:
        return len(self.event)

    def granting(self, pool: int) -> bool:
        """Whether a grant of that pool was recorded at all."""
        return bool(((self.turn == GRANT) & (self.pool == pool)).any())

    def before(self, pool: Int64s, page: Int64s, seq: Int64s) -> tuple[Int64s, Int64s]:
        """The last turn of each page before `seq` and when it took effect, NULL where there is none."""
        found = latest_with(self.keys, self.seq, (pool, page), seq)
        return np.append(self.turn, NULL)[found], np.append(self.seq, NULL)[found]

    def behind(self, pool: Int64s, page: Int64s, seq: Int64s) -> Int64s:
        """When the first turn of each page behind `seq` takes effect, NEVER where there is none."""
        return np.append(self.seq, NEVER)[first_with(self.keys, self.seq, (pool, page), seq)]

    @property
    def keys(self) -> Keys:
        """Pool and page."""
        return self.pool, self.page

    @staticmethod
    def _of(columns: Callable[[str], Columns], name: str, pages: Ragged, pool: Int64s) -> Keys:
        seq = columns(name).ints("seq")
        if name == "free":
            seq = _in_effect(columns)
        owners = pages.owners
        which = pool[owners] >= 0
        return owners[which], pool[owners[which]], pages.values[which], seq[owners[which]]


def _in_effect(columns: Callable[[str], Columns]) -> Int64s:
    """When frees of pools beside the main one take effect: where frees name their groups, one without is not deferred."""
    free = columns("free")
    named, seq = free.ints("group") != NULL, free.ints("seq")
    deferred = FreeTimes(lambda: columns("free_group")).effects(free)
    return np.where(named, deferred, seq) if named.any() else deferred
