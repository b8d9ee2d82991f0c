"""Events whose columns the writer thread makes: what the engine's thread noted of them, and how blocks come of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from speckv_debug.recording.blocks import Block, blocks_to_batch

Deferred = tuple[int, int, int, int, str | None, Any, Callable[..., dict[str, Any]], tuple[Any, ...]]
"""Rows, seq, t_ns, step, lane, awaited, make, given: see `Recorder.defer`.

A plain tuple: the engine's thread makes one an event, and a class of its own takes several times as long.
"""
ROWS: Final = 0
SEQ: Final = 1
T_NS: Final = 2
AWAITED: Final = 5
MAKE: Final = 6
GIVEN: Final = 7


def made_together(table: str, entries: list[Deferred], make: Any) -> pa.RecordBatch | str | None:
    """All in one batch, if `make.together` gives columns of all rows and the rest of each.

    None if it does not; why not, if it failed: one by one it shows of which events that is true.
    """
    together = getattr(make, "together", None)
    if together is None:
        return None
    try:
        found = together([entry[GIVEN] for entry in entries])
        if found is None:
            return None
        whole, rest = found
        blocks = [
            Block(table, rows, {"t_ns": t_ns, "step": step, "lane": lane, **own}, seq)
            for (rows, seq, t_ns, step, lane, *_), own in zip(entries, rest, strict=True)
        ]
        return blocks_to_batch(table, blocks, whole)
    except Exception as error:  # noqa: BLE001 (whatever the engine's values raise)
        return reason(error)


def made(table: str, deferred: Deferred) -> Block | str:
    """The block that is made only now, or why it can't be kept."""
    rows, seq, t_ns, step, lane, _, make, given = deferred
    try:
        return Block(table, rows, {"t_ns": t_ns, "step": step, "lane": lane, **make(*given)}, seq)
    except Exception as error:  # noqa: BLE001 (a lost device value is one drop)
        return reason(error)


def reason(error: Exception) -> str:
    """Why an event could not be kept, short enough for a drop."""
    return f"{type(error).__name__}: {str(error)[:120]}"
