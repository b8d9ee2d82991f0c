"""What the numbers of all events say together, found without holding a column of the whole process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from speckv_debug.recording.stream import ahead, stretches_of
from speckv_debug.recording.table_files import TableFiles, seq_of

Look = Callable[[Mapping[str, pa.Table]], None]


@dataclass(frozen=True, slots=True)
class Extent:
    """First and last seq of a table, and how many rows it has."""

    first: int
    last: int
    rows: int


@dataclass(slots=True)
class Survey:
    """The extents of all tables that have rows.

    Attributes:
        dense: No event is missing between two others.
        damaged: Files that were known to be damaged when the survey began; with more of them it does not hold.
    """

    extents: dict[str, Extent] = field(default_factory=dict)
    dense: bool = True
    damaged: int = 0
    _end: int | None = None

    @classmethod
    def of(cls, files: Mapping[str, TableFiles], columns: list[str], look: Look) -> Survey:
        """Read seq and some columns once, stretch by stretch; each stretch is shown to `look`."""
        survey = cls(damaged=damaged_in(files))
        for stretch in ahead(stretches_of(files, columns)):
            survey._add(stretch)
            look(stretch)
        return survey

    def _add(self, stretch: Mapping[str, pa.Table]) -> None:
        seqs = {name: seq_of(table) for name, table in stretch.items()}
        for name, seq in seqs.items():
            before = self.extents.get(name, Extent(int(seq[0]), 0, 0))
            self.extents[name] = Extent(before.first, int(seq[-1]), before.rows + len(seq))
        first = min(int(seq[0]) for seq in seqs.values()) if self._end is None else self._end + 1
        last, rows = max(int(seq[-1]) for seq in seqs.values()), sum(map(len, seqs.values()))
        self._end = last
        if not self.dense or last - first >= rows:
            self.dense = False
            return
        found = np.zeros(last - first + 1, dtype=np.bool_)
        for seq in seqs.values():
            found[seq - first] = True
        self.dense = bool(found.all())


def damaged_in(files: Mapping[str, TableFiles]) -> int:
    """How many files are known to be damaged."""
    return sum(len(each.damaged) for each in files.values())
