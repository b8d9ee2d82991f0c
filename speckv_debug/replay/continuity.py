"""Verifies one after another: what each starts from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.lengths import Lengths, Picked
from speckv_debug.replay.ragged import NULL, Int64s
from speckv_debug.replay.verify_starts import VerifyStarts


class Successions(Picked):
    """One instance a verify of a request, with the one before it.

    Attributes:
        before: The life's previous accept, -1 if there is none.
    """

    reads = ("lengths", "forward", "release")
    rests_on: Mapping[str, tuple[str, ...]] = {**Picked.rests_on, "forward": ("mode", "row", "epoch")}

    def __init__(self, lengths: Lengths) -> None:
        super().__init__(lengths, "accept", ~lengths.verifies.padding)
        self.before = lengths.lives.before("accept", self.ints("seq"), self.life)

    @cached_property
    def accepted(self) -> Int64s:
        """n, NULL if unknown."""
        return self.lengths.verifies.accepted[self.index]

    @cached_property
    def starts(self) -> VerifyStarts:
        """What each verify has to start from."""
        return VerifyStarts(self.lengths, self.ints("seq"), self.life, self.before)

    @property
    def due(self) -> Int64s:
        """Length that this verify has to start from, by what came before it; NULL if unknown."""
        return self.starts.length

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From what the length is known from, or the previous verify, to this one."""
        seq = self.ints("seq")
        earlier = np.append(self.columns.ints("seq"), -1)[self.before]
        first = np.where(self.due == NULL, earlier, self.starts.seq)
        return np.where(first < 0, seq, first), seq

    @property
    def told(self) -> bool:
        """Whether the recording shows every verify, and what comes between two and changes the length.

        Forwards show a prefill, but neither a cut nor a trim.
        """
        return self.info.records("accept") and self.info.records("lengths")
