"""The ledger of a process at any `seq`, forwards and backwards: it goes on from where it is, or from a checkpoint.

What viewers that scrub through a recording ask, step by step or at random. Forwards and verifies move no page about and are
left out, so the ledger tells who holds what and nothing about uses; its facts are not for judging.
"""

from __future__ import annotations

import io
import pickle
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from speckv_debug.recording.arrays import empty_table
from speckv_debug.recording.parts import Within
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.recording.schema import CODED, SCHEMAS
from speckv_debug.recording.table_files import seq_of
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_events import TABLES, GetColumns, LedgerEvents, Order
from speckv_debug.replay.ragged import NULL

USES = ("forward", "accept")
OF_USES = ("swa_map",)
"""Tables that only judging uses looks at."""
UNREAD = ("t_ns",)
"""Columns that the ledger has no use for."""
CHECKPOINTS = 32
"""How many states of a recording are kept, as bytes in memory; never on disk."""
APART = 4096
"""Events between two of them at least: so many are folded in an instant."""
TOLD = 1 << 18
"""Events after which progress is told again."""
READ, DECODED, FOUNDED, ORDERED = 0.35, 0.45, 0.75, 0.85
"""Shares of the time until the first event can be folded, of a long recording: the tables are read, and so on."""
FIXED = ("process", "info", "events", "namespaces", "facts", "trims", "page_size", "given")
"""What is the same at every `seq`."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after the first `events` events and `losses` losses."""

    events: int
    losses: int
    ends: int
    state: bytes


