"""Verifies one after another: what each starts from, and what came between."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.lengths import Lengths, Picked
from speckv_debug.replay.ragged import NULL, Int64s, Mask

USUAL = ("spec_prepare", "verify_commit")


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
    def due(self) -> Int64s:
        """Length that this verify has to start from, by the one before it; NULL if unknown."""
        verifies = self.lengths.verifies
        length, n = (np.append(c, NULL)[self.before] for c in (verifies.seq_len, verifies.accepted))
        return np.where((length == NULL) | (n == NULL) | self._interrupted, NULL, length + n)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the previous verify to this one."""
        seq = self.ints("seq")
        earlier = np.append(self.columns.ints("seq"), 0)[self.before]
        return np.where(self.before < 0, seq, earlier), seq

    @property
    def told(self) -> bool:
        """Whether the recording shows every verify, and what comes between two and changes the length.

        Forwards show a prefill, but neither a cut nor a trim.
        """
        return self.info.records("accept") and self.info.records("lengths")

    @cached_property
    def _interrupted(self) -> Mask:
        """A prefill, a plain decode, a session trim or a cut came between the two verifies."""
        lengths, release = self.lengths.columns("lengths"), self.lengths.columns("release")
        other = (~lengths.texts("cause").equal(*USUAL) | lengths.texts("cut").known) & self.lengths.main
        forward = self.lengths.columns("forward").texts("mode").equal("extend", "decode")
        every = np.ones(len(release), dtype=np.bool_)
        found = np.zeros(len(self), dtype=np.bool_)
        for table, which in (("lengths", other), ("forward", forward), ("release", every)):
            found |= self._between(table, which)
        return found

    def _between(self, table: str, which: Mask) -> Mask:
        seq = np.append(self.lengths.columns(table).ints("seq"), -1)
        latest = seq[self.lengths.lives.before(table, self.ints("seq"), self.life, which)]
        return np.asarray((self.before >= 0) & (latest > self.spans[0]))
