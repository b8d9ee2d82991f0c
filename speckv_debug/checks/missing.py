"""What is missing from a recording, and which instances of a rule can't be judged for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from speckv_debug.checks.rule import Indices, Rule, Scope
from speckv_debug.model.text import events_missing, printable
from speckv_debug.replay.drop_spans import first_lost
from speckv_debug.replay.left_out import why_dropped
from speckv_debug.replay.ragged import Mask
from speckv_debug.replay.view import ProcessView

NOT_PERFORMED = "not performed"
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
    """Events `[first, last]` that are not in the recording; of any table if `table` is None.

    `column` is set if the events are there and the values of one of their columns are not, or mean nothing: absence,
    which means something in many columns, can't be told from the damage.
    """

    first: int
    last: int
    why: str
    table: str | None = None
    column: bool = False


def losses(view: ProcessView) -> tuple[Loss, ...]:
    """Damaged files, holes between recorded events, rows that the recorder dropped, an end that was not reached, and
    slots of pools of which the process does not say what they are, values without a meaning.

    All tables are read first: damage inside a file shows only then.
    """
    for table in view.process.present:
        view.columns(table)
    view.leave_out()
    damaged = tuple(_damaged(view))
    return (*damaged, *_holes(view, damaged), *_drops(view), *_undeclared(view), *_senseless(view))


def absent(view: ProcessView, rule: Rule) -> str | None:
    """Why no instance of the rule can be judged in this process, or None if every needed table is there."""
    for need in rule.needs:
        table, _, kind = need.partition(":")
        if not view.info.records(table, kind or None) and not _has_rows(view, table, kind):
            return f"{need} was not recorded"
    return None


def lost(scope: Scope, rule: Rule, found: tuple[Loss, ...]) -> Mapping[str, Indices]:
    """Why → instances whose span holds a loss; an instance is named once, with the first loss that touches it."""
    taken = np.zeros(len(scope), dtype=np.bool_)
    unknown: dict[str, Indices] = {}
    for loss in found:
        hit = (_illegible(scope, rule, loss) if loss.column else _within(scope, rule, loss)) & ~taken
        if hit.any():
            taken |= hit
            before = unknown.get(loss.why, np.empty(0, dtype=np.int64))
            unknown[loss.why] = np.concatenate((before, np.flatnonzero(hit)))
    return unknown


def not_performed(view: ProcessView, rule: Rule) -> int:
    """Verifies behind which this release leaves out what the law is about, as the process says."""
    told = rule.performed is not None and view.info.settings.get(rule.performed) == NOT_PERFORMED
    return len(view.columns("accept")) if told else 0


def dropped_rows(view: ProcessView, rule: Rule) -> int:
    """Rows of the rule's first needed table that the recorder dropped: instances that can't even be named."""
    if not rule.needs:
        return 0
    drops = view.columns("drop")
    return int(
        drops.ints("rows")[drops.texts("table").equal(rule.needs[0].partition(":")[0])].clip(min=0).sum()
    )


def left_out(view: ProcessView, rule: Rule, scope: Scope) -> Mapping[str, int]:
    """Why → how many events that a rule looks at are left out, since something in them means nothing."""
    found: dict[str, int] = {}
    if not view.left_out:  # what scopes look at is not asked for to say nothing
        return found
    read = (
        _tables(rule, scope) | set(getattr(scope, "columns_from", ())) | set(getattr(scope, "at", None) or ())
    )
    for table, (_, reasons) in view.left_out.items():
        if table in read:
            found |= {why: len(rows) for why, rows in reasons.items()}
    return found


def _within(scope: Scope, rule: Rule, loss: Loss) -> Mask:
    """Instances whose span holds the loss."""
    spans = getattr(scope, "spans", None)
    if spans is None or not (loss.table is None or loss.table in _tables(rule, scope)):
        return np.zeros(len(scope), dtype=np.bool_)
    first, last = spans
    return np.asarray((first <= loss.last) & (last >= loss.first), dtype=np.bool_)


def _illegible(scope: Scope, rule: Rule, loss: Loss) -> Mask:
    """Instances whose verdict rests on the table of a damaged column."""
    own = getattr(scope, "at", None)
    hit = np.zeros(len(scope), dtype=np.bool_)
    if loss.table in _tables(rule, scope) | set(getattr(scope, "columns_from", ())):
        hit[:] = True
    elif own is not None and loss.table in own:
        hit[own[loss.table]] = True
    return hit


def _tables(rule: Rule, scope: Scope) -> set[str]:
    return {need.partition(":")[0] for need in rule.needs} | set(getattr(scope, "reads", ()))


def _has_rows(view: ProcessView, table: str, kind: str) -> bool:
    columns = view.columns(table)
    if not kind or table not in KIND_COLUMNS:
        return len(columns) > 0
    return bool(columns.texts(KIND_COLUMNS[table]).equal(kind).any())


def _damaged(view: ProcessView) -> Iterator[Loss]:
    """Spans of which a table's rows, or those of all tables, are known to be unreadable."""
    for problem in view.process.problems:
        first = 0 if problem.after_seq is None else problem.after_seq + 1
        last = END if problem.before_seq is None else problem.before_seq - 1
        if problem.kind == "missing_end":
            yield Loss(first=first, last=END, why="the recording was cut off before it could be seen")
        elif problem.kind in ("damaged_part", "torn_spool"):
            for table in problem.tables:
                why = f"{problem.file} of {table}: {problem.where}"
                yield Loss(first=first, last=last, table=table, why=why)
        elif problem.kind == "damaged_column":
            for table in problem.tables:
                why = f"a damaged column of {table}: {problem.what}"
                yield Loss(first=first, last=last, table=table, why=why, column=True)


