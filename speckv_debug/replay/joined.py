"""Columns of some earlier events and of a window as one table; neither is converted twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from speckv_debug.replay.columns import Columns, Texts
from speckv_debug.replay.ragged import Int64s, Mask, Ragged, joined


class JoinedColumns(Columns):
    """The rows of one table, then those of another of the same schema."""

    def __init__(self, first: Columns, second: Columns) -> None:
        self.first, self.second = first, second
        self._cache: dict[str | tuple[str, str], Any] = {}

    def __len__(self) -> int:
        return len(self.first) + len(self.second)

    def has(self, name: str) -> bool:
        """Whether the table has such a column."""
        return self.second.has(name)

    def ints(self, name: str) -> Int64s:
        """An integer column as int64, NULL where absent."""
        found: Int64s = self._made(name, lambda c: c.ints(name), np.concatenate)
        return found

    def floats(self, name: str) -> tuple[npt.NDArray[np.float64], Mask]:
        """A column of floats as float64, and where there is a value."""
        found: tuple[npt.NDArray[np.float64], Mask] = self._made(name, lambda c: c.floats(name), _floats)
        return found

    def texts(self, name: str) -> Texts:
        """A text column."""
        found: Texts = self._made(name, lambda c: c.texts(name), lambda pair: _texts(*pair))
        return found

    def lists(self, name: str) -> Ragged:
        """A column of integer lists."""
        found: Ragged = self._made(name, lambda c: c.lists(name), lambda pair: joined(*pair))
        return found

    def native(self, name: str) -> Ragged:
        """The same with values as wide as the column has them."""
        found: Ragged = self._made(("native", name), lambda c: c.native(name), lambda pair: joined(*pair))
        return found

    def absent(self, name: str) -> Mask:
        """Where a column has no value."""
        found: Mask = self._made(("absent", name), lambda c: c.absent(name), np.concatenate)
        return found

    def strings(self, name: str, index: int) -> tuple[str, ...] | None:
        """One value of a column of text lists."""
        behind = index - len(self.first)
        return self.first.strings(name, index) if behind < 0 else self.second.strings(name, behind)

    def _made(self, key: str | tuple[str, str], of_one: Any, join: Any) -> Any:
        if key not in self._cache:
            self._cache[key] = join((of_one(self.first), of_one(self.second)))
        return self._cache[key]


def _floats(pair: Any) -> tuple[npt.NDArray[np.float64], Mask]:
    (first, known), (second, also) = pair
    return np.concatenate((first, second)), np.concatenate((known, also))


def _texts(first: Texts, second: Texts) -> Texts:
    """Codes of both by the names of the second, and those that only the first has behind them."""
    known = {name: code for code, name in enumerate(second.names)}
    more = [name for name in first.names if name not in known]
    known.update({name: len(second.names) + code for code, name in enumerate(more)})
    mapped = np.array([*(known[name] for name in first.names), -1], dtype=np.int32)[first.codes]
    return Texts(np.concatenate((mapped, second.codes)), (*second.names, *more))
