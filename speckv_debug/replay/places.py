"""Where an event of a table stands: its `seq`, step, request, request row and pool."""

from __future__ import annotations

from dataclasses import dataclass, replace

from speckv_debug.replay.columns import Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an instance stands in the recording."""

    seq: int
    step: int | None = None
    request: str | None = None
    row: int | None = None
    epoch: int | None = None
    pool: str | None = None


def place_of(columns: Columns, index: int) -> Place:
    """The place of one event; what its table has no column for is None."""
    return Place(
        seq=columns.int_at("seq", index) or 0,
        step=columns.int_at("step", index),
        request=columns.text_at("request", index),
        row=columns.int_at("row", index),
        epoch=columns.int_at("epoch", index),
        pool=columns.text_at("pool", index),
    )


def place_at(place: Place, seq: int) -> Place:
    """The same place at another event."""
    return replace(place, seq=seq)
