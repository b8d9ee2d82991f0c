"""Events that are left out of what is judged, since a pool, a word or a number in them means nothing: each counts as dropped."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pyarrow as pa

from speckv_debug.model.text import printable
from speckv_debug.recording.arrays import fixed_array
from speckv_debug.recording.meaning import COUNTED, WORDS, negative_number, strange_word
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask

MOST = 100
"""Events of one table that are left out one by one; of more, the whole table means nothing."""
NEVER_LEFT_OUT = ("drop", "note")
Reasons = Mapping[str, Int64s]
"""Why → rows of a table."""


def odd_events(table: str, columns: Columns, declared: Collection[str]) -> Reasons:
    """The events of a table that mean nothing, each with the first reason; `declared` are pools that mean something."""
    taken, found = np.zeros(len(columns), dtype=np.bool_), {}
    for why, which in _odd(table, columns, declared):
        if (rows := np.flatnonzero(which & ~taken)).size:
            found[why] = rows
            taken[rows] = True
    return found


def _odd(table: str, columns: Columns, declared: Collection[str]) -> Iterator[tuple[str, Mask]]:
    if declared and columns.has("pool"):
        pools = columns.texts("pool")
        for name in sorted(pools.used - set(declared)):
            why = f"events of {table} name pool {printable(name)}, which the process line does not declare"
            yield why, pools.equal(name)
    for column, known in WORDS.get(table, {}).items():
        texts = columns.texts(column)
        for word in sorted(texts.used - set(known)):
            yield f"events of {table} have {strange_word(column, word, known)}", texts.equal(word)
    for column in (name for name in COUNTED if columns.has(name)):
        values = columns.ints(column)
        below = mask((values < 0) & (values != NULL))
        if below.any():
            yield f"events of {table} have {negative_number(column, int(values[below].min()))}", below


def without(table: pa.Table, reasons: Reasons) -> pa.Table:
    """The rows of a table that are not left out."""
    kept = np.ones(table.num_rows, dtype=np.bool_)
    kept[np.concatenate(list(reasons.values()))] = False
    return table.take(fixed_array(np.flatnonzero(kept), pa.int64()))


def as_drops(drops: pa.Table, left_out: Mapping[str, tuple[Columns, Reasons]]) -> pa.Table:
    """The drop events of a process, and one of no rows for each event that is left out, in the order of `seq`."""
    rows = [
        {"seq": int(columns.ints("seq")[row]), "table": table, "rows": 0, "why": why}
        for table, (columns, reasons) in left_out.items()
        for why, found in reasons.items()
        for row in found.tolist()
    ]
    plain = drops.select(SCHEMAS["drop"].names).cast(SCHEMAS["drop"])
    return pa.concat_tables([plain, pa.Table.from_pylist(rows, schema=SCHEMAS["drop"])]).sort_by("seq")


def why_dropped(drops: Columns, index: int) -> str:
    """Why what a drop event is about can't be judged."""
    if drops.ints("rows")[index] == 0 and (why := drops.text_at("why", index)) is not None:
        return why
    return f"the recorder dropped rows of {drops.text_at('table', index) or 'some table'}"
