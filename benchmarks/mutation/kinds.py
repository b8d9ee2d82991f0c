"""One change in one event: what can be changed, and the events concerned before and after it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from benchmarks.mutation.bases import OF_NO_LAW, Base
from benchmarks.mutation.state import Line

UNCHANGED = frozenset(
    {"event", "seq", "t_ns", "lane", "begin_ns", "end_ns", "site", "form", "why", "level", "text"}
)
"""Columns on which no law rests."""
SLOTS = frozenset({"slots", "src", "tgt", "out_cache_loc", "table_slots", "full_slots", "swa_slots"})
PARALLEL = frozenset(
    {"src", "tgt", "src_before", "tgt_after", "full_slots", "swa_slots", "pages", "count_after", "ring_rows"}
)
CUT = frozenset({"slots", "accept_index", "before", "after", "tokens", "components"})
"""Lists that can end one item early and still be what the contract takes."""
NEAR = 8
"""How far apart two events may lie that change places."""
LOSSES = ("lost", "dropped", "absent")
"""What the recorder may miss: no finding may come of it but TRC-GAP."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A change.

    Attributes:
        kind: Which.
        table, column: Where; no column where whole events change.
        first, end: The events concerned, `[first, end)` of the base.
        now: What is there instead, with their `seq`.
        touched: Of the events concerned, those that changed, as they were and as they are.
    """

    kind: str
    table: str
    column: str
    first: int
    end: int
    now: tuple[Line, ...]
    touched: tuple[Line, ...]

    def lines(self, base: Base) -> list[Line]:
        """All events; behind a change of their number they are counted anew, but for a loss."""
        behind, shift = base.lines[self.end :], len(self.now) - (self.end - self.first)
        if shift and self.kind not in LOSSES:
            behind = tuple(line | {"seq": line["seq"] + shift} for line in behind)
        return [*base.lines[: self.first], *self.now, *behind]


Pick = Callable[[random.Random, Base, Line, str], Any]
"""Another value for a column of an event, None if there is none."""


@lru_cache(maxsize=4)
def targets(base: Base) -> dict[str, dict[str, list[str]]]:
    """Kind → table → columns of which the recording has an event; the column is empty for whole events."""
    found: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for line in base.lines:
        if (table := line["event"]) in OF_NO_LAW:
            continue
        for kind in EVENT_KINDS:
            found[kind][table].add("")
        for column, value in line.items():
            for kind in _kinds_of(column, value) if _is_told(column, value) else ():
                found[kind][table].add(column)
    return {k: {t: sorted(columns) for t, columns in sorted(found[k].items())} for k in sorted(found)}


def _is_told(column: str, value: Any) -> bool:
    return column not in UNCHANGED and value not in (None, [])


def _kinds_of(column: str, value: Any) -> Iterator[str]:
    yield "absent"
    yield "value"
    items = isinstance(value, list)
    if type(value[0] if items else value) is int:
        yield "off_by_one"
    if items:
        yield "items_swapped"
    if column in SLOTS:
        yield "neighbour"
    if column in CUT:
        yield "cut"


def drawn(base: Base, seed: int, number: int, tables: Collection[str] = ()) -> Mutant | None:
    """The change of that number: a kind, a table and a column drawn from all that there are; the same each time.

    With `tables` the table is one of these.
    """
    rng, found = random.Random(f"{seed} {number}"), targets(base)
    if tables:
        some = {kind: {t: of[t] for t in of if t in tables} for kind, of in found.items()}
        found = {kind: of for kind, of in some.items() if of}
    if not found:
        return None
    kind = rng.choice(list(found))
    table = rng.choice(list(found[kind]))
    return mutant(rng, base, kind, table, rng.choice(found[kind][table]))


def mutant(rng: random.Random, base: Base, kind: str, table: str, column: str) -> Mutant | None:
    """A change of that kind in a random event; None where the recording has no other value to offer."""
    events = [i for i, line in enumerate(base.lines) if line["event"] == table and _has(line, column)]
    at = rng.choice(events)
    if not column:
        return EVENT_KINDS[kind](rng, base, at)
    line = base.lines[at]
    value = VALUE_KINDS[kind](rng, base, line, column)
    if kind != "absent" and value in (None, line[column]):
        return None
    changed = line | {column: value}
    return Mutant(
        kind=kind, table=table, column=column, first=at, end=at + 1, now=(changed,), touched=(line, changed)
    )


def _has(line: Line, column: str) -> bool:
    return not column or _is_told(column, line.get(column))


# ---- values ----------------------------------------------------------------------------------------


def _absent(rng: random.Random, base: Base, line: Line, column: str) -> None:
    return None


def _value(rng: random.Random, base: Base, line: Line, column: str) -> Any:
    """What another event of the table has there; of a list, one item."""
    value = line[column]
    if isinstance(value, bool):
        return not value
    if column == "pool":
        return _other(rng, [pool["name"] for pool in base.head.get("pools") or ()], value)
    others = [each[column] for each in base.lines if each["event"] == line["event"] and _has(each, column)]
    if not isinstance(value, list):
        return _other(rng, others, value)
    at = rng.randrange(len(value))
    item = _other(rng, [item for each in others for item in each], value[at])
    return None if item is None else _with(value, at, item)


def _other(rng: random.Random, values: Sequence[Any], value: Any) -> Any:
    different = [each for each in values if each != value]
    return rng.choice(different) if different else None


def _off_by_one(rng: random.Random, base: Base, line: Line, column: str) -> Any:
    value, by = line[column], rng.choice((-1, 1))
    if not isinstance(value, list):
        return value + by
    at = rng.randrange(len(value))
    return _with(value, at, value[at] + by)


def _neighbour(rng: random.Random, base: Base, line: Line, column: str) -> Any:
    """One slot is another's: of an event near by that is about another request."""
    at = line["seq"]
    near = base.lines[max(0, at - 40) : at + 40]
    others = [
        slot
        for each in near
        if each is not line
        and (each.get("row"), each.get("request")) != (line.get("row"), line.get("request"))
        for name in SLOTS & each.keys()
        for slot in each[name] or ()
    ]
    value = line[column]
    slot = _other(rng, sorted(set(others) - set(value)), None)
    return None if slot is None else _with(value, rng.randrange(len(value)), slot)


