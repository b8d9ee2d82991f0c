"""What the engine says in words at an event: reason, caller, cause, kind. The same in every run, unlike ids and numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns

WORDS: Mapping[str, tuple[str, ...]] = {
    "accept": ("algorithm", "layout", "sampling"),
    "move": ("target_source", "caller"),
    "compact": ("tensor",),
    "forward": ("mode", "group"),
    "alloc": ("reason", "site"),
    "free": ("reason", "site", "form"),
    "free_group": ("action",),
    "table_write": (),
    "row_alloc": (),
    "row_free": (),
    "lengths": ("cause", "cut"),
    "reserve": (),
    "cache": ("action",),
    "release": ("kind",),
    "swa_map": (),
    "page_ref": ("action",),
    "state_clear": (),
    "state_commit": (),
    "state_access": ("action",),
    "transfer": ("action", "direction"),
    "pool_stat": (),
    "drop": ("table", "why"),
    "note": ("level",),
}
"""Table → columns that hold words of the engine, the same in every run."""


class EventWords(NamedTuple):
    """The table of an event, and pairs of column and text."""

    table: str
    words: tuple[tuple[str, str], ...]


NO_EVENT = EventWords("", ())
"""Where the recording holds no such event, such as in a hole."""


def words_at(process: ProcessRecording, seqs: Collection[int]) -> dict[int, EventWords]:
    """`seq` → what the event there says; those that the recording does not hold are left out."""
    wanted, found = np.array(sorted(seqs), dtype=np.int64), dict[int, EventWords]()
    for table in process.present if len(wanted) else ():
        rows = np.flatnonzero(np.isin(process.seqs[table], wanted))
        if len(rows):
            columns = Columns(process.columns(table, *WORDS[table]))
            for row in rows.tolist():
                said = ((name, columns.text_at(name, row)) for name in WORDS[table])
                event = EventWords(table, tuple((name, text) for name, text in said if text is not None))
                found.setdefault(int(process.seqs[table][row]), event)
    return found
