"""Memory that one window after another is written into: to take fresh pages costs more than to fill them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from speckv_debug.replay.ragged import Int64s


class Scratch:
    """Arrays by name; what one holds is gone when it is asked for again."""

    def __init__(self) -> None:
        self._kept: dict[str, Int64s] = {}

    def room(self, name: str, rows: int, columns: int) -> Int64s:
        """int64[rows, columns] with any content."""
        size = rows * columns
        if name not in self._kept or len(self._kept[name]) < size:
            self._kept[name] = np.empty(size + size // 4, dtype=np.int64)
        return self._kept[name][:size].reshape(rows, columns)

    def stacked(self, name: str, rows: Sequence[npt.NDArray[np.generic]]) -> Int64s:
        """int64[rows, columns]: integers of any width, one row below another."""
        return np.stack(rows, out=self.room(name, len(rows), len(rows[0])))
