"""ST-SWA: how far a request gives up its slots behind the sliding window."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.length_commits import NO_LIFE
from speckv_debug.checks.rule import ERROR, WARNING, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Evidence
from speckv_debug.model.text import quantity
from speckv_debug.replay.evictions import WindowEvictions
from speckv_debug.replay.ragged import NULL, Mask


@rule(
    "ST-SWA",
    severity=ERROR,
    needs=("lengths",),
    scope="evictions",
    look_at="ScheduleBatch.maybe_evict_swa, free_swa_out_of_window_slots",
    follows=("LEN-COMMIT", "ST-SWA"),
)
def window_is_kept(evictions: WindowEvictions) -> Judgement:
    """The window's cursor stays within page_floor(committed - window), never goes back, and follows within an interval.

    The cursor is `swa_evicted`: positions before it have no slot in the window's pool. Behind the bound it is an error,
    as is one that goes back (its slots would be freed twice); one that does not follow holds slots for nothing, a warning.

    Exceptions: a trim, a restored session and an end set it back; up to an interval more than the window stays held, and
    what two verifies commit; a prompt is evicted by the steps that follow it, not by the first of them under overlap; a
    transfer of the tail alone starts past 0; a model whose window keeps the prompt (`prefill_aware_swa`) starts behind
    the prompt; what the prefix tree has of the request it gives up itself, and the cursor
    begins behind it.
    """
    early, unseen = evictions.past & evictions.tree_told, evictions.past & (not evictions.tree_told)
    negative = evictions.cursor < 0
    back = (evictions.cursor_before != NULL) & (evictions.cursor < evictions.cursor_before)
    waits = evictions.waiting
    overdue = (waits != NULL) & (waits > _patience(evictions))
    reasons = {
        NO_LIFE: evictions.life < 0,
        "the window's size was not recorded": np.full(len(evictions), evictions.window is None),
        "no committed length": evictions.committed == NULL,
        "what the prefix tree has of the request was not recorded": unseen,
        "how often the engine evicts is not known": overdue & (evictions.patience is None),
        "reports of lengths were not recorded whole": overdue & (not evictions.info.records("lengths")),
    }
    wrong = negative | early | (back & ~evictions.trimmed)
    told = evictions.patience is not None and evictions.info.records("lengths")
    failed = (wrong | (overdue & told)) & ~_reset(evictions)
    return verdict(failed, lambda i: _explain(evictions, i), reasons)


def _patience(evictions: WindowEvictions) -> int:
    """How many positions may wait for an eviction, a window more where it is not known how often the engine evicts."""
    return evictions.patience if evictions.patience is not None else (evictions.window or 0)


def _reset(evictions: WindowEvictions) -> Mask:
    """Reports of a record that is reset as its request ends."""
    ending = evictions.columns.texts("cause").equal("finish", "retract")[evictions.index]
    return np.asarray(ending & (evictions.cursor == 0), dtype=np.bool_)


def _explain(evictions: WindowEvictions, i: int) -> Details:
    cursor, before = int(evictions.cursor[i]), number(evictions.cursor_before[i])
    highest, shown = number(evictions.highest[i]), (_held(evictions, i),)
    if highest is not None and evictions.past[i]:
        inside = f"positions [{highest}, {cursor}) of the window are evicted"
        bound = f"page_floor({evictions.committed[i]} - {evictions.window}) = {highest}"
        return Details(
            message=f"the eviction cursor stands at {cursor}, behind {bound}: {inside}",
            expected=f"swa_evicted at most {highest}",
            actual=f"swa_evicted {cursor}",
            evidence=shown,
        )
    if cursor < 0 or (before is not None and cursor < before):
        return Details(
            message=f"the eviction cursor goes back from {before} to {cursor} without a trim",
            expected=f"swa_evicted at least {before or 0}",
            actual=f"swa_evicted {cursor}",
            evidence=shown,
        )
    return _explain_late(evictions, i, cursor)


def _explain_late(evictions: WindowEvictions, i: int, cursor: int) -> Details:
    held = int(evictions.committed[i]) - cursor
    allowed = (evictions.window or 0) + (evictions.patience or 0)
    return Details(
        severity=WARNING,
        message=f"{quantity(held, 'position keeps a slot', 'positions keep slots')} in the window's pool, for {quantity(evictions.waiting[i], 'committed position')} no "
        f"eviction followed; the engine evicts every {evictions.interval}",
        expected=f"at most {quantity(allowed, 'position')} held: window {evictions.window}, interval {evictions.interval}, a page, two verifies",
        actual=f"{quantity(held, 'position')} held from {cursor} on",
        evidence=(_held(evictions, i),),
    )


def _held(evictions: WindowEvictions, i: int) -> Evidence:
    """Positions held against the window."""
    cursor, committed = int(evictions.cursor[i]), number(evictions.committed[i])
    rows = (
        ("committed", committed),
        ("window", evictions.window),
        ("page size", evictions.page_size),
        ("cursor before", number(evictions.cursor_before[i])),
        ("cursor", cursor),
        ("cursor at most", number(evictions.highest[i])),
        ("positions held", None if committed is None else committed - cursor),
    )
    return Evidence(title="held against the window", columns=("", "positions"), rows=rows, marked=(4,))
