"""Chunks of a prompt that the tree took when they were scheduled, ahead of the forward that writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.further import LooksFurther
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.ragged import NULL, Int64s, Mask

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger


def writes_own_chunk(ledger: Ledger, index: int, tenure: Tenure, page: int) -> bool:
    """Whether a forward is the first of its pool to write slots that its request was granted and published in its step.

    The stream's order has them written before who is served the node reads them.

    Raises:
        LooksFurther: An earlier window may hold what the step granted and published.
    """
    rows = ledger.events.slots["forward"]
    step, seq = rows.ints("step")[index], rows.ints("seq")[index]
    if step == NULL:
        return False
    slots = rows.slots(index)[rows.slot_pages(index) == page]
    if rows.namespace[index] != ledger.namespaces.main or not len(slots):
        return False
    granted, published = (_named(ledger, table, step, seq, tenure) for table in ("alloc", "cache"))
    written = _named(ledger, "forward", step, seq, tenure, rows.texts("pool")[index])
    own = bool((np.isin(slots, granted) & np.isin(slots, published) & ~np.isin(slots, written)).all())
    if not own and ledger.goes_on:
        raise LooksFurther("the step of a write may have begun in an earlier window")
    return own


def _named(
    ledger: Ledger, table: str, step: int, until: int, tenure: Tenure, pool: str | None = None
) -> Int64s:
    """Slots that events of a table name for the life in a step up to a `seq`; of `cache` those that it publishes."""
    rows = ledger.events.slots[table]
    columns = rows.columns
    seq = columns.ints("seq")
    mine: Mask = (columns.ints("step") == step) & (seq < until)
    if table == "cache":
        mine &= columns.texts("action").equal("insert") & columns.texts("request").equal(str(tenure.request))
    else:
        mine &= (columns.ints("row") == tenure.row) & (columns.ints("epoch") == tenure.epoch)
    if table == "forward":
        named = columns.texts("pool")
        mine &= ~named.known if pool is None else named.equal(pool)
    found = [rows.slots(at) for at in np.flatnonzero(mine).tolist()]
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)
