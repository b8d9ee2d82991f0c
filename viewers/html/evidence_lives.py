"""Evidence tables that list events one after the other, as lives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from speckv_debug.model.finding import Cell, Evidence, Finding
from speckv_debug.model.text import plural
from speckv_debug.viewers.html.life import LONGEST, Turn, draw_life
from speckv_debug.viewers.html.markup import Html

Row = Sequence[Cell]
PAGE = ("seq", "step", "event", "request", "row", "epoch", "slots", "reason", "site")
ROW = ("seq", "step", "event", "request", "epoch")
REFERENCE = ("seq", "holder", "action", "holder has", "references", "count_after")
LENGTHS = ("seq", "step", "event", "accept_len", "committed", "allocated", "cause")
LOCK = ("seq", "step", "action", "slots", "which")
PEER = ("seq", "step", "peer")
BECOMES = {
    "alloc": "held",
    "row_alloc": "held",
    "free": "free",
    "row_free": "free",
    "cache insert": "tree",
    "cache evict": "held",
}
"""What a page or row is from an event on; other events change nothing."""


def lived(evidence: Evidence, finding: Finding) -> Html:
    """The events in their order, that of the finding marked; nothing of a table of another kind."""
    if evidence.columns not in TURNS:
        return Html()
    marked = {evidence.rows[k][0] for k in evidence.marked} or {finding.first_seq}
    turns, state = list[Turn](), ""
    for row in evidence.rows:
        words, state, inside = TURNS[evidence.columns](row, state)
        turns.append(
            Turn(step=_step(evidence, row), words=words, state=state, inside=inside, wrong=row[0] in marked)
        )
    if not any(turn.wrong for turn in turns):
        turns.append(_end(finding, state))
    return draw_life(turns, evidence.title)


def _step(evidence: Evidence, row: Row) -> str:
    at = row[evidence.columns.index("step")] if "step" in evidence.columns else None
    return f"step {at}" if at is not None else f"event {row[0]}"


def _end(finding: Finding, state: str) -> Turn:
    """The finding's own event, which is not among those that the table lists."""
    step = f"step {finding.step}" if finding.step is not None else f"event {finding.first_seq}"
    words = finding.message
    if len(words) > LONGEST - 2 and finding.actual:
        words = finding.actual
    return Turn(step=step, words=words, state=state, wrong=True)


def _joined(*parts: Cell) -> str:
    return " · ".join(str(part) for part in parts if part not in (None, ""))


def _page(row: Row, state: str) -> tuple[str, str, str]:
    _, _, event, request, _, _, slots, reason, site = row
    what = f"{event} ({reason})" if reason else str(event)
    return _joined(what, request, _slots(slots), site), BECOMES.get(str(event), state), ""


def _slots(named: Cell) -> str:
    """`slot 68` of one, `slots [68, 72)` of several; they may be fewer than the page has."""
    return f"{plural(1 if str(named).isdigit() else None, 'slot')} {named}" if named not in (None, "") else ""


def _row(row: Row, state: str) -> tuple[str, str, str]:
    _, _, event, request, epoch = row
    return _joined(event, request, f"epoch {epoch}"), BECOMES.get(str(event), state), ""


def _reference(row: Row, state: str) -> tuple[str, str, str]:
    _, holder, action, has, count, told = row
    words = _joined(
        f"{holder} {action}", f"{holder} has {has}", None if told is None else f"engine counts {told}"
    )
    return words, "free" if count == 0 else "held", "" if count is None else str(count)


def _lengths(row: Row, state: str) -> tuple[str, str, str]:
    _, _, event, accepted, committed, allocated, cause = row
    numbers = [("accepted", accepted), ("committed", committed), ("allocated", allocated)]
    told = ", ".join(f"{name} {value}" for name, value in numbers if value is not None)
    return _joined(f"{event} ({cause})" if cause else str(event), told), "", ""


def _lock(row: Row, state: str) -> tuple[str, str, str]:
    return _joined(row[2], f"{row[3]} slots", row[4]), "", ""


def _peer(row: Row, state: str) -> tuple[str, str, str]:
    return f"peer {row[2]}", "free" if row[2] == "none" else "held", ""


TURNS: dict[tuple[str, ...], Callable[[Row, str], tuple[str, str, str]]] = {
    PAGE: _page,
    ROW: _row,
    REFERENCE: _reference,
    LENGTHS: _lengths,
    LOCK: _lock,
    PEER: _peer,
}
"""Columns → words, state from here on, and what stands in the band."""


def is_life(evidence: Evidence) -> bool:
    """Whether the table lists events."""
    return evidence.columns in TURNS
