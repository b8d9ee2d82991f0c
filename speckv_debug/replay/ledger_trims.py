"""What a session trim keeps: the committed length that it leaves, known only after its frees."""

from __future__ import annotations

import bisect
from collections import defaultdict

from speckv_debug.replay.ledger_events import Rows
from speckv_debug.replay.ragged import NULL


class Trims:
    """The lengths that follow session trims, by request row and epoch."""

    def __init__(self, release: Rows, lengths: Rows) -> None:
        self._release = release
        self._after: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        if not len(release):
            return
        for index in lengths.columns.texts("cause").equal("session_trim").nonzero()[0].tolist():
            key = lengths.ints("row")[index], lengths.ints("epoch")[index]
            self._after[key].append((lengths.ints("seq")[index], lengths.ints("committed")[index]))

    def kept(self, index: int) -> int:
        """Length that this trim keeps: what the host reports next, but no more than its target; NULL if unknown."""
        rows = self._release
        key = rows.ints("row")[index], rows.ints("epoch")[index]
        after, seq = self._after.get(key, []), rows.ints("seq")[index]
        place = bisect.bisect(after, (seq, 0))
        known = [
            n for n in (rows.ints("target")[index], *(c for _, c in after[place : place + 1])) if n != NULL
        ]
        return min(known, default=NULL)
