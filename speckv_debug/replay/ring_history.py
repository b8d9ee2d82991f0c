"""The history of one row of a ring of compressor state: who wrote which position there, read it, cleared it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from speckv_debug.model.process import Pool
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s
from speckv_debug.replay.ring_reads import SIZES
from speckv_debug.replay.slot_entries import SlotEvent

KINDS = tuple(SIZES)
TABLES = {
    "state_access": ("step", "request", "row", "pool", "action", "ring_rows", "positions"),
    "state_clear": ("step", "request", "row", "pool", "ring_rows", "ring_size", "width"),
}


def ring_size(process: ProcessRecording, pool: Pool) -> int | None:
    """Rows of a request's ring: as a clear says, else as the settings do; None if neither."""
    clear = Columns(process.columns("state_clear", "pool", "ring_size"))
    sizes = clear.ints("ring_size")[clear.texts("pool").equal(pool.name)]
    told = process.info.settings.get(SIZES.get(pool.kind, ""))
    known = [int(size) for size in sizes[sizes != NULL][-1:]]
    return next(iter(known), told if isinstance(told, int) else None)


def ring_events(process: ProcessRecording, pool: Pool, slot: int, until_seq: int | None) -> list[SlotEvent]:
    """What happened to address `slot`, which is `row * ring + local`, or the address itself where no row is named.

    Ascending in `seq`; without a known ring size only addresses are found.
    """
    size = ring_size(process, pool)
    found = [
        event
        for table, names in TABLES.items()
        for event in _of(process, table, names, pool.name, slot, size)
    ]
    return sorted((e for e in found if until_seq is None or e.seq <= until_seq), key=lambda event: event.seq)


def _of(
    process: ProcessRecording, table: str, names: tuple[str, ...], pool: str, slot: int, size: int | None
) -> Iterator[SlotEvent]:
    columns = Columns(process.columns(table, *names))
    lists = columns.lists("ring_rows")
    row = columns.ints("row")[lists.owners]
    at = np.where(row == NULL, lists.values, NULL if size is None else row * size + lists.values)
    mine = columns.texts("pool").equal(pool)[lists.owners] & (at == slot)
    for k in np.flatnonzero(mine).tolist():
        index = int(lists.owners[k])
        positions, detail = _holds(table, columns, index, int(lists.within[k]))
        yield SlotEvent(
            seq=columns.int_at("seq", index) or 0,
            step=columns.int_at("step", index),
            event=" ".join(filter(None, (table, columns.text_at("action", index)))),
            request=columns.text_at("request", index),
            row=columns.int_at("row", index),
            slots=(slot,),
            positions=positions,
            detail=detail,
        )


def _holds(
    table: str, columns: Columns, index: int, within: int
) -> tuple[tuple[int, int] | None, str | None]:
    """The position that is written or wanted, or words for it; of a clear what it clears."""
    if table == "state_clear":
        whole = columns.int_at("width", index) is None
        return None, "the whole ring" if whole else "rejected rows of a verify"
    positions: Int64s = columns.lists("positions")[index]
    position = int(positions[within]) if within < len(positions) else NULL
    if position == NULL:
        return None, None
    return ((position, position + 1), None) if position >= 0 else (None, "the neutral state")
