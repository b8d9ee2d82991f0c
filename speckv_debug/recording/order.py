"""The one ordered stream of a process: which row of which table comes next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from speckv_debug.recording.schema import TABLES

SPARSE = 8
"""Numbers an event from which on a mark for each number between is no quick way to see that none is missing."""


@dataclass(frozen=True, slots=True)
class EventOrder:
    """Events in ascending seq, column-wise.

    Attributes:
        seq: int64[n].
        table: int16[n], index into `schema.TABLES`.
        index: int64[n], row in that table.
    """

    seq: npt.NDArray[np.int64]
    table: npt.NDArray[np.int16]
    index: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.seq)


@dataclass(frozen=True, slots=True)
class EventBatch:
    """A stretch of the stream: the rows of each table in it, and their order (indices local to the batch)."""

    first_seq: int
    last_seq: int
    tables: Mapping[str, pa.Table]
    order: EventOrder


def merge(seqs: Mapping[str, npt.NDArray[np.int64]]) -> EventOrder:
    """The order of tables whose rows are sorted by seq; equal seqs keep the tables' order."""
    present = [name for name in TABLES if name in seqs and len(seqs[name])]
    if not present:
        return EventOrder(np.empty(0, np.int64), np.empty(0, np.int16), np.empty(0, np.int64))
    seq = np.concatenate([seqs[name] for name in present])
    lengths = [len(seqs[name]) for name in present]
    table = np.repeat(np.array([TABLES.index(name) for name in present], np.int16), lengths)
    index = np.concatenate([np.arange(n, dtype=np.int64) for n in lengths])
    by_seq = np.argsort(seq, kind="stable")
    return EventOrder(seq[by_seq], table[by_seq], index[by_seq])


def holes(seqs: Iterable[npt.NDArray[np.int64]]) -> list[tuple[int, int]]:
    """Missing ranges `[a, b)` between the events of all tables, each table's seq ascending."""
    found = [seq for seq in seqs if len(seq)]
    if not found:
        return []
    first, last = min(int(seq[0]) for seq in found), max(int(seq[-1]) for seq in found)
    if last - first < SPARSE * sum(map(len, found)):
        seen = np.zeros(last - first + 1, dtype=np.bool_)
        for seq in found:
            seen[seq - first] = True
        if seen.all():
            return []
    at = np.sort(np.concatenate(found))
    before = np.flatnonzero(np.diff(at) > 1)
    return [(int(at[i]) + 1, int(at[i + 1])) for i in before]
