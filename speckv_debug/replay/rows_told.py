"""The row that a request has in a step, by what verifies and forwards of the step say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import NULL, Int64s, mask

TELLING = ("accept", "forward")


def rows_told(columns: Callable[[str], Columns], table: str) -> Int64s:
    """The request row of each event's request in its step, NULL where no accept or forward tells, or they differ; int64[events]."""
    asked = columns(table)
    codes = {name: code for code, name in enumerate(asked.texts("request").names)}
    own = np.stack((asked.ints("step"), asked.texts("request").codes.astype(np.int64)))
    steps, requests, rows = (
        np.concatenate(parts)
        for parts in zip(*(_told(columns(name), codes) for name in TELLING), strict=True)
    )
    number = numbered(np.hstack((own, np.stack((steps, requests)))))
    count, events = int(number.max(initial=-1)) + 1, len(asked)
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, NULL)
    np.minimum.at(low, number[events:], rows)
    np.maximum.at(high, number[events:], rows)
    known = mask((own[0] != NULL) & (own[1] >= 0))
    return np.where(known & (low == high)[number[:events]], high[number[:events]], NULL)


def _told(table: Columns, codes: dict[str, int]) -> tuple[Int64s, Int64s, Int64s]:
    """Step, request and row of the events of a table that name all three."""
    step, row = table.ints("step"), table.ints("row")
    request = table.texts("request").numbered(codes)
    which = np.flatnonzero((step != NULL) & (row != NULL) & (request >= 0))
    return step[which], request[which], row[which]
