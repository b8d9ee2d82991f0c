"""RPL: lengths that a preparation and a release decide, and state beside the KV, computed again."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.accept import NO_PATH
from speckv_debug.checks.evidence import number
from speckv_debug.checks.length import RESERVE
from speckv_debug.checks.move import ACCEPTS
from speckv_debug.checks.ownership import RELEASE
from speckv_debug.checks.rule import ERROR, NOTE, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import quantity
from speckv_debug.replay.replayed_reserves import ReplayedReserves
from speckv_debug.replay.replayed_states import ReplayedStates

GROWN = {"plain": "kernels.reserve.grown_length_unaligned", "rounded": "kernels.reserve.grown_length"}
TAIL = "kernels.reserve.tail_start"
CLEARED = "kernels.state.clear_unaccepted_rows"
KEPT = "kernels.state.commit_steps"
SHOWN = 64
"""Ring rows that the evidence lists."""


@rule(
    "RPL-RESERVE",
    severity=ERROR,
    needs=(),
    scope="replayed_reserves",
    look_at=f"{RESERVE}; {RELEASE}",
    follows=("LEN-ALLOC", "OWN-PAGESAFE", "OWN-LEAK", "LEN-COMMIT"),
)
def replayed_lengths(scope: ReplayedReserves) -> Judgement:
    """A row grows to the length of kernels.reserve.grown_length, and the free of its tail starts at tail_start.

    Exceptions: SGLang 0.5.12 to 0.5.15 do not round up to a page; without an engine version either form is accepted; the room
    stays after a reject; a start beyond the allocated length frees nothing; what a finish keeps may be less than is committed
    (a stop), and what any end keeps where the engine strips thinking; a tail may start inside a page whose head goes back
    beside it; under decode context parallelism SGLang before 0.5.17 aligned with the server's page. How much is reserved the
    engine may choose (adaptive depth): only a reserve too small for the rows of one verify is noted, beside what
    decode_reserve gives.
    """
    unaligned = scope.inside_a_page if scope.by_server_page else scope.inside_a_page & ~scope.unsafe
    open_tail = unaligned | scope.cut_short
    failed = scope.wrong_growth | (scope.wrong_tail & ~open_tail) | scope.small_reserve
    reasons = {
        "a length, the reserve, the start of the tail or the page size is not known": scope.unknown,
        "the tail starts inside a page, whose head may go back beside it": unaligned,
        "the tail starts before the committed length: a stop may have cut what is kept": scope.cut_short,
    }
    return verdict(failed, lambda i: _explain_length(scope, i), reasons)


def _explain_length(scope: ReplayedReserves, i: int) -> Details:
    if scope.wrong_growth[i]:
        return _explain_growth(scope, i)
    return _explain_tail(scope, i) if scope.table[i] == 1 else _explain_small(scope, i)


def _explain_growth(scope: ReplayedReserves, i: int) -> Details:
    lengths: dict[int, str] = {}
    for form, grown in zip(scope.forms, scope.grown, strict=True):
        lengths.setdefault(int(grown[i]), GROWN[form])
    due = [f"{kernel} = {length}" for length, kernel in lengths.items()]
    event = int(scope.event[i])
    names = ("committed", "allocated", "reserve", "new_allocated")
    told = {name: number(scope.reserves.ints(name)[event]) for name in names}
    rows: list[tuple[Cell, ...]] = [(name, value) for name, value in told.items()]
    rows.append(("page size of the allocator", number(scope.reserves.page_size[event])))
    return Details(
        message=f"the row grows to {told['new_allocated']}, {' or '.join(due)}",
        expected=" or ".join(due),
        actual=f"new_allocated {told['new_allocated']}",
        evidence=(Evidence(title="growth", columns=("", "positions"), rows=tuple(rows), marked=(3,)),),
    )


def _explain_small(scope: ReplayedReserves, i: int) -> Details:
    room = number(scope.reserves.ints("reserve")[int(scope.event[i])])
    return Details(
        severity=NOTE,
        message=f"{quantity(room, 'position is', 'positions are')} reserved, kernels.reserve.decode_reserve gives {scope.settled_reserve} "
        "for these settings: not even one verify has room",
        expected=f"a reserve of {scope.settled_reserve}",
        actual=f"a reserve of {room}",
    )


def _explain_tail(scope: ReplayedReserves, i: int) -> Details:
    event, release = int(scope.event[i]), scope.release
    names = ("committed", "allocated", "target", "free_start")
    told = {name: release.int_at(name, event) for name in names}
    due = list(dict.fromkeys(n for tail in scope.tails if (n := number(tail[i])) is not None))
    text = " or ".join(str(start) for start in due)
    rows: tuple[tuple[Cell, ...], ...] = tuple(told.items())
    return Details(
        message=f"the free of the tail starts at {told['free_start']}, {TAIL} gives {text}",
        expected=f"free_start {text}",
        actual=f"free_start {told['free_start']}",
        evidence=(Evidence(title="release", columns=("", "positions"), rows=rows, marked=(3,)),),
    )


@rule(
    "RPL-STATE",
    severity=ERROR,
    needs=(),
    scope="replayed_states",
    look_at="clear_unaccepted_c128_draft_states; commit_mamba_states_after_verify",
    follows=("ST-C128", "ST-MAMBA", "RPL-ACCEPT", *ACCEPTS),
)
def replayed_state(scope: ReplayedStates) -> Judgement:
    """A clear empties the ring rows of kernels.state.clear_unaccepted_rows, to 0 and -inf, and a commit keeps commit_steps.

    The ring is that of the request's own row, as its accept of the step has it.

    Exceptions: a clear without a width empties the whole ring at the end of a row; a verify of one row clears nothing;
    the online variant of C128 has another layout; a commit may be deferred to the start of the next verify.
    """
    told = scope.of_clear(scope.clears.rows.filled)
    known = scope.of_clear(scope.clearable)
    clears = scope.table == 0
    online = clears & scope.online
    wrong = scope.wrong_rows | (scope.clears.wrong_values & scope.clearable) | scope.clears.wrong_request
    failed = (scope.of_clear(wrong) & ~online) | scope.wrong_step
    reasons = {
        "the online variant of C128 clears by its own layout": online,
        "a length, the width or the ring size is not known": clears & ~known,
        "no ring_rows": clears & ~told,
        "no step_index": scope.untold_step,
        NO_PATH: scope.stepless,
    }
    return verdict(failed, lambda i: _explain_state(scope, i), reasons)


def _explain_state(scope: ReplayedStates, i: int) -> Details:
    event = int(scope.event[i])
    if scope.table[i] == 1:
        return _explain_step(scope, i, event)
    return _explain_owner(scope, event) if scope.clears.wrong_request[event] else _explain_clear(scope, event)


def _explain_owner(scope: ReplayedStates, event: int) -> Details:
    due, row = int(scope.clears.own_row[event]), int(scope.clears.row[event])
    accept = int(scope.verifies.seq[scope.clears.own[event]])
    return Details(
        message=f"the clear is of request row {row}, the request has row {due} in its accept (event {accept})",
        expected=f"a clear of request row {due}",
        actual=f"a clear of request row {row}",
    )


def _explain_clear(scope: ReplayedStates, event: int) -> Details:
    emptied, named = scope.cleared(event), np.sort(scope.clears.rows[event])
    due, found = emptied.tolist(), named.tolist()
    halves = [scope.clears.value(name, event) for name in ("first_half", "second_half")]
    before, kept = number(scope.clears.before[event]), number(scope.clears.accepted[event])
    wrong, left = np.setdiff1d(named, emptied).tolist(), np.setdiff1d(emptied, named).tolist()
    said = [f"ring row {row} is cleared" for row in wrong] + [
        f"ring row {row} is not cleared" for row in left
    ]
    if not said:
        said = [f"it leaves {halves[0]} and {halves[1]}"]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (row, "kept" if row in wrong else "cleared", "kept" if row in left else "cleared")
        for row in np.union1d(emptied, named)[:SHOWN].tolist()
    )
    return Details(
        message=f"the clear is not that of {CLEARED}: {'; '.join(said[:4])}",
        expected=f"ring rows {_short(due)}, halves 0 and -inf",
        actual=f"ring rows {_short(found)}, halves {halves[0]} and {halves[1]}",
        evidence=(
            Evidence(
                title=f"ring rows, length {before}, {quantity(kept, 'row')} accepted",
                columns=("ring row", CLEARED, "engine"),
                rows=rows,
                marked=tuple(k for k, row in enumerate(rows) if row[1] != row[2]),
            ),
        ),
    )


def _short(rows: list[int]) -> str:
    return f"{rows[:16]}{' …' if rows[16:] else ''}"


def _explain_step(scope: ReplayedStates, i: int, event: int) -> Details:
    kept = scope.commit.int_at("step_index", event)
    due = list(dict.fromkeys(n for steps in scope.due_steps if (n := number(steps[i])) is not None))
    accept = int(scope.accept[i] if scope.accept[i] >= 0 else scope.earlier[i])
    return Details(
        message=f"the state after verify row {kept} is kept, {KEPT} gives row {due[0]}",
        expected=f"step_index {' or '.join(map(str, due))}",
        actual=f"step_index {kept}",
        evidence=(
            Evidence(
                title="accepted path",
                columns=("k", "verify row"),
                rows=tuple(enumerate(scope.path[accept].tolist())),
            ),
        ),
    )