def _undeclared(view: ProcessView) -> Iterator[Loss]:
    """Tables that name a pool which the process, though it declares pools, does not, or of which no kind is known.

    Whose ids such slots are can't be told, and with them neither can be what the table's other slots mean. A draft pool
    is known by its name: it has no ids of its own.
    """
    declared = view.info.declared_pools
    if not view.info.pools:
        return
    for table in _told_of(view):
        for name in sorted(view.pools_of(table) - declared):
            why = f"events of {table} name pool {printable(name)}, which the process line does not declare"
            yield Loss(first=0, last=END, table=table, why=why, column=True)


def _senseless(view: ProcessView) -> Iterator[Loss]:
    """Tables with a word that decides what an event is and that nobody knows, or with a negative number of what is counted."""
    for table in _told_of(view):
        for _, what in sorted(view.senseless_in(table)):
            yield Loss(first=0, last=END, table=table, why=f"events of {table} have {what}", column=True)


def _told_of(view: ProcessView) -> Iterator[str]:
    """Tables of which no event is left out by itself."""
    return (table for table in view.process.present if table not in (view.left_out or {}))


def _holes(view: ProcessView, damaged: tuple[Loss, ...]) -> Iterator[Loss]:
    """Holes that no damaged file explains, and a beginning that was not kept."""
    gaps = view.process.gaps()
    if head := view.process.missing_head:
        yield Loss(first=0, last=head - 1, why=events_missing([(0, head)]))
    for first, end in gaps:
        if any(
            loss.table is not None and not loss.column and loss.first <= first and end - 1 <= loss.last
            for loss in damaged
        ):
            continue
        why = events_missing(gaps) if len(gaps) > 3 else events_missing([(first, end)])
        yield Loss(first=first, last=end - 1, why=why)


def _drops(view: ProcessView) -> Iterator[Loss]:
    """What each drop may be about, up to where it stands."""
    drops = view.columns("drop")
    spans = zip(
        first_lost(drops, map(view.columns, view.process.present)).tolist(),
        drops.ints("seq").tolist(),
        strict=True,
    )
    for index, (first, last) in enumerate(spans):
        yield Loss(first=first, last=last, table=drops.texts("table")[index], why=why_dropped(drops, index))
