"""Verifies of the target and what a drafter stores, beside the request's tokens of the same step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.copied_tokens import CopiedTokens
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s

Wrong = tuple[int, int | None, int, int]
"""Row of a list that is wrong, its position, the token there, and the token due."""


class StoredTokens:
    """One instance a row of `forward` whose tokens follow from other events of its step, see `CopiedTokens`."""

    rests_on: Mapping[str, tuple[str, ...]] = {
        "accept": ("row", "epoch", "step"),
        "forward": ("mode", "row", "epoch", "step"),
    }

    def __init__(self, copied: CopiedTokens) -> None:
        self.copied, self.forward, self.index = copied, copied.forward, copied.index
        self.verify, self.wrong, self.compared = copied.verify, copied.wrong, copied.compared
        self.misplaced = copied.misplaced
        self.seq = self.forward.ints("seq")[self.index]

    def __len__(self) -> int:
        return len(self.index)

    def place(self, index: int) -> Place:
        """Where the forward stands."""
        return place_of(self.forward, int(self.index[index]))

    def kind(self, index: int) -> str:
        """Rows of verifies and those of a drafter are different kinds."""
        return "verify" if self.verify[index] else "draft"

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the forward to the accept or extend of its step."""
        accept = np.append(self.copied.verifies.seq, NULL)[self.copied.accept]
        extend = np.append(self.forward.ints("seq"), NULL)[self.copied.extend]
        other = np.where(self.copied.accept >= 0, accept, extend)
        return np.minimum(self.seq, other), np.maximum(self.seq, other)

    def row(self, index: int) -> Wrong:
        """What is wrong."""
        copied, row = self.copied, int(self.wrong[index])
        for own, rows, tokens, due in (copied.of_verify, *map(copied.of_draft, copied.offsets[::-1])):
            at = np.flatnonzero((own == index) & (rows == row) & (tokens != due))
            if len(at):
                positions = self.forward.lists("positions")[int(self.index[index])]
                position = int(positions[row]) if row < len(positions) else None
                return row, position, int(tokens[at[0]]), int(due[at[0]])
        raise IndexError(index)

    def placed(self, index: int) -> tuple[int, int, int]:
        """The first row of a verify's forward at a wrong position, that position, and the one that is due."""
        return self.copied.placed.row(int(np.count_nonzero(self.verify[:index])))
