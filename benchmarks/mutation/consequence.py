"""Whether a change in one event matters: two dictionary states side by side, one with the change, one without."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from benchmarks.mutation.state import Life, Line, State, life

READERS = frozenset({"forward", "accept", "compact", "pool_stat", "release", "row_free"})
"""Events that look at what was done before them: launches, accounts and ends."""
COMPUTING = frozenset({"forward", "accept", "compact"})
"""Of these, those that read what lies in memory: KV, and predictions that are handed on. Nothing else tells what is there,
and what nobody reads before it is overwritten, or the recording ends, changes nothing."""
PARTS = (
    "rows",
    "lengths",
    "outputs",
    "tokens",
    "placed",
    "free",
    "granted",
    "tree",
    "locks",
    "beside",
)


def consequence(
    head: Line, before: Sequence[Line], was: Sequence[Line], now: Sequence[Line], behind: Sequence[Line]
) -> str:
    """What differs first in what a later reader sees, empty if nothing does.

    Args:
        head: The process line.
        before: Events before the change.
        was: The events concerned as they were.
        now: As they are with the change.
        behind: Events behind it.
    """
    base = State(head)
    for line in before:
        base.take(line)
    mutant = copy.deepcopy(base)
    if (why := _taken(base, mutant, was, now)) or base == mutant:
        return why
    for line in behind:
        if why := _read(base, mutant, line):
            return why
        base.take(line)
        mutant.take(line)
        if why := _fit(base, mutant, line, line):
            return why
    return difference(base, mutant)


def _taken(base: State, mutant: State, was: Sequence[Line], now: Sequence[Line]) -> str:
    """Take the events concerned, each state its own: what is wrong with an account of a pool that both have."""
    pairs = {line["seq"]: line for line in was}
    for line in was:
        base.take(line)
    for line in now:
        mutant.take(line)
        first = pairs.get(line["seq"])
        if (
            first
            and first["event"] == line["event"] == "pool_stat"
            and (why := _fit(base, mutant, first, line))
        ):
            return why
    return ""


def _read(base: State, mutant: State, line: Line) -> str:
    """What differs for the event as it comes; a decode preparation looks at its own request's lengths only."""
    if line["event"] == "reserve":
        row, epoch = life(line)
        return "" if _host(base, row, epoch) == _host(mutant, row, epoch) else "lengths"
    if line["event"] not in READERS:
        return ""
    return difference(base, mutant) or (in_memory(base, mutant) if line["event"] in COMPUTING else "")


def difference(base: State, mutant: State) -> str:
    """The first part of two states that differs for a reader of rows that are held and positions that have a slot."""
    for part in PARTS:
        if getattr(base, part) != getattr(mutant, part):
            return part
    if base.table != mutant.table and _slots(base) != _slots(mutant):
        return "table"
    return ""


def in_memory(base: State, mutant: State) -> str:
    """What differs of what lies in memory for lives that hold their row."""
    if _fronts(base) != _fronts(mutant):
        return "fronts"
    if base.kv != mutant.kv and _content(base) != _content(mutant):
        return "kv"
    return ""


def _slots(state: State) -> dict[Life, dict[int, int]]:
    """Position → slot below the allocated length, of lives that hold their row; a sidecar's whole."""
    seen: dict[Life, dict[int, int]] = {}
    for (pool, row, epoch), entries in state.table.items():
        if state.rows.get(row, (None,))[0] == epoch:
            end = _host(state, row, epoch)[1] if pool == state.main else None
            seen[pool, row, epoch] = entries if end is None else {p: s for p, s in entries.items() if p < end}
    return seen


def _fronts(state: State) -> dict[Life, list[int]]:
    """The predictions handed on, of lives that hold their row: those of others nobody reads."""
    held = {(row, epoch) for row, (epoch, _) in state.rows.items()}
    return {mine: tokens for mine, tokens in state.fronts.items() if mine in held}


def _content(state: State) -> dict[Life, list[tuple[int, int] | None]]:
    """Token and position that lie in the slots of each life's committed positions."""
    seen = {}
    for row, (epoch, _) in state.rows.items():
        entries = state.table[state.main, row, epoch]
        committed = _host(state, row, epoch)[0] or 0
        seen[row, epoch] = [state.kv.get(entries.get(p, -1)) for p in range(committed)]
    return seen


def _host(state: State, row: Any, epoch: Any) -> tuple[Any, ...]:
    return state.lengths.get(("host", state.main, row, epoch), (None, None, None))


def _fit(base: State, mutant: State, was: Line, now: Line) -> str:
    """A recorded account that fitted the pool and fits it no longer."""
    if was["event"] != "pool_stat":
        return ""
    due, found = account(base, was), account(mutant, now)
    wrong = [n for n in due if was.get(n) == due[n] is not None and now.get(n) != found[n]]
    return f"account of {wrong[0]}" if wrong else ""


def account(state: State, line: Line) -> dict[str, int]:
    """What a pool_stat of this pool should say."""
    pool = state.allocator(line)
    size, held = state.page_size(pool), {slot for slot in state.tree if slot[0] == pool}
    locked = sum(state.locks.get(slot, 0) > 0 for slot in held)
    kept = {slot for key, slots in state.beside.items() if key[0] == "session" for slot in slots} - held
    return {
        "available": sum(state.free_of(pool).values()) * size,
        "evictable": len(held) - locked,
        "protected": locked,
        "session": len({slot // size for name, slot in kept if name == pool}) * size,
        "total": (state.pools.get(pool) or {}).get("slots") or 0,
    }
