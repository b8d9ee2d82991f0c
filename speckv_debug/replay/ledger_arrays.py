"""What compiled code of the ledger reads and writes: events as rows of numbers, and the ledger's arrays."""

from __future__ import annotations

from typing import NamedTuple

from speckv_debug.replay.compiling import Array
from speckv_debug.replay.ledger_events import TABLES

TABLE, INDEX, ROW, ROW_EPOCH, STEP, SEQ, FLAGS, FIRST, END, A, B = range(11)
WIDTH = 11
"""Columns of an event; `[FIRST, END)` are its slots, A and B mean what the table needs."""
SIMPLE, WITHOUT, WITH_REQUEST, SPECIAL = 1, 2, 4, 8
"""May be handled here; is no instance of any law; names a request; host, trim or tail; of an evict."""
ASK = -2
"""Instead of a tenure: whom the event belongs to is left to others."""
ALLOC, FREES, WRITE, LENGTHS, STAT, FORWARD, ACCEPT, ROW_ALLOC, ROW_FREE, RELEASE = map(
    TABLES.index,
    (
        "alloc", "free", "table_write", "lengths", "pool_stat", "forward", "accept", "row_alloc", "row_free",
        "release",
    ),
)  # fmt: skip
END_TABLE, END_INDEX, END_TENURE, END_CODE = range(4)
"""Columns of `Lives.ended`."""


class Book(NamedTuple):
    """The arrays of the main `PageBook`; `seen` is the free that named a page last. `size`, … are its namespace's."""

    state: Array
    owner: Array
    tree: Array
    tree_at: Array
    locks: Array
    session: Array
    moving: Array
    host: Array
    pending: Array
    refs: Array
    freed_by: Array
    counts: Array
    seen: Array
    size: int
    reserved: int
    bound: int


class Lives(NamedTuple):
    """The arrays of a `TenureStore`; `ended` are the ends of requests that no settled point has judged."""

    numbers: Array
    latest: Array
    slots: Array
    pages: Array
    before: Array
    spare: Array
    ended: Array


class Codes(NamedTuple):
    """The columns of facts, by what is judged and the table; `counted` are those of `Totals`, one row a figure."""

    alias_alloc: Array
    alias_write: Array
    double_free: Array
    unsafe_free: Array
    unsafe_release: Array
    dangling_forward: Array
    dangling_accept: Array
    owned_forward: Array
    owned_accept: Array
    totals_stat: Array
    counted: Array


class Slots(NamedTuple):
    """All slots of each table, one list behind another; `grants` and `writes` say where those of `alloc` and `write` begin."""

    alloc: Array
    free: Array
    write: Array
    forward: Array
    written: Array
    table: Array
    grants: Array
    writes: Array
