"""LEN-REACH: what the device writes lies before the length that was allocated when the forward was launched."""

from __future__ import annotations

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import quantity
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.reaches import Reaches

SHOWN = 16
NOT_TOLD = "the allocated length was not told before"


@rule(
    "LEN-REACH",
    severity=ERROR,
    needs=(),
    scope="reaches",
    look_at="get_alloc_reserve_per_decode (twice what a round writes), eagle_prepare_for_decode",
    follows=("LEN-ALLOC", "LEN-SEQ", "LEN-COMMIT", "LEN-ORDER", "LEN-REACH"),
)
def writes_within_allocated(reaches: Reaches) -> Judgement:
    """A forward writes below the allocated length: L + w <= K, with L as the device has it and K as the host had told.

    L counts the verify in flight: under overlap it is ahead of the committed length, which is why the reserve holds two
    rounds.

    Exceptions: L + w = K is allowed; slots granted since the last report count; a verify that was in flight when its
    request ended; what a drafter writes lies in a pool or layout of its own and is left to the owner of its slots.
    """
    in_flight = reaches.beyond & reaches.ended
    untold = reaches.beyond & ~reaches.growth_told
    reasons = {
        "the forward was in flight when its request ended": in_flight,
        "growth of rows was not recorded whole": untold,
        "the event names no row and epoch": reaches.life < 0,
        "no length or number of rows": reaches.end == NULL,
        NOT_TOLD: reaches.allocated == NULL,
    }
    return verdict(reaches.beyond & ~in_flight & ~untold, lambda i: _explain(reaches, i), reasons)


def _explain(reaches: Reaches, i: int) -> Details:
    start, count, end = (int(v[i]) for v in (reaches.writes.start, reaches.count, reaches.end))
    granted, room = int(reaches.granted[i]), int(reaches.allocated[i]) + int(reaches.granted[i])
    what = "verify" if reaches.writes.of_verify[i] else "forward"
    slots = tuple(reaches.writes.slots[i][max(0, room - start) :].tolist())
    rows: tuple[tuple[Cell, ...], ...] = (
        ("starts at L", start),
        ("rows written w", count),
        ("allocated K", number(reaches.allocated[i])),
        ("told by", f"{'reserve' if reaches.by_reserve[i] else 'lengths'} at event {reaches.told_at[i]}"),
        ("slots granted since", granted),
        ("reaches to L + w", end),
    )
    return Details(
        message=f"the {what} writes {quantity(count, 'row')} from position {start} on, up to {end}, {quantity(room, 'is', 'are')} allocated",
        expected=f"an end of at most {room}",
        actual=f"{end} = {start} + {count}, {end - room} beyond",
        slots=slots[:SHOWN] or None,
        evidence=(
            Evidence(title="reach", columns=("", "position"), rows=rows, marked=(5,)),
            *_entries(reaches, i, room),
        ),
    )


def _entries(reaches: Reaches, i: int, room: int) -> tuple[Evidence, ...]:
    """What the row, or the forward, names from the end of the allocated length on."""
    start, slots = int(reaches.writes.start[i]), reaches.writes.slots[i].tolist()
    rows = tuple((start + k, slot) for k, slot in enumerate(slots) if start + k >= room)
    left_out = f", the first {SHOWN} of {len(rows)}" if len(rows) > SHOWN else ""
    title = f"slots behind the allocated length{left_out}"
    return (Evidence(title=title, columns=("position", "slot written"), rows=rows[:SHOWN]),) if rows else ()
