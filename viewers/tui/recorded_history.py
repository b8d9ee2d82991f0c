"""Questions about slots, rows and requests, answered from a recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from speckv_debug.model.text import amount
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.life_events import LifeEvent, Pairs
from speckv_debug.replay.page_history import ranges
from speckv_debug.replay.request_life import RowEpoch, request_life, row_history
from speckv_debug.replay.slot_entries import SlotEvent
from speckv_debug.replay.slot_history import slot_history
from speckv_debug.replay.unseen import reasons
from speckv_debug.viewers.tui.history import LIFE, History, HistoryLine, Question


def answer(process: ProcessRecording, question: Question) -> History:
    """All events that are about it.

    Raises:
        UsageError: No such pool, or an id that the pool can't have.
    """
    if question.kind == LIFE:
        life = request_life(process, question.about)
        title = f"request {question.about}: {amount(len(life.events), 'event')}"
        lines = (_of_life(event, rung) for event, rung in zip(life.events, _rungs(life.events), strict=True))
        return History(title, tuple(lines), reasons(life.unseen))
    number = int(question.about)
    if question.kind == "row":
        rows = row_history(process, number)
        title = f"request row {number}: {amount(len(rows.epochs), 'epoch')}"
        return History(title, tuple(map(_of_epoch, rows.epochs)), reasons(rows.unseen))
    found = slot_history(process, **{question.kind: number}, pool=question.pool)  # type: ignore[arg-type]
    title = f"{question.kind} {number} of pool {found.pool}: {amount(len(found.events), 'event')}"
    return History(title, tuple(map(_of_slot, found.events)), reasons(found.unseen))


def _of_slot(event: SlotEvent) -> HistoryLine:
    what = [_moves(event.moved), event.detail or "", f"slots {ranges(event.slots)}" if event.slots else ""]
    if event.positions is not None:
        what.append(f"positions [{event.positions[0]}, {event.positions[1]})")
    if event.takes_effect is not None:
        what.append(f"takes effect with event {event.takes_effect}")
    return HistoryLine(
        event.seq,
        event.step,
        event.event,
        _who(event.request, event.row, event.epoch),
        _joined(what, event.site),
    )


def _rungs(events: Iterable[LifeEvent]) -> Iterator[tuple[int, int]]:
    """Committed and allocated length behind each event, as last told; a row that is given back holds nothing."""
    committed = allocated = 0
    for event in events:
        if event.event == "accept":
            committed = max(committed, (event.committed or 0) + (event.accepted or 0))
        elif event.event == "row_free":
            committed = allocated = 0
        else:
            committed = committed if event.committed is None else event.committed
            allocated = allocated if event.allocated is None else event.allocated
        yield committed, max(committed, allocated)


def _of_life(event: LifeEvent, rung: tuple[int, int]) -> HistoryLine:
    what = [f"{name} {value}" for name, value in _lengths(event) if value is not None]
    what += [_moves(event.moved), event.detail or ""]
    if event.accepted is not None:
        what.append(f"{event.accepted} of {'?' if event.width is None else event.width} rows accepted")
    if event.slots:
        at = "" if event.start is None else f" at position {event.start}"
        what.append(f"{amount(len(event.slots), 'slot')}{at}")
    who = _who(None, event.row, event.epoch)
    return HistoryLine(event.seq, event.step, event.event, who, _joined(what, event.site), rung)


def _lengths(event: LifeEvent) -> Iterator[tuple[str, int | None]]:
    yield "committed", event.committed
    yield "allocated", event.allocated


def _of_epoch(epoch: RowEpoch) -> HistoryLine:
    what = [f"{'' if epoch.began else 'begun before, '}until event {epoch.last_seq}"]
    what += [epoch.ended or "not seen to end", amount(epoch.verifies, "verify", "verifies")]
    what += [f"committed {epoch.committed}"] if epoch.committed is not None else []
    number = "?" if epoch.epoch is None else epoch.epoch
    return HistoryLine(
        epoch.first_seq, epoch.first_step, f"epoch {number}", epoch.request or "", _joined(what, None)
    )


def _who(request: str | None, row: int | None, epoch: int | None) -> str:
    parts = [] if request is None else [request]
    parts += [] if row is None else [f"row {row}" + ("" if epoch is None else f" epoch {epoch}")]
    return " · ".join(parts)


def _moves(pairs: Pairs) -> str:
    return ", ".join(f"{target} <- {source}" for target, source in pairs if target != source)


def _joined(what: list[str], site: str | None) -> str:
    return ", ".join(part for part in (*what, f"in {site}" if site else "") if part)
