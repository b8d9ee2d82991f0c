"""The request of a request row and epoch, for events that name the row alone."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL

NAMING = ("row_alloc", "row_free", "release", "alloc", "lengths", "reserve", "forward", "accept")
"""Tables that say a row's request, small ones first."""


class Names:
    """Row and epoch → request; larger tables are read only where the small ones don't tell."""

    def __init__(self, process: ProcessRecording) -> None:
        self._process = process
        self._known: dict[tuple[int, int], str | None] = {}

    def of(self, row: int | None, epoch: int | None) -> str | None:
        """The request, None if no event says it."""
        if row is None or epoch is None:
            return None
        if (row, epoch) not in self._known:
            self._known[row, epoch] = self._begun.get((row, epoch)) or self._search(row, epoch)
        return self._known[row, epoch]

    @cached_property
    def _begun(self) -> dict[tuple[int, int], str]:
        columns = self._columns("row_alloc")
        who = zip(columns.ints("row").tolist(), columns.ints("epoch").tolist(), strict=True)
        requests = columns.texts("request")
        return {key: name for i, key in enumerate(who) if (name := requests[i]) is not None}

    def _search(self, row: int, epoch: int) -> str | None:
        for table in NAMING[1:]:
            columns = self._columns(table)
            requests = columns.texts("request")
            same = (columns.ints("row") == row) & (columns.ints("epoch") == epoch) & requests.known
            if same.any():
                return requests[int(np.argmax(same))]
        return None

    def _columns(self, table: str) -> Columns:
        return Columns(self._process.columns(table, "row", "epoch", "request"))


def known_requests(process: ProcessRecording) -> list[str]:
    """The requests that events name, in the order of their first row."""
    found: dict[str, None] = {}
    for table in ("row_alloc", "lengths", "accept", "forward"):
        found.update(dict.fromkeys(Columns(process.columns(table, "request")).texts("request").names))
    return list(found)


def known_rows(process: ProcessRecording) -> list[int]:
    """The request rows that events name, ascending."""
    found: set[int] = set()
    for table in ("row_alloc", "table_write", "lengths", "accept", "forward"):
        rows = Columns(process.columns(table, "row")).ints("row")
        found.update(np.unique(rows[rows != NULL]).tolist())
    return sorted(found)
