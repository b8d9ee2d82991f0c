"""How many bytes the parts of a page may take, so that it stays below its limit whatever it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Row = TypeVar("Row")
Made = TypeVar("Made", bound=str)

LARGEST = 8_000_000
"""Bytes of a page."""
JUDGED, FINDINGS, ENVIRONMENT, FIGURES = 0.1, 0.3, 0.1, 0.7
"""The share that each may take at most of what is left beside the scripts and those before it; steps get the rest."""
WORDS = 60_000
"""For words that stand in place of what is left out, and for the frame of the page."""
OPTION = "speckv-debug check --format json"
"""What lists everything that was found."""


class Budget:
    """Bytes that are left; what does not fit stands in the page as words."""

    def __init__(self, size: float, whole: Budget | None = None) -> None:
        self.left, self._whole = max(0, int(size)), whole

    def takes(self, *parts: str) -> bool:
        """Whether all these fit; if they do they are taken, from the whole that this is a part of, too."""
        need = size_of(*parts)
        if need > self.left or not (self._whole is None or self._whole.takes(*parts)):
            return False
        self.left -= need
        return True

    def fitting(self, rows: Sequence[Row], make: Callable[[Sequence[Row]], Made]) -> Made:
        """What `make` makes of as many rows as fit, the first ones; of none it is taken as it is."""
        count = len(rows)
        while True:
            made = make(rows[:count])
            if self.takes(made) or not count:
                return made
            count = min(count - 1, count * self.left // max(size_of(made), 1))

    def part(self, share: float) -> Budget:
        """A budget of this share of what is left."""
        return Budget(self.left * share, self)


def size_of(*parts: str) -> int:
    """Bytes in the file."""
    return sum(len(part.encode()) for part in parts)
