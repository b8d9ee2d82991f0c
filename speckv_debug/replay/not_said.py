"""Events that may be instances of a law, and lack the value that would tell: what they are about is unknown."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import Mask

NotSaid = Mapping[str, int]
"""Why → how many events."""


def not_said(table: str, columns: Columns, *names: str, which: Mask | None = None) -> NotSaid:
    """Events without a value in one of these columns, each counted once, with the first that it lacks.

    Args:
        table: Its name.
        columns: Of that table.
        names: Of the columns.
        which: The events that are asked, bool[events]; all if None.
    """
    left = np.ones(len(columns), dtype=np.bool_) if which is None else which.copy()
    found: dict[str, int] = {}
    for name in names if len(columns) else ():
        lacking = left & columns.absent(name)
        if lacking.any():
            found[f"events of {table} have no {name}"] = int(np.count_nonzero(lacking))
            left &= ~lacking
    return found


def together(*parts: NotSaid) -> NotSaid:
    """What several parts of a scope leave out; the same events are those of one part only."""
    found: dict[str, int] = {}
    for part in parts:
        for why, count in part.items():
            found[why] = max(count, found.get(why, 0))
    return found
