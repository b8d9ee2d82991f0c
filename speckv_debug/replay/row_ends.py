"""Where the lives of request rows end: what runs in a row behind that may meet slots of others."""

from __future__ import annotations

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import Int64s, Mask, mask
from speckv_debug.replay.searching import latest_with


def ended_before(ends: Columns, events: Columns, rows: Int64s) -> Mask:
    """Which of these events are of a row and epoch that was handed back before them; bool[rows].

    Args:
        ends: Of `row_free`.
        events: Of a table whose events name a row and an epoch.
        rows: Numbers of those that are asked about.
    """
    keys = [(ends.ints(name), events.ints(name)[rows]) for name in ("row", "epoch")]
    of_end, of_event = zip(*keys, strict=True)
    return mask(latest_with(of_end, ends.ints("seq"), of_event, events.ints("seq")[rows]) >= 0)
