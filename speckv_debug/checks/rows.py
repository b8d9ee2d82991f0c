"""OWN-ROW: who holds a request row."""

from __future__ import annotations

from speckv_debug.checks.evidence import named
from speckv_debug.checks.rows_used import judge_returns, judge_uses
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import united_verdict, verdict
from speckv_debug.model.finding import Evidence
from speckv_debug.replay.row_grants import RowGrants
from speckv_debug.replay.united import United

UNSEEN = "who held the row before was not recorded"
UNTOLD = "sessions and resets of the tree were not recorded: they hand rows on without an event of the row"
UNHEARD = "row_alloc, row_free or release was not recorded whole: the row may have changed hands"
FIRST_ROW = "whether the engine hands out row 0, which others keep for padding, is not known"
SHOWN = 8


@rule(
    "OWN-ROW",
    severity=ERROR,
    needs=("row_alloc", "row_free"),
    scope="row_grants",
    look_at="ReqToTokenPool.alloc, free",
    follows=("OWN-ROW",),
)
def one_holder_a_row(rows: United) -> Judgement:
    """A request row is handed out only when no life holds it, a request holds one row, and its holder gives it back.

    Whatever is done in a row is done for the request that it was handed out to, between that and its return; when the
    request has ended, the row comes back before the next settled point, or the launch of a later step. Row 0 belongs to
    rows that pad a batch and to no request.

    Exceptions: a prompt in chunks asks for its own row again; a session's row goes on with the next turn, which gives it
    back, and another row may be taken for what a session has saved; a freed row keeps its contents; what a reset of the tree
    leaves of the rows is unknown. Lengths and frees of a request may come after its row's return. A recording that hands
    out no row at all says nothing of who uses them. Of engines beside SGLang it is not known whether they hand out row 0.
    """
    grants, uses, returns = rows.parts
    return united_verdict(rows, (judge_grants(grants), judge_uses(uses), judge_returns(returns)))


def judge_grants(rows: RowGrants) -> Judgement:
    """Rows are handed out when they are free, and given back by their holder."""
    failed = rows.held | (rows.other >= 0) | rows.not_held | rows.of_another | rows.reserved
    unseen = rows.unseen & ~(rows.other >= 0) & ~rows.reserved
    untold = failed & ~unseen & ~rows.reserved & (not rows.tells_sessions)
    unheard = rows.unheard & ~rows.reserved
    reasons = {UNSEEN: unseen, UNTOLD: untold, UNHEARD: unheard, FIRST_ROW: rows.of_first_row}
    return verdict(failed & ~unseen & ~unheard & ~untold, lambda i: _explain(rows, i), reasons)


def _explain(rows: RowGrants, i: int) -> Details:
    place, before, other = rows.place(i), int(rows.before[i]), int(rows.other[i])
    who = _who(rows, i)
    if rows.reserved[i]:
        message = f"row {place.row} is handed out to {who}, it belongs to rows that pad a batch"
        expected = "a row that the engine hands out: 1 and up"
    elif rows.held[i]:
        message = f"row {place.row} is handed out to {who} while {_who(rows, before)} holds it"
        expected = "the row's holder gives it back first"
    elif other >= 0:
        message = f"row {place.row} is handed out to {who}, which holds row {rows.row[other]} still"
        expected = "a request holds one row"
    elif rows.of_another[i]:
        message = f"row {place.row} is given back by {who} while {_who(rows, before)} holds it"
        expected = "the row's holder gives it back"
    else:
        since = "" if before < 0 else f" since event {rows.seq[before]}"
        message = f"row {place.row} is given back by {who}, but it is free{since}"
        expected = "a row is given back once after it was handed out"
    shown = (int(rows.row[i]), *(int(row) for row in rows.row[[other]] if other >= 0))
    history = tuple(_history(rows, i, row) for row in shown)
    actual = f"row {place.row}" if rows.reserved[i] else _last(rows, before)
    return Details(message=message, expected=expected, actual=actual, evidence=history)


def _last(rows: RowGrants, before: int) -> str:
    if before < 0:
        return "no event of the row before"
    return f"before it: {rows.kind(before)} at event {rows.seq[before]}"


def _who(rows: RowGrants, index: int) -> str:
    place = rows.place(index)
    return named(place.request) + ("" if place.epoch is None else f" (epoch {place.epoch})")


def _history(rows: RowGrants, until: int, row: int) -> Evidence:
    events = rows.events_of(row, until)
    cells = []
    for index in events[-SHOWN:].tolist():
        place = rows.place(index)
        cells.append((place.seq, place.step, rows.kind(index), place.request, place.epoch))
    left_out = f", the last {SHOWN} of {len(events)} events" if len(events) > SHOWN else ""
    columns = ("seq", "step", "event", "request", "epoch")
    return Evidence(
        title=f"row {row}{left_out}", columns=columns, rows=tuple(cells), marked=(len(cells) - 1,)
    )