def _items_swapped(rng: random.Random, base: Base, line: Line, column: str) -> Any:
    value = list(line[column])
    if len(value) < 2:
        return None
    one, other = rng.sample(range(len(value)), 2)
    value[one], value[other] = value[other], value[one]
    return value


def _cut(rng: random.Random, base: Base, line: Line, column: str) -> Any:
    return line[column][:-1]


def _with(values: Sequence[Any], at: int, item: Any) -> list[Any]:
    return [*values[:at], item, *values[at + 1 :]]


VALUE_KINDS: dict[str, Pick] = {
    "absent": _absent,
    "value": _value,
    "off_by_one": _off_by_one,
    "items_swapped": _items_swapped,
    "neighbour": _neighbour,
    "cut": _cut,
}


# ---- events ----------------------------------------------------------------------------------------


def _of_event(
    kind: str, base: Base, at: int, now: Sequence[Line], end: int | None = None, others: Sequence[Line] = ()
) -> Mutant:
    line = base.lines[at]
    return Mutant(
        kind=kind,
        table=line["event"],
        column="",
        first=at,
        end=end or at + 1,
        now=tuple(now),
        touched=(line, *others),
    )


def _lost(rng: random.Random, base: Base, at: int) -> Mutant | None:
    """The recorder lost it: a hole shows."""
    inside = 0 < at < len(base.lines) - 1
    return _of_event("lost", base, at, ()) if inside else None


def _dropped(rng: random.Random, base: Base, at: int) -> Mutant:
    """The recorder had to leave it out, and says so."""
    line = base.lines[at]
    drop = {"event": "drop", "seq": line["seq"], "table": line["event"], "rows": 1, "why": "queue full"}
    return _of_event("dropped", base, at, (drop,))


def _skipped(rng: random.Random, base: Base, at: int) -> Mutant:
    """The engine never did it: the events are dense."""
    return _of_event("skipped", base, at, ())


def _duplicated(rng: random.Random, base: Base, at: int) -> Mutant:
    """The engine did it twice."""
    line = base.lines[at]
    return _of_event("duplicated", base, at, (line, line | {"seq": line["seq"] + 1}))


def _swapped(rng: random.Random, base: Base, at: int) -> Mutant | None:
    """It changes places with an event close behind."""
    behind = base.lines[at + 1 : at + 1 + NEAR]
    if not behind:
        return None
    first, second = base.lines[at], rng.choice(behind)
    end, seq = second["seq"] + 1, first["seq"]
    now = [second | {"seq": seq}, *base.lines[at + 1 : end - 1], first | {"seq": end - 1}]
    return _of_event("swapped", base, at, now, end, (second,))


EVENT_KINDS: dict[str, Callable[[random.Random, Base, int], Mutant | None]] = {
    "lost": _lost,
    "dropped": _dropped,
    "skipped": _skipped,
    "duplicated": _duplicated,
    "swapped": _swapped,
}