class Timeline:
    """`at(seq)` is the ledger after all events up to `seq`; it is valid until the next call.

    Args:
        process: The process.
        until_seq: Later events are never asked for, so they are not read.
        checkpoints: How many states are kept at most.
        on_progress: Told how much is done of what has to be read before the first event.
    """

    def __init__(
        self,
        process: ProcessRecording,
        until_seq: int | None = None,
        *,
        checkpoints: int = CHECKPOINTS,
        on_progress: Callable[[float], None] = lambda share: None,
    ) -> None:
        self.process = process
        columns = _columns(process, until_seq, lambda share: on_progress(READ * share))
        events = LedgerEvents(columns, process.info)
        on_progress(DECODED)
        self._ledger = Ledger(process, events)
        on_progress(FOUNDED)
        self._order = self._ledger.events.order()
        on_progress(ORDERED)
        self._breaks = self._ledger.breaks()
        self._every = max(APART, -(-len(self._order.seq) // checkpoints))
        self._fold = self._ledger.folder(len(self._order.seq))
        self._events = self._losses = 0
        self._kept = [self._checkpoint()]

    def at(self, seq: int, on_progress: Callable[[float], None] = lambda share: None) -> Ledger:
        """The ledger after all recorded events up to `seq`, and what was lost before it lost."""
        wanted = int(np.searchsorted(self._order.seq, seq, side="right"))
        lost = bisect_right(self._breaks, seq, key=lambda each: each[0])
        best = self._kept[bisect_right(self._kept, wanted, key=lambda each: each.events) - 1]
        if self._events > wanted or self._losses > lost or best.events > self._events:
            self._restore(best)
        while self._events < wanted:
            on_progress(self._events / wanted)
            checkpoint = (self._events // self._every + 1) * self._every
            self._advance(min(wanted, checkpoint, self._events + TOLD))
            if self._events % self._every == 0 and self._kept[-1].events < self._events < len(
                self._order.seq
            ):
                self._kept.append(self._checkpoint())
        while self._losses < lost:
            self._lose()
        return self._ledger

    @property
    def order(self) -> Order:
        """The events that change the ledger, in the order of `seq`."""
        return self._order

    @property
    def events(self) -> LedgerEvents:
        """The tables that `order` refers to."""
        return self._ledger.events

    @cached_property
    def last_seq(self) -> int:
        """The last event that changes the ledger, -1 without any."""
        return int(self._order.seq[-1]) if len(self._order.seq) else -1

    def _advance(self, stop: int) -> None:
        """Fold up to the `stop`-th event."""
        while self._losses < len(self._breaks):
            behind = int(np.searchsorted(self._order.seq, self._breaks[self._losses][0]))
            if behind >= stop:
                break
            self._fold(self._order.part(self._events, behind))
            self._events = behind
            self._lose()
        self._fold(self._order.part(self._events, stop))
        self._events = stop

    def _lose(self) -> None:
        self._ledger.lose(self._breaks[self._losses][1])
        self._losses += 1

    def _checkpoint(self) -> Checkpoint:
        ledger, out = self._ledger, io.BytesIO()
        _Pickler(ledger, out).dump({k: v for k, v in vars(ledger).items() if k not in FIXED})
        return Checkpoint(self._events, self._losses, len(ledger.facts.ends), out.getvalue())

    def _restore(self, kept: Checkpoint) -> None:
        """Only bytes that this process made itself are read back."""
        vars(self._ledger).update(_Unpickler(self._ledger, io.BytesIO(kept.state)).load())
        del self._ledger.facts.ends[kept.ends :]
        self._events, self._losses = kept.events, kept.losses
        self._fold = self._ledger.folder(len(self._order.seq))


class _Pickler(pickle.Pickler):
    """Names what is fixed instead of copying it."""

    def __init__(self, ledger: Ledger, out: io.BytesIO) -> None:
        super().__init__(out, protocol=pickle.HIGHEST_PROTOCOL)
        self._fixed = {
            id(getattr(ledger, name)): name for name in FIXED if name not in ("page_size", "given")
        }

    def persistent_id(self, found: Any) -> str | None:
        return self._fixed.get(id(found))


class _Unpickler(pickle.Unpickler):
    def __init__(self, ledger: Ledger, source: io.BytesIO) -> None:
        super().__init__(source)
        self._ledger = ledger

    def persistent_load(self, name: Any) -> Any:
        return getattr(self._ledger, name)


def ledger_at(
    process: ProcessRecording, seq: int, on_progress: Callable[[float], None] = lambda share: None
) -> Ledger:
    """The ledger after all events up to `seq`, for one question alone; nothing behind it is read."""
    return Timeline(process, seq, checkpoints=1).at(seq, on_progress)


def last_event_of(process: ProcessRecording, step: int) -> int | None:
    """`seq` of the last event that names an engine step, None if none does."""
    found = []
    for table in process.files:
        for piece in process.pieces(table):
            columns = Columns(piece.read(["step"], Within("step", step, step + 1)))
            at = np.flatnonzero(columns.ints("step") == step)
            found += columns.ints("seq")[at[-1:]].tolist()
    return max(found, default=None)


def nearest_steps(process: ProcessRecording, step: int) -> tuple[int, ...]:
    """The recorded steps next to `step`, below and above."""
    steps = [Columns(process.columns(table, "step")).ints("step") for table in process.files]
    known = np.unique(np.concatenate([np.empty(0, np.int64), *steps]))
    known = known[known != NULL]
    at = int(np.searchsorted(known, step))
    return tuple(known[max(0, at - 1) : at + 1].tolist())


def _columns(
    process: ProcessRecording, until_seq: int | None, on_progress: Callable[[float], None]
) -> GetColumns:
    """The ledger's tables, each read at once: a part that is damaged is left out of all its columns."""
    tables = {}
    for number, name in enumerate(TABLES):
        if name not in USES:
            tables[name] = _table(process, name, until_seq)
            on_progress((number + 1) / len(TABLES))
    made = {name: Columns(table) for name, table in tables.items()}
    made |= {name: Columns(empty_table(SCHEMAS[name])) for name in (*USES, *OF_USES)}
    return made.__getitem__


def _table(process: ProcessRecording, name: str, until_seq: int | None) -> pa.Table:
    """The rows up to a seq; nothing of a part behind it is read."""
    fields = [field for field in CODED[name] if field.name not in UNREAD]
    wanted = [field.name for field in fields]
    pieces = (p for p in process.pieces(name) if until_seq is None or p.first <= until_seq)
    table = pa.concat_tables(
        [empty_table(pa.schema(fields)), *(piece.read(wanted, coded=True) for piece in pieces)]
    )
    if until_seq is None:
        return table
    return table.slice(0, int(np.searchsorted(seq_of(table), until_seq, side="right")))
