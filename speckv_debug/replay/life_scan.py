"""Which events are about a request row or a request: its columns alone are read, then the rows that were found."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from speckv_debug.recording.arrays import fixed_array, flags
from speckv_debug.recording.parts import Within
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.recording.table_files import Piece
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import Int64s, Mask

Life = tuple[int, int | None]
"""A request row and its epoch, None where the events don't say it."""
OF_ROWS = (
    "row_alloc", "alloc", "table_write", "reserve", "lengths", "forward", "accept", "release", "free", "row_free",
)  # fmt: skip
"""Tables that name a request row and its epoch."""
OF_REQUESTS = (*OF_ROWS, "cache", "transfer", "state_clear", "state_commit", "state_access")
Chosen = Callable[[pa.Table], Mask]


def of_row(process: ProcessRecording, row: int, columns: dict[str, tuple[str, ...]]) -> dict[str, Columns]:
    """Table → the events of a request row, with `seq`, `step`, row, epoch, request and some more columns."""
    within = Within("row", row, row + 1)
    return _gathered(process, OF_ROWS, columns, lambda t: Columns(t).ints("row") == row, within)


def of_request(
    process: ProcessRecording, request: str, lives: Collection[Life], columns: dict[str, tuple[str, ...]]
) -> dict[str, Columns]:
    """The same for the events that name a request, or one of its lives where they name none."""

    def chosen(table: pa.Table) -> Mask:
        found = np.zeros(table.num_rows, dtype=np.bool_)
        silent = np.ones(table.num_rows, dtype=np.bool_)
        if "request" in table.column_names:
            found |= flags(pc.equal(table.column("request"), request))
            silent = flags(table.column("request").is_null())
        if "epoch" in table.column_names and lives:
            named = Columns(table)
            for row, epoch in lives:
                if epoch is not None:
                    found |= silent & (named.ints("row") == row) & (named.ints("epoch") == epoch)
        return found

    return _gathered(process, OF_REQUESTS, columns, chosen, None)


def lives_of(process: ProcessRecording, request: str) -> tuple[Life, ...]:
    """The request rows and epochs that events give a request, in the order in which they are first named."""
    found: dict[Life, int] = {}
    for table in (name for name in OF_ROWS if name != "table_write"):
        for piece in process.pieces(table):
            named = piece.read(["request", "row", "epoch"])
            columns, at = Columns(named), np.flatnonzero(flags(pc.equal(named.column("request"), request)))
            for index in at.tolist():
                if (row := columns.int_at("row", index)) is not None:
                    life = row, columns.int_at("epoch", index)
                    seq = columns.int_at("seq", index) or 0
                    found[life] = min(seq, found.get(life, seq))
    return tuple(sorted(found, key=lambda life: found[life]))


def _gathered(
    process: ProcessRecording,
    tables: Collection[str],
    columns: dict[str, tuple[str, ...]],
    chosen: Chosen,
    within: Within | None,
) -> dict[str, Columns]:
    found = {}
    for table in tables:
        own = [name for name in ("request", "row", "epoch") if name in SCHEMAS[table].names]
        where = within if within is None or within.column in own else None
        hits = [
            hit
            for piece in process.pieces(table)
            if (hit := _hits(piece, table, own, columns.get(table, ()), chosen, where)) is not None
        ]
        if hits:
            found[table] = Columns(pa.concat_tables(hits))
    return found


def _hits(
    piece: Piece, table: str, own: list[str], more: tuple[str, ...], chosen: Chosen, within: Within | None
) -> pa.Table | None:
    named = piece.read(own, within)
    rows: Int64s = np.flatnonzero(chosen(named)).astype(np.int64)
    if not len(rows):
        return None
    at = fixed_array(rows, pa.int64())
    rest = piece.read(["step", *more], within)
    if rest.num_rows != named.num_rows:  # a part turned out damaged, and is left out from now on
        return _hits(piece, table, own, more, chosen, within)
    rest = rest.take(at)
    taken = {name: named.take(at).column(name) for name in named.column_names}
    taken |= {name: rest.column(name) for name in rest.column_names}
    return pa.table(taken)
