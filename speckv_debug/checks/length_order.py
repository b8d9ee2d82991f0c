"""LEN-ORDER: reports of lengths by themselves, and beside the report before them."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.length_commits import place_of_missing
from speckv_debug.checks.length_evidence import lengths_of
from speckv_debug.checks.rule import Details, Judgement
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.text import quantity
from speckv_debug.replay.bounds import Bounds
from speckv_debug.replay.engine_version import may_preclaim
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.repeats import TABLES, Repeats


def judge_order(bounds: Bounds) -> Judgement:
    """0 <= committed <= allocated <= width."""
    c, k, width = bounds.committed, bounds.allocated, bounds.info.settings.get("row_width")
    settled = ~bounds.ending & ~bounds.causeless
    both = (c != NULL) & (k != NULL) & settled
    slack = np.where(bounds.preparing & may_preclaim(bounds.info), 1, 0)
    failed = both & (c > k + slack)
    failed |= ((c != NULL) & (c < 0)) | ((k != NULL) & (k < 0))
    if isinstance(width, int):
        failed |= (bounds.highest != NULL) & (bounds.highest > width)
    reasons = {
        "no lengths": (c == NULL) & (k == NULL),
        "events of lengths have no cause": bounds.causeless,
        "only one of the two lengths is told": settled & ((c == NULL) != (k == NULL)),
    }
    return verdict(failed, lambda i: _explain_order(bounds, i), reasons)


def _explain_order(bounds: Bounds, i: int) -> Details:
    c, k, highest = number(bounds.committed[i]), number(bounds.allocated[i]), number(bounds.highest[i])
    width = bounds.info.settings.get("row_width")
    if c is not None and k is not None and c > k:
        message = f"{quantity(c, 'position is', 'positions are')} committed, only {quantity(k, 'is', 'are')} allocated"
    elif highest is not None and isinstance(width, int) and highest > width:
        message = f"{quantity(highest, 'position is', 'positions are')} allocated in a row of {quantity(width, 'column')}"
    else:
        message = f"a length is negative: committed {c}, allocated {k}"
    return Details(
        message=message,
        expected="0 <= committed <= allocated <= row width",
        actual=f"committed {c}, allocated {highest}, row width {'unknown' if width is None else width}",
    )


def judge_repeats(repeats: Repeats) -> Judgement:
    """What nothing changed is reported as before."""
    failed = np.logical_or(*repeats.differs.values())
    reasons = {
        "a report between the two does not say whose it is, or what": failed & repeats.hidden,
        "the report does not tell a length that was reported before": repeats.silent,
    }
    return verdict(failed & ~repeats.hidden, lambda i: _explain_repeat(repeats, i), reasons)


def _explain_repeat(repeats: Repeats, i: int) -> Details:
    name = next(name for name, differs in repeats.differs.items() if differs[i])
    now, due = int(repeats.now(name)[i]), int(repeats.due(name)[i])
    report = {"lengths": "commit", "reserve": "preparation", "release": "release"}[
        TABLES[int(repeats.table[i])]
    ]
    return Details(
        message=f"the {report} finds {quantity(now, 'position')} {name}, the report before it said {due}",
        expected=f"{name} {due}, as at event {repeats.spans[0][i]}",
        actual=f"{name} {now}",
        evidence=(lengths_of(repeats.lengths, int(repeats.life[i]), int(repeats.seq[i])),),
        place=place_of_missing(repeats, i) if name == "committed" else None,
    )
