"""The life of a request, and the epochs of a request row: rows, lengths, accepts, moves, releases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.life_events import LifeEvent, life_events
from speckv_debug.replay.life_scan import OF_ROWS, lives_of, of_request, of_row
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.unseen import Unseen, unseen

TRIM = "session_trim"
READ: Mapping[str, tuple[str, ...]] = {
    "alloc": ("pool", "slots", "reason", "site", "granted"),
    "free": ("pool", "slots", "reason", "site"),
    "table_write": ("pool", "start", "slots"),
    "reserve": ("committed", "allocated", "reserve", "new_allocated"),
    "lengths": ("pool", "committed", "allocated", "cause", "cut"),
    "forward": ("pool", "mode", "start", "slots"),
    "accept": ("seq_len", "new_seq_len", "accept_len", "width", "out_cache_loc", "table_slots"),
    "release": ("kind", "committed", "allocated", "target", "free_start"),
    "cache": ("action", "node", "start", "slots", "pool"),
    "transfer": ("action", "direction", "pool", "slots"),
    "state_clear": ("pool", "ring_rows", "width"),
    "state_commit": ("pool", "step_index"),
    "state_access": ("pool", "action", "positions"),
}
SHORT: Mapping[str, tuple[str, ...]] = {
    "lengths": ("pool", "committed", "allocated"),
    "accept": ("accept_len",),
    "release": ("kind",),
}
"""What the epochs of a row are made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEpoch:
    """One life of a request row.

    Attributes:
        first_seq, first_step: The first event that names it; `began` tells whether that is its row_alloc.
        last_seq, last_step: The event that ended it, or else the last that names it.
        ended: `finish`, `retract`, `abort`, or `row_free` without a release; None if no end was seen.
        committed, allocated: The host's lengths as last reported.
        verifies, accepted: Verifies of it, and rows accepted by those that say it.
    """

    row: int
    epoch: int | None
    request: str | None
    first_seq: int
    first_step: int | None
    began: bool
    last_seq: int
    last_step: int | None
    ended: str | None
    committed: int | None
    allocated: int | None
    verifies: int
    accepted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLife:
    """A request: the epochs of rows that it had, and all its events in the order of `seq`."""

    request: str
    epochs: tuple[RowEpoch, ...]
    events: tuple[LifeEvent, ...]
    unseen: tuple[Unseen, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowHistory:
    """A request row: its epochs in the order in which they begin."""

    row: int
    epochs: tuple[RowEpoch, ...]
    unseen: tuple[Unseen, ...]


def row_history(process: ProcessRecording, row: int) -> RowHistory:
    """The epochs of a request row; none if no event names it."""
    found = of_row(process, row, dict(SHORT))
    return RowHistory(row=row, epochs=_epochs(found), unseen=unseen(process, OF_ROWS))


def request_life(process: ProcessRecording, request: str) -> RequestLife:
    """Everything that events say of a request; no event if none names it."""
    found = of_request(process, request, lives_of(process, request), dict(READ))
    epochs = tuple(replace(epoch, request=request) for epoch in _epochs(found))
    tables = (*OF_ROWS, "move", *(name for name in ("cache",) if name in process.files))
    return RequestLife(
        request=request,
        epochs=epochs,
        events=tuple(life_events(process, found)),
        unseen=unseen(process, tables),
    )


def _epochs(found: Mapping[str, Columns]) -> tuple[RowEpoch, ...]:
    lives: dict[tuple[int, int | None], _Told] = {}
    for table in (name for name in OF_ROWS if name in found):
        columns = found[table]
        numbers = [columns.ints(name).tolist() for name in ("row", "epoch", "seq", "step")]
        for index, (row, epoch, seq, step) in enumerate(zip(*numbers, strict=True)):
            if row != NULL:
                life = lives.setdefault((row, _known(epoch)), _Told())
                life.places.append((seq, _known(step)))
                TELL.get(table, _nothing)(life, columns, index)
                if life.request is None:
                    life.request = columns.text_at("request", index)
    made = [life.epoch(row, epoch) for (row, epoch), life in lives.items()]
    return tuple(sorted(made, key=lambda each: each.first_seq))


@dataclass(slots=True)
class _Told:
    """What the events of one epoch say, each kind in the order of `seq`; places are (seq, step)."""

    places: list[tuple[int, int | None]] = field(default_factory=list)
    ends: list[tuple[int, int | None, str]] = field(default_factory=list)
    lengths: dict[str | None, list[int | None]] = field(default_factory=dict)
    request: str | None = None
    allocs: list[int] = field(default_factory=list)
    verifies: int = 0
    accepted: int = 0

    def epoch(self, row: int, epoch: int | None) -> RowEpoch:
        (first, first_step), latest = min(self.places), max(self.places)
        end = min(self.ends, default=None)
        # Pools beside the one that is reported first have lengths of their own.
        committed, allocated = next(iter(self.lengths.values()), [None, None])
        return RowEpoch(
            row=row,
            epoch=epoch,
            request=self.request,
            first_seq=first,
            first_step=first_step,
            began=first in self.allocs,
            last_seq=latest[0] if end is None else end[0],
            last_step=latest[1] if end is None else end[1],
            ended=None if end is None else end[2],
            committed=committed,
            allocated=allocated,
            verifies=self.verifies,
            accepted=self.accepted,
        )


def _tell_alloc(life: _Told, columns: Columns, index: int) -> None:
    life.allocs.append(life.places[-1][0])


def _tell_lengths(life: _Told, columns: Columns, index: int) -> None:
    last = life.lengths.setdefault(columns.text_at("pool", index), [None, None])
    for at, name in enumerate(("committed", "allocated")):
        last[at] = last[at] if (value := columns.int_at(name, index)) is None else value


def _tell_accept(life: _Told, columns: Columns, index: int) -> None:
    life.verifies += 1
    life.accepted += max(0, columns.int_at("accept_len", index) or 0)


def _tell_release(life: _Told, columns: Columns, index: int) -> None:
    """A trim ends nothing."""
    if (kind := columns.text_at("kind", index)) != TRIM:
        life.ends.append((*life.places[-1], kind or "release"))


def _tell_row_free(life: _Told, columns: Columns, index: int) -> None:
    life.ends.append((*life.places[-1], "row_free"))


def _nothing(life: _Told, columns: Columns, index: int) -> None:
    """The event tells no more than that the row was in use."""


TELL: Mapping[str, Callable[[_Told, Columns, int], None]] = {
    "row_alloc": _tell_alloc,
    "lengths": _tell_lengths,
    "accept": _tell_accept,
    "release": _tell_release,
    "row_free": _tell_row_free,
}


def _known(value: int) -> int | None:
    return None if value == NULL else value
