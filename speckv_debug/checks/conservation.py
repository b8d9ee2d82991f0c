"""OWN-CONSERVE: no page of a pool is lost, none counted twice, and none kept from eviction by nobody."""

from __future__ import annotations

from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.tree_locks import explain_lock
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import plural, quantity
from speckv_debug.replay.page_history import page_history, ranges
from speckv_debug.replay.pool_totals import PoolBeside, PoolTotal, PoolTotals

HISTORIES = 2
"""Pages whose history a finding shows; the others are named only."""


@rule(
    "OWN-CONSERVE",
    severity=ERROR,
    needs=("pool_stat", "alloc", "free"),
    scope="pool_totals",
    look_at="SchedulerInvariantChecker._check_full_pool",
    follows=(
        *("OWN-DFREE", "OWN-PAGESAFE", "OWN-UAF", "OWN-ALIAS", "OWN-ORPHAN", "OWN-LEAK", "OWN-PUBLISH"),
        *("LOC-WIDTH", "LEN-ORDER", "LEN-ALLOC", "LEN-COMMIT"),
    ),
)
def every_page_counted_once(totals: PoolTotals) -> Judgement:
    """What is available, evictable, protected, held by sessions and by running requests adds up to the pool.

    Judged at settled points, outside free groups: what the engine counts, beside whom the ledger knows to hold the rest.
    What is free and what is the tree's are those that the events leave, slot for slot. A difference is shown as the pages
    that nobody holds, or that were freed twice. The size of the pool never changes, and no free group is open: one whose
    frees the engine has back has no end. Protected is what requests lock in the
    prefix tree: a request locks what it was served, gives up the locks that it took, and holds none when it has ended.
    Of a pool beside the main one it is what is free that is compared: what was not granted, or came back.

    Exceptions: pages of requests that run or wait with pages, of transfers and of sessions; while a session's turn runs that
    went on, and while requests run on SGLang 0.5.22 and later, which count turns that run as the session's, the engine's
    figure of sessions lies between what is saved and that with all that runs; it may count slots where pages are saved. The
    pools of hybrid models, whose cap moves unless the process says `unified_memory: false`, and decode context parallelism,
    whose counters have other units, are unknown; so are locks of sessions, and those of a recording in which a lock names no
    request.
    """
    return Judgement(failed=totals.failed, unknown=totals.unknown, explain=lambda i: _explain(totals, i))


def _explain(totals: PoolTotals, i: int) -> Details:
    if totals.event(i)[0] == "cache":
        return explain_lock(totals, i)
    if (other := totals.beside(i)) is not None:
        return _explain_beside(other)
    total, place, ledger = totals.total(i), totals.place(i), totals.ledger
    if total.size is not None:
        return _resized(total, place.pool)
    if total.waiting is not None:
        return _unended(total, place.pool)
    if total.missing > 0 and total.lost:
        pages, why = total.lost, "which nobody holds"
    else:
        pages, why = total.suspects, "of which the events before are at odds"
    missing = abs(total.missing)
    are = plural(missing, "is", "are")
    if missing < totals.size:
        return _figure_apart(total, place.pool)
    verb = f"{are} missing from" if total.missing > 0 else f"too many {are} in"
    what = f"{'page' if len(pages) == 1 else 'pages'} {ranges(pages, 12)}, {why}"
    return Details(
        message=f"{quantity(missing, 'slot')} {verb} the sum of pool {place.pool}{f': {what}' if pages else ''}",
        expected=f"{quantity(total.told['total'], 'slot')} in all",
        actual=f"{_sum(total)} = {(total.told['total'] or 0) - total.missing}",
        pages=pages or None,
        evidence=(
            _figures(total),
            *(page_history(ledger, place.pool, p, place.seq) for p in pages[:HISTORIES]),
        ),
    )


def _explain_beside(point: PoolBeside) -> Details:
    """A pool beside the main one of which more, or less, is free than was not granted or came back."""
    told = point.told["available"]
    rows: tuple[tuple[Cell, ...], ...] = (
        ("free", told, point.free),
        ("held", None, (point.told["total"] or 0) - point.free),
        ("all", point.told["total"], point.told["total"]),
    )
    columns = ("", "slots by the engine", "slots by the events")
    return Details(
        message=f"the engine counts {quantity(told or 0, 'slot')} available in pool {point.pool}, the events leave {point.free}",
        expected=f"{quantity(point.free, 'slot')} available",
        actual=f"{quantity(told or 0, 'slot')} available",
        evidence=(Evidence(title="the pool at this point", columns=columns, rows=rows, marked=(0,)),),
    )


def _resized(total: PoolTotal, pool: str | None) -> Details:
    """The pool has another size than before: what the engine adds up to is no measure any more."""
    return Details(
        message=f"the engine counts {quantity(total.told['total'] or 0, 'slot')} in all in pool {pool}, "
        f"the process declares {total.size}",
        expected=f"a total of {total.size}, as at other settled points",
        actual=f"a total of {total.told['total']}",
        evidence=(_figures(total),),
    )


def _unended(total: PoolTotal, pool: str | None) -> Details:
    """The engine has back what the events leave waiting for the end of a free group."""
    pages = quantity(total.waiting or 0, "page")
    return Details(
        message=f"the engine counts {quantity(total.told['available'] or 0, 'slot')} available in pool {pool}: {pages} of "
        "frees of a group that does not end are among them",
        expected="the end of the free group before the pool is counted",
        actual="a settled point while the group is open",
        evidence=(_figures(total),),
    )


def _figure_apart(total: PoolTotal, pool: str | None) -> Details:
    """A sum that fits, of figures that don't: what one has too much the other lacks, or less than a page."""
    tree = (total.told["evictable"] or 0) + (total.told["protected"] or 0)
    free = total.told["available"] or 0
    session = total.told["session"]
    told, known, name = (free, total.free, "available")
    if told == known:
        told, known, name = (tree, total.tree, "held by the tree")
    if told == known and session is not None:
        told, known, name = (session, total.session, "of sessions")
    return Details(
        message=f"the engine counts {quantity(told, 'slot')} {name} in pool {pool}, the events leave {known}",
        expected=f"{quantity(known, 'slot')} {name}",
        actual=f"{quantity(told, 'slot')} {name}",
        evidence=(_figures(total),),
    )


def _sum(total: PoolTotal) -> str:
    session = total.told["session"]
    parts = {
        "available": total.told["available"],
        "evictable": total.told["evictable"],
        "protected": total.told["protected"],
        "of sessions": total.session if session is None else session,
        "of running requests": total.running,
    }
    return " + ".join(f"{number} {name}" for name, number in parts.items())


def _figures(total: PoolTotal) -> Evidence:
    tree = (total.told["evictable"] or 0) + (total.told["protected"] or 0)
    lost = ranges(total.lost) if total.lost else None
    rows: tuple[tuple[Cell, ...], ...] = (
        ("free", total.told["available"], total.free, None),
        ("tree", tree, total.tree, None),
        ("sessions", total.told["session"], total.session, None),
        ("running requests", None, total.running, None),
        ("nobody", None, total.told["total"] and _of_nobody(total), lost),
        ("all", total.told["total"], total.told["total"], None),
    )
    differing = tuple(at for at, row in enumerate(rows) if row[1] is not None and row[1] != row[2])
    columns = ("held by", "slots by the engine", "slots by the events", "pages")
    return Evidence(title="the pool at this point", columns=columns, rows=rows, marked=differing or (4,))


def _of_nobody(total: PoolTotal) -> int:
    return (total.told["total"] or 0) - total.free - total.tree - total.session - total.running
