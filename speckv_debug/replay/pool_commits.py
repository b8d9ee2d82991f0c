"""Commits of verifies in pools beside the main one: a draft cache, the pool of a window."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.model.process import DRAFT, MAIN
from speckv_debug.replay.engine_version import may_preclaim
from speckv_debug.replay.lengths import Lengths, Picked, accepts_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask

OF_TOKENS = (MAIN, DRAFT, "swa", "indexer")
"""Kinds of pools whose lengths count the request's tokens; others count entries for several of them, or state."""


class PoolCommits(Picked):
    """One instance a `lengths` event of another pool that commits the result of a verify, of a request that still runs.

    Attributes:
        accept: The accept of the same step and life, -1 if there is none.
        before: The life's previous `lengths` event of the same pool, -1 if there is none.
    """

    rests_on: Mapping[str, tuple[str, ...]] = {
        **Picked.rests_on,
        "lengths": ("row", "epoch", "cause", "step"),
    }

    def __init__(self, lengths: Lengths) -> None:
        table = lengths.columns("lengths")
        over = table.ints("seq") > np.append(lengths.lives.end, NULL)[lengths.lives.of("lengths")]
        over &= lengths.lives.of("lengths") >= 0
        self._committing = table.texts("cause").equal("verify_commit") & ~lengths.main
        super().__init__(lengths, "lengths", self._committing & ~over)
        self.before = self._previous(~lengths.main)
        self.accept = accepts_of(self)

    @property
    def looks_further(self) -> Mask:
        """What a window of the process may not hold all of: the accept may be elsewhere."""
        return mask((self.life >= 0) & (self.ints("step") != NULL) & (self.accept < 0))

    @cached_property
    def accept_len(self) -> Int64s:
        """n of the verify, NULL if unknown."""
        return np.append(self.lengths.verifies.accepted, NULL)[self.accept]

    @cached_property
    def committed_before(self) -> Int64s:
        """Committed length that the pool's previous report told, NULL if there is none."""
        if not self.info.records("lengths"):
            return np.full(len(self), NULL, dtype=np.int64)
        return np.append(self.columns.ints("committed"), NULL)[self.before]

    @cached_property
    def cut(self) -> Mask:
        """Fewer than accept_len were kept, and the engine says why."""
        return mask(self.columns.texts("cut").known[self.index])

    @cached_property
    def counts_tokens(self) -> Mask:
        """Commits of pools whose lengths count tokens."""
        pools = self.columns.texts("pool")
        kinds = {pool.name: pool.kind for pool in self.info.pools}
        kinds |= dict.fromkeys(self.info.draft_pools, DRAFT)
        names = [name for name in pools.names if kinds.get(name) in OF_TOKENS]
        return mask(pools.equal(*names)[self.index])

    @cached_property
    def first(self) -> Mask:
        """Commits that may grow by one more or less: a draft cache ends at an offset of its own, which its first commit shows."""
        drafts = self.columns.texts("pool").equal(*self.info.draft_pools)[self.index]
        return mask((drafts & (self._previous(self._committing) < 0)) | may_preclaim(self.info))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the earlier of accept and previous report to the later of accept and commit."""
        seq = self.seq
        accept = np.append(self.lengths.columns("accept").ints("seq"), 0)[self.accept]
        before = np.append(self.columns.ints("seq"), 0)[self.before]
        accept, before = np.where(self.accept < 0, seq, accept), np.where(self.before < 0, seq, before)
        return np.minimum(np.minimum(accept, before), seq), np.maximum(accept, seq)

    def _previous(self, which: Mask) -> Int64s:
        """The latest report before each commit, of the same life and pool, among `which`; -1 if there is none."""
        pools, found = self.columns.texts("pool"), np.full(len(self), -1, dtype=np.int64)
        for code in np.unique(pools.codes[self.index]).tolist():
            mine = np.flatnonzero(pools.codes[self.index] == code)
            of_pool = mask(which & (pools.codes == code))
            found[mine] = self.lengths.lives.before("lengths", self.seq[mine], self.life[mine], of_pool)
        return found
