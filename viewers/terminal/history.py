"""The history of a slot, page, request row or request as text: one event or epoch a line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TextIO

from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import amount, printable
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.life_events import LifeEvent, Pairs
from speckv_debug.replay.page_history import ranges
from speckv_debug.replay.request_life import RequestLife, RowEpoch, RowHistory
from speckv_debug.replay.slot_entries import SlotEvent
from speckv_debug.replay.slot_history import SlotHistory
from speckv_debug.replay.unseen import Unseen, reasons
from speckv_debug.viewers.terminal.table import table_lines

SHOWN_PAIRS = 2
"""Pairs of a mover call that are written out; JSON has all."""
Answer = SlotHistory | RowHistory | RequestLife
SLOT_COLUMNS = ("seq", "step", "event", "request", "row", "epoch", "slots", "positions", "what", "site")
LIFE_COLUMNS = ("seq", "step", "event", "row", "epoch", "committed", "allocated", "slots", "what", "site")
EPOCH_COLUMNS = (
    "epoch", "request", "from seq", "step", "to seq", "step", "ended by", "committed", "allocated", "verifies", "accepted",
)  # fmt: skip


def render(answer: Answer, process: ProcessRecording, out: TextIO) -> None:
    """Write all of it, then what the recording does not hold."""
    if isinstance(answer, SlotHistory):
        lines = _slot(answer)
    elif isinstance(answer, RowHistory):
        lines = _row(answer)
    else:
        lines = _request(answer)
    shown = (f"{printable(process.label)} · {next(lines)}", *lines, *_unseen(answer.unseen))
    out.write("".join(f"{line}\n" for line in shown))


def _slot(history: SlotHistory) -> Iterator[str]:
    of_page = f"page {history.page}" + (
        f" of {amount(history.page_size, 'slot')}" if history.page_size > 1 else ""
    )
    what = of_page if history.slot is None else f"slot {history.slot} · {of_page}"
    shared = f" ({history.asked} has its ids from there)" if history.asked != history.pool else ""
    yield f"pool {printable(f'{history.pool}{shared}')} · {what} · {amount(len(history.events), 'event')}"
    if history.events:
        yield from _table(SLOT_COLUMNS, (_slot_row(event) for event in history.events))


def _slot_row(event: SlotEvent) -> tuple[Cell, ...]:
    what = _moves(event.moved) if event.moved else event.detail or ""
    if event.takes_effect is not None:
        what = f"{what}, takes effect with event {event.takes_effect}".removeprefix(", ")
    at = None if event.positions is None else ranges(tuple(range(*event.positions)))
    who = (event.request, event.row, event.epoch)
    return (event.seq, event.step, event.event, *who, ranges(event.slots), at, what, event.site)


def _row(history: RowHistory) -> Iterator[str]:
    yield f"request row {history.row} · {amount(len(history.epochs), 'epoch')}"
    if history.epochs:
        yield from _table(EPOCH_COLUMNS, map(_epoch_row, history.epochs))


def _epoch_row(epoch: RowEpoch) -> tuple[Cell, ...]:
    begin = (f"{epoch.first_seq}{'' if epoch.began else ' or before'}", epoch.first_step)
    end = (epoch.last_seq, epoch.last_step, epoch.ended or "not seen to end")
    lengths = (epoch.committed, epoch.allocated, epoch.verifies, epoch.accepted)
    return (epoch.epoch, epoch.request, *begin, *end, *lengths)


def _request(life: RequestLife) -> Iterator[str]:
    counts = f"{amount(len(life.epochs), 'epoch')} · {amount(len(life.events), 'event')}"
    yield f"request {printable(life.request)} · {counts}"
    if life.epochs:
        yield from _table(("row", *EPOCH_COLUMNS), ((each.row, *_epoch_row(each)) for each in life.epochs))
    if life.events:
        yield ""
        yield from _table(LIFE_COLUMNS, map(_life_row, life.events))


def _life_row(event: LifeEvent) -> tuple[Cell, ...]:
    lengths = (event.committed, event.allocated)
    who = (event.row, event.epoch)
    return (event.seq, event.step, event.event, *who, *lengths, _slots(event), _what(event), event.site)


def _slots(event: LifeEvent) -> str | None:
    if not event.slots:
        return None
    at = "" if event.start is None else f" at [{event.start}, {event.start + len(event.slots)})"
    return f"{amount(len(event.slots), 'slot')}{at}"


def _what(event: LifeEvent) -> str | None:
    if event.moved:
        return _moves(event.moved)
    if event.accepted is not None:
        return f"{event.accepted} of {'?' if event.width is None else event.width} rows accepted"
    return event.detail


def _moves(pairs: Pairs) -> str:
    """Such as `42082 <- 42083, 2 in place`."""
    moves = [f"{target} <- {source}" for target, source in pairs if target != source]
    same, more = len(pairs) - len(moves), len(moves) - SHOWN_PAIRS
    said = [
        *moves[:SHOWN_PAIRS],
        *([f"{more} more"] if more > 0 else []),
        *([f"{same} in place"] if same else []),
    ]
    return ", ".join(said)


def _table(columns: tuple[str, ...], rows: Iterable[tuple[Cell, ...]]) -> Iterator[str]:
    """All rows, without the columns that say nothing."""
    found = tuple(rows)
    kept = [i for i in range(len(columns)) if any(row[i] not in (None, "") for row in found)]
    evidence = Evidence(
        title="",
        columns=tuple(columns[i] for i in kept),
        rows=tuple(tuple(row[i] for i in kept) for row in found),
    )
    return table_lines(evidence, shown=None)


def _unseen(found: Collection[Unseen]) -> Iterator[str]:
    """What the recording can't tell."""
    for why in reasons(found):
        yield f"unknown  {printable(why)}"
