"""Whom an event belongs to, and the room of a tenure, in compiled code over the ledger's arrays: see `ledger_compiled`."""

from __future__ import annotations

from speckv_debug.replay import ledger_tenure as life
from speckv_debug.replay.compiling import Array, compiled, inlined
from speckv_debug.replay.ledger_arrays import ASK, FLAGS, ROW, ROW_EPOCH, WITH_REQUEST
from speckv_debug.replay.ledger_book import NOBODY
from speckv_debug.replay.ledger_facts import FAIL
from speckv_debug.replay.ragged import NULL


@inlined
def page_of(slot: int, size: int, reserved: int, bound: int) -> int:
    """Page of a slot, -1 of a reserved or impossible one."""
    return slot // size if reserved <= slot < bound else -1


@inlined
def mark(codes: Array, index: int, code: int) -> None:
    """As `Facts.mark`."""
    if codes[index] != FAIL:
        codes[index] = code


@inlined
def tenure_of(event: Array, latest: Array, numbers: Array) -> int:
    """Whom the event belongs to; ASK where a life begins, wakes, gets its name, or is told by the name only."""
    row, named = event[ROW], event[FLAGS] & WITH_REQUEST
    if row < 0:
        return ASK if named else NOBODY
    tenure = latest[row] if row < len(latest) else NOBODY
    if tenure < 0 or numbers[tenure, life.SAVED]:
        return ASK
    if event[ROW_EPOCH] != NULL and event[ROW_EPOCH] != numbers[tenure, life.EPOCH]:
        return ASK
    return ASK if named and not numbers[tenure, life.NAMED] else tenure


@inlined
def give(number: int, tenure: int, numbers: Array, before: Array) -> None:
    """As `Tenure.was_given`."""
    before[number] = numbers[tenure, life.LAST]
    numbers[tenure, life.LAST] = number


@compiled
def give_back(base: int, room: int, slots_of: Array, pages_of: Array, spare: Array) -> None:
    """As `TenureStore.give`."""
    if room:
        number = life.SMALLEST
        while (1 << number) < room:
            number += 1
        slots_of[base : base + room] = -1
        pages_of[base : base + room] = -1
        slots_of[base] = spare[number]
        spare[number] = base


@compiled
def make_room(end: int, tenure: int, numbers: Array, slots_of: Array, pages_of: Array, spare: Array) -> bool:
    """As `Tenure.make_room`; False where the arrays have to grow."""
    number = life.SMALLEST
    while (1 << number) < end:
        number += 1
    base, wanted = spare[number], 1 << number
    if base >= 0:
        spare[number] = slots_of[base]
        slots_of[base] = -1
    else:
        base = spare[life.USED]
        if base + wanted > len(slots_of):
            return False
        spare[life.USED] += wanted
    old, room = numbers[tenure, life.BASE], numbers[tenure, life.ROOM]
    slots_of[base : base + room] = slots_of[old : old + room]
    pages_of[base : base + room] = pages_of[old : old + room]
    give_back(old, room, slots_of, pages_of, spare)
    numbers[tenure, life.BASE], numbers[tenure, life.ROOM] = base, wanted
    return True


@inlined
def rest(tenure: int, numbers: Array, pages_of: Array, refs_of: Array) -> None:
    """As `Tenure.rest`, of one without stale pages."""
    if numbers[tenure, life.ALIVE]:
        base = numbers[tenure, life.BASE]
        for at in range(base, base + numbers[tenure, life.EXTENT]):
            if pages_of[at] >= 0:
                refs_of[pages_of[at]] -= 1
    numbers[tenure, life.ALIVE] = 0
