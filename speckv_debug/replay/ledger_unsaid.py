"""Events that may be instances of a law of the ledger, and do not say what they are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from speckv_debug.replay.not_said import NotSaid, not_said
from speckv_debug.replay.ragged import Mask, mask
from speckv_debug.replay.writes import of_first_row, padding_rows

if TYPE_CHECKING:
    from speckv_debug.replay.ledger_events import LedgerEvents

FREED = {"free": ("slots",)}
WRITTEN = {"table_write": ("row", "start", "slots")}
SAYING: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "double": FREED,
    "unsafe": FREED,
    "alias": {"alloc": ("slots",), **WRITTEN},
    "orphan": WRITTEN,
    "owned": {"forward": ("slots",)},
    "publish": {"cache": ("action",)},
}
"""Law → columns of a table without which an event of the main pool is no instance."""


def unsaid(events: LedgerEvents, law: str) -> NotSaid:
    """Why → how many events of the main pool lack what would make them instances of the law."""
    found: dict[str, int] = {}
    for table, names in SAYING.get(law, {}).items():
        columns = events.table(table).columns
        if len(columns) and any(columns.absent(name).any() for name in names):
            found |= not_said(table, columns, *names, which=_asked(events, table))
    return found


def _asked(events: LedgerEvents, table: str) -> Mask:
    """Events of the main pool, but for grants that were refused, padding, and verifies, whose accepts name their slots."""
    rows = events.slots[table]
    asked = mask(rows.namespace == events.namespaces.main)
    if table == "alloc":
        asked &= rows.columns.ints("granted") != 0
    if table == "forward":
        pads = padding_rows(rows.columns) | of_first_row(rows.columns)
        asked &= ~pads & ~rows.columns.texts("mode").equal("target_verify")
    return asked
