"""Short names of verify rows, as in the field's drawings: R for the root, then A, B, C."""

from __future__ import annotations

from typing import Final

LETTERS: Final = "ABCDEFGHIJKLMNOPQSTUVWYZ"
"""Without R, the root, and X, the bonus."""
BONUS: Final = "X"


def letter(row: int) -> str:
    """The short name of a local verify row, unique within a step: `R A B … Z A2 B2 …`, `?` below 0."""
    if row <= 0:
        return "R" if row == 0 else "?"
    turn, place = divmod(row - 1, len(LETTERS))
    return LETTERS[place] + (str(turn + 1) if turn else "")
