"""What a finding of OWN-CONSERVE says about a lock of the prefix tree."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import named
from speckv_debug.checks.rule import Details
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.page_history import ranges
from speckv_debug.replay.pool_totals import PoolTotals

SHOWN = 12
"""Events of the request that a finding lists."""


def explain_lock(totals: PoolTotals, i: int) -> Details:
    """A lock that was not given up, or given up without having been taken, or of what the tree did not serve."""
    broken, place, (_, row) = totals.broken(i), totals.place(i), totals.event(i)
    slots, who = tuple(totals.ledger.events.slots["cache"].slots(row).tolist()), named(place.request)
    message, expected = {
        "beside": (
            f"{who} locks {len(slots)} slots of the prefix tree, which does not hold {_pages(broken.pages)} there",
            "a lock names the slots of the tree's nodes, at their positions",
        ),
        "row": (
            f"{who} locks {len(slots)} slots of the prefix tree, but its row names {ranges(broken.slots)} among them",
            "the row names the slots that the request locks, position by position",
        ),
        "short": (
            f"{who} locks {len(slots)} of the {len(broken.slots)} slots that the prefix tree has just served it",
            f"a lock of {ranges(broken.slots)}",
        ),
        "unlike": (
            f"{who} gives up a lock of {len(slots)} slots of the prefix tree, but it holds one of {len(broken.slots)}",
            f"what it locked: {ranges(broken.slots)}",
        ),
        "unheld": (
            f"{who} gives up a lock of the prefix tree that it has not taken since",
            "a lock before it is given up",
        ),
        "kept": (
            f"{who} has ended and did not give up a lock of {len(slots)} slots of the prefix tree",
            "as many locks given up as taken",
        ),
    }[broken.way]
    return Details(
        message=message,
        expected=expected,
        actual=f"slots {ranges(slots)}",
        slots=slots,
        pages=broken.pages,
        evidence=(_events(totals, row),),
    )


def _pages(pages: tuple[int, ...]) -> str:
    return f"{'page' if len(pages) == 1 else 'pages'} {ranges(pages)}"


def _events(totals: PoolTotals, row: int) -> Evidence:
    """The locks of the request around the event, which is marked."""
    rows = totals.ledger.events.slots["cache"]
    columns, actions = rows.columns, rows.columns.texts("action")
    request = columns.text_at("request", row)
    found = np.flatnonzero(
        actions.equal("match", "lock", "unlock") & columns.texts("request").equal(request or "")
    )
    first = max(0, int(np.searchsorted(found, row)) - SHOWN // 2)
    shown = found[first : first + SHOWN].tolist()
    cells: list[tuple[Cell, ...]] = [
        (
            columns.int_at("seq", at),
            columns.int_at("step", at),
            columns.text_at("action", at),
            rows.count(at),
            ranges(tuple(rows.slots(at).tolist())),
        )
        for at in shown
    ]
    marked = (shown.index(row),) if row in shown else ()
    title = f"what {named(request)} locks"
    return Evidence(
        title=title, columns=("seq", "step", "action", "slots", "which"), rows=tuple(cells), marked=marked
    )
