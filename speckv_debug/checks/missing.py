"""What is missing from a recording, and which instances of a rule can't be judged for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from speckv_debug.checks.rule import Indices, Rule, Scope
from speckv_debug.replay.view import ProcessView

END = int(np.iinfo(np.int64).max)
KIND_COLUMNS = {
    "forward": "mode",
    "cache": "action",
    "compact": "tensor",
    "move": "caller",
    "lengths": "cause",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Events `[first, last]` that are not in the recording; of any table if `table` is None."""

    first: int
    last: int
    why: str
    table: str | None = None


def losses(view: ProcessView) -> tuple[Loss, ...]:
    """Holes between recorded events, rows that the recorder dropped, and an end that was not reached."""
    return (*_holes(view), *_drops(view), *_end(view))


def absent(view: ProcessView, rule: Rule) -> str | None:
    """Why no instance of the rule can be judged in this process, or None if every needed table is there."""
    for need in rule.needs:
        table, _, kind = need.partition(":")
        if not view.info.records(table, kind or None) and not _has_rows(view, table, kind):
            return f"{need} was not recorded"
    return None


def lost(scope: Scope, rule: Rule, found: tuple[Loss, ...]) -> Mapping[str, Indices]:
    """Why → instances whose span holds a loss; an instance is named once, with the first loss that touches it."""
    spans = getattr(scope, "spans", None)
    if spans is None or not found:
        return {}
    first, last = spans
    taken = np.zeros(len(scope), dtype=np.bool_)
    unknown: dict[str, Indices] = {}
    for loss in found:
        if loss.table is not None and loss.table not in _tables(rule):
            continue
        hit = (first <= loss.last) & (last >= loss.first) & ~taken
        if hit.any():
            taken |= hit
            unknown[loss.why] = np.flatnonzero(hit)
    return unknown


def dropped_rows(view: ProcessView, rule: Rule) -> int:
    """Rows of the rule's first needed table that the recorder dropped: instances that can't even be named."""
    if not rule.needs:
        return 0
    drops = view.columns("drop")
    return int(
        drops.ints("rows")[drops.texts("table").equal(rule.needs[0].partition(":")[0])].clip(min=0).sum()
    )


def _tables(rule: Rule) -> set[str]:
    return {need.partition(":")[0] for need in rule.needs}


def _has_rows(view: ProcessView, table: str, kind: str) -> bool:
    columns = view.columns(table)
    if not kind or table not in KIND_COLUMNS:
        return len(columns) > 0
    return bool(columns.texts(KIND_COLUMNS[table]).equal(kind).any())


def _holes(view: ProcessView) -> Iterator[Loss]:
    gaps = view.process.gaps()
    for first, end in gaps:
        many = f"events are missing in {len(gaps)} places, the first is {gaps[0][0]} to {gaps[0][1] - 1}"
        one = f"events {first} to {end - 1} are missing"
        yield Loss(first=first, last=end - 1, why=many if len(gaps) > 3 else one)


def _drops(view: ProcessView) -> Iterator[Loss]:
    drops = view.columns("drop")
    for index, seq in enumerate(drops.ints("seq").tolist()):
        table = drops.texts("table")[index]
        yield Loss(
            first=seq, last=seq, table=table, why=f"the recorder dropped rows of {table or 'some table'}"
        )


def _end(view: ProcessView) -> Iterator[Loss]:
    if any(problem.kind == "missing_end" for problem in view.process.problems):
        yield Loss(first=view.last_seq + 1, last=END, why="the recording was cut off before it could be seen")
