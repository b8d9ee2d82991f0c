"""Where the lives of request rows begin: what was said of a row before is about who had it then."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.searching import NEVER, first_with, latest_with


class RowStarts:
    """Each `row_alloc` with which a life begins: a chunked prompt that asks for its own row again goes on with its life.

    Attributes:
        seq, row: Of the event, int64[starts].
        request: Who the row went to, None where the event doesn't say.
    """

    def __init__(self, process: ProcessRecording) -> None:
        alloc = Columns(process.columns("row_alloc", "request", "row", "epoch"))
        free = Columns(process.columns("row_free", "row"))
        starts = np.flatnonzero((alloc.ints("row") != NULL) & ~_again(alloc, free))
        self.seq, self.row = alloc.ints("seq")[starts], alloc.ints("row")[starts]
        self.request = [alloc.text_at("request", at) for at in starts.tolist()]

    def last(self, rows: Collection[int], seq: int) -> dict[int, int]:
        """Row → `seq` at which the life began that it has after event `seq`, -1 if that was not seen."""
        asked = np.array(sorted(rows), dtype=np.int64)
        found = latest_with((self.row,), self.seq, (asked,), np.full(len(asked), seq + 1))
        return dict(zip(asked.tolist(), np.append(self.seq, -1)[found].tolist(), strict=True))

    def next_of_row(self, rows: Int64s, seq: Int64s) -> Int64s:
        """`seq` of the first start of each row behind the given one, NEVER if there is none."""
        return np.append(self.seq, NEVER)[first_with((self.row,), self.seq, (rows,), seq)]

    def next_of_request(self, names: Collection[str | None], seq: Int64s) -> Int64s:
        """The same of the lives of each request, whichever row it gets."""
        codes = {name: code for code, name in enumerate(dict.fromkeys(self.request)) if name is not None}
        own = np.array([codes.get(name or "", -1) for name in self.request], dtype=np.int64)
        asked = np.array([codes.get(name or "", -2) for name in names], dtype=np.int64)
        return np.append(self.seq, NEVER)[first_with((own,), self.seq, (asked,), seq)]


def _again(alloc: Columns, free: Columns) -> Mask:
    """Events for a row whose life goes on: by the epoch, else by the request while the row was not freed."""
    row, seq, epoch = alloc.ints("row"), alloc.ints("seq"), alloc.ints("epoch")
    before = latest_with((row,), seq, (row,), seq)
    freed = latest_with((free.ints("row"),), free.ints("seq"), (row,), seq)
    held = np.append(free.ints("seq"), -1)[freed] < np.append(seq, -1)[before]
    request = alloc.texts("request").codes.astype(np.int64)
    same = np.where(
        epoch != NULL,
        np.append(epoch, NULL)[before] == epoch,
        held & (np.append(request, -1)[before] == request),
    )
    return mask((before >= 0) & same)
