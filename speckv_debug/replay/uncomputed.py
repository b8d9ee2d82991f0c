"""Verifies whose rows no forward computed, where forwards of verifies are recorded whole."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.same_step import keys_of, last_of_step
from speckv_debug.replay.target_writes import TargetWrites

MODES = ("extend", "decode", "target_verify")


class Uncomputed:
    """One instance an accept of a request without a forward of the target's verify in its step, where other verifies have one.

    Attributes:
        index: The accept.
        before: The latest forward of the target for the same life before it, -1 if there is none.
    """

    reads = ("forward",)
    rests_on: Mapping[str, tuple[str, ...]] = {
        "accept": ("row", "step"),
        "forward": ("mode", "row", "step"),
    }

    def __init__(self, writes: TargetWrites) -> None:
        self.verifies, self._lengths = writes.verifies, writes.lengths
        self._forward, self._drafting = writes.forward, writes.drafting
        whole = writes.info.records("forward", "target_verify")
        self.index = np.flatnonzero(self._without()) if whole else np.empty(0, dtype=np.int64)
        self.seq = self.verifies.seq[self.index]

    def __len__(self) -> int:
        return len(self.index)

    def place(self, index: int) -> Place:
        """Where the accept stands."""
        return self.verifies.place(int(self.index[index]))

    @cached_property
    def before(self) -> Int64s:
        """What was computed for the request before: from there on the recording would have the forward."""
        lives, which = self._lengths.lives, self._live & self._forward.texts("mode").equal(*MODES)
        return lives.before("forward", self.seq, lives.of("accept")[self.index], mask(which))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From what was computed for the request before to the accept."""
        since = np.append(self._forward.ints("seq"), 0)[self.before]
        return np.where(self.before < 0, self.seq, since), self.seq

    @cached_property
    def dropped(self) -> Mask:
        """The recorder left forwards out, which may be noted late."""
        drops = self._lengths.columns("drop")
        table = drops.texts("table")
        seq = drops.ints("seq")[table.equal("forward") | ~table.known]
        return mask(seq.max(initial=NULL) > self.spans[0])

    def _without(self) -> Mask:
        verifies, forward = self.verifies, self._forward
        rows = np.flatnonzero(self._live & forward.texts("mode").equal("target_verify"))
        own = keys_of(
            np.concatenate((forward.ints("row")[rows], verifies.row)),
            np.concatenate((forward.ints("step")[rows], verifies.step)),
        )
        found = last_of_step(own[: len(rows)], own[len(rows) :])
        return mask((len(rows) > 0) & (found < 0) & (own[len(rows) :] >= 0) & ~verifies.padding)

    @property
    def _live(self) -> Mask:
        return mask(~self._drafting & (self._forward.flags("padded") != 1))
