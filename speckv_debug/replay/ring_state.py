"""Rings of compressor state as they stand at one event: which positions each request's ring holds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, mask
from speckv_debug.replay.ring_cells import RingCells

COLUMNS = {
    "state_access": ("request", "row", "pool", "action", "ring_rows", "positions"),
    "state_clear": ("request", "row", "pool", "ring_rows", "ring_size"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RingState:
    """What a request's ring holds.

    Attributes:
        size: Rows of the ring, None if no clear said it.
        positions: That are stored, ascending.
        cleared: Rows that hold the neutral state because they were emptied.
    """

    pool: str
    row: int
    size: int | None
    positions: tuple[int, ...]
    cleared: int


def ring_states(process: ProcessRecording, seq: int, rows: Collection[int]) -> tuple[RingState, ...]:
    """The rings of these request rows after event `seq`, by pool and row; those that no event has named are left out."""
    if not any(name in process.files for name in COLUMNS):
        return ()
    tables = {name: Columns(process.columns(name, *columns)) for name, columns in COLUMNS.items()}
    pools = {pool.name: at for at, pool in enumerate(process.info.pools)}
    paged = [pool.name for pool in process.info.pools if pool.owner == "page"]
    cells = RingCells(
        tables.__getitem__,
        lambda name: tables[name].texts("pool").numbered(pools),
        mask(tables["state_access"].texts("pool").equal(*paged)),
    )
    kept = np.flatnonzero(~cells.reads & (cells.seq <= seq) & (cells.pool >= 0) & (cells.row != NULL))
    last = kept[_last_of(cells, kept)]
    names, found = list(pools), []
    for pool, row in sorted({(int(cells.pool[k]), int(cells.row[k])) for k in last.tolist()}):
        if row in rows:
            mine = last[(cells.pool[last] == pool) & (cells.row[last] == row)]
            stored = cells.position[mine]
            found.append(
                RingState(
                    pool=names[pool],
                    row=row,
                    size=_size(tables["state_clear"], names[pool]),
                    positions=tuple(np.sort(stored[stored >= 0]).tolist()),
                    cleared=int((stored < 0).sum()),
                )
            )
    return tuple(found)


def _last_of(cells: RingCells, kept: Int64s) -> Int64s:
    """Places in `kept` of the last change of each cell."""
    order = np.lexsort((cells.seq[kept], *cells.keys(kept)[::-1]))
    keys = [key[order] for key in cells.keys(kept)]
    ends = np.ones(len(order), dtype=np.bool_)
    ends[:-1] = np.any([key[1:] != key[:-1] for key in keys], axis=0) if len(order) else []
    return order[ends]


def _size(clear: Columns, pool: str) -> int | None:
    sizes = clear.ints("ring_size")[clear.texts("pool").equal(pool)]
    known = sizes[sizes != NULL]
    return int(known[-1]) if len(known) else None
