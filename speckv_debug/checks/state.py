"""ST: state beside the KV, such as the rings of compressors."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import named, number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import quantity
from speckv_debug.replay.clears import RING_SIZE, RingClears
from speckv_debug.replay.ragged import Int64s

RATIO = 128
"""Positions that one row of compressed KV stands for: a boundary reads what is pending in the ring before it."""
SHOWN = 64
"""Ring rows that the evidence lists."""


@rule(
    "ST-C128",
    severity=ERROR,
    needs=(),
    scope="ring_clears",
    look_at="clear_unaccepted_c128_draft_states",
    follows=("ACC-COUNT", "LEN-SEQ"),
    performed="c128_draft_clear",
)
def only_rejected_rows_are_cleared(clears: RingClears) -> Judgement:
    """After a verify the ring rows (L + d) mod ring with n <= d < width are cleared, to 0 and -inf, and no others.

    They are those of the request's own row, as its accept of the step has it; who takes no part in the step's verifies loses
    none. L, n and the width are those of the accept, else, where accepts are not recorded whole, those that the engine
    passed: a clear that is told of fewer rows leaves some. The ring is as large as the process line says.

    Exceptions: a clear without a width empties the whole ring at the end of a row; a verify of one row clears nothing; one
    that is wider than a ragged verify is unknown;
    the online variant of C128 has another layout; an engine may need no clear, so that a missing one is no finding. Where the
    clear of this release does nothing (SGLang 0.5.15 to 0.5.17 on NPUs) it is not performed, which is neither kept nor broken.

    Unknown: a clear that lacks a length, its width, its ring's size, its rows or its request row; clears of one pool by several
    sizes of a ring, where the process line says none; one of a step of which no accept was seen, though they are recorded,
    or where an accept lacks its request or row and may be the clear's.
    """
    if not len(clears):
        return verdict(np.zeros(0, dtype=np.bool_), lambda i: _explain(clears, i))
    online = np.full(len(clears), bool(clears.info.settings.get("online_c128")))
    values = clears.wrong_values & clears.sized
    failed = clears.wrong_request | clears.nobodys | clears.resized | clears.wrong_rows | values
    failed &= ~online & ~clears.uno
    reasons = {
        "the online variant of C128 clears by its own layout": online,
        "the engine's algorithm verifies from one past the frontier": clears.uno,
        "a length, the width or the ring size is not known": ~clears.sized,
        "no ring_rows": ~clears.judged,
        "no request row": clears.rowless,
        "clears of the pool have several ring sizes": clears.many_sizes,
        "no accept of its step": clears.unseen,
        "the clear is wider than the verify": clears.wider,
    }
    return verdict(failed, lambda i: _explain(clears, i), reasons)


def _explain(clears: RingClears, i: int) -> Details:
    if clears.wrong_request[i]:
        return _explain_owner(clears, i)
    if clears.nobodys[i]:
        return _explain_nobody(clears, i)
    if clears.resized[i]:
        return _explain_size(clears, i)
    due, found = clears.due(i), np.unique(clears.rows[i])
    halves = f"{clears.value('first_half', i)} and {clears.value('second_half', i)}"
    return Details(
        message=_message(clears, i, due, found) or f"the cleared ring rows are left at {halves}",
        expected=f"ring rows {_short(due)}, values 0 and -inf",
        actual=f"ring rows {_short(found)}, values {halves}",
        evidence=(_rings(clears, i, due, found),),
    )


def _explain_owner(clears: RingClears, i: int) -> Details:
    row, due = number(clears.row[i]), number(clears.own_row[i])
    accept = int(clears.verifies.seq[clears.own[i]])
    return Details(
        message=f"ring rows of request row {row} are cleared, the request has row {due} in its accept (event {accept})",
        expected=f"a clear of request row {due}",
        actual=f"a clear of request row {row}",
    )


def _explain_nobody(clears: RingClears, i: int) -> Details:
    request, row = clears.columns.text_at("request", int(clears.index[i])), number(clears.row[i])
    who = (
        f"request row {row}"
        if request is None
        else named(request) + (f" (row {row})" if row is not None else "")
    )
    step = number(clears.step[i])
    return Details(
        message=f"ring rows of {who} are cleared, which no verify of step {step} has",
        expected="clears of the requests that were verified",
        actual=f"a clear of {who}",
    )


def _explain_size(clears: RingClears, i: int) -> Details:
    ring, size = int(clears.ring[i]), clears.info.settings.get(RING_SIZE)
    return Details(
        message=f"the clear counts by a ring of {quantity(ring, 'row')}, the pool's rings have {size}: (L + d) mod ring names other rows",
        expected=f"ring_size {size}",
        actual=f"ring_size {ring}",
    )


def _message(clears: RingClears, i: int, due: Int64s, found: Int64s) -> str:
    """The first rows that are cleared and should not be, then those that are left; empty if there are none."""
    said = [
        f"ring row {row} is cleared{_accepted(clears, i, row)}" for row in np.setdiff1d(found, due).tolist()
    ]
    said += [
        f"ring row {row} is not cleared{_rejected(clears, i, row)}"
        for row in np.setdiff1d(due, found).tolist()
    ]
    return "; ".join(said[:4])


def _accepted(clears: RingClears, i: int, row: int) -> str:
    position = _position(clears, i, row)
    if position is None or position >= int(clears.before[i]) + int(clears.accepted[i]):
        return ""
    return f", which holds accepted position {position}, read at boundary {_boundary(position)}"


def _rejected(clears: RingClears, i: int, row: int) -> str:
    position = _position(clears, i, row)
    return "" if position is None else f", which holds rejected position {position}"


def _position(clears: RingClears, i: int, row: int) -> int | None:
    """The position that the verify wrote to a ring row, None if it wrote none."""
    ring = int(clears.ring[i])
    if clears.whole[i] or not 0 <= row < ring:
        return None
    before = int(clears.before[i])
    offset = (row - before) % ring
    return before + offset if offset < int(clears.rows_verified[i]) else None


def _boundary(position: int) -> int:
    return (position // RATIO + 1) * RATIO


def _rings(clears: RingClears, i: int, due: Int64s, found: Int64s) -> Evidence:
    rows: list[tuple[Cell, ...]] = []
    marked = []
    for row in np.union1d(due, found)[:SHOWN].tolist():
        states = tuple("cleared" if row in named else "kept" for named in (due, found))
        if states[0] != states[1]:
            marked.append(len(rows))
        rows.append((row, _position(clears, i, row), *states))
    before, n = number(clears.before[i]), number(clears.accepted[i])
    title = (
        "the whole ring" if clears.whole[i] else f"ring rows, length {before}, {quantity(n, 'row')} accepted"
    )
    columns = ("ring row", "position", "due", "engine")
    return Evidence(title=title, columns=columns, rows=tuple(rows), marked=tuple(marked))


def _short(rows: Int64s) -> str:
    return f"{rows[:16].tolist()}{' …' if len(rows) > 16 else ''}"
