"""What the kernels accept of the inputs of each verify: no recorded result is read, save where the docstring says so."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, mask, spread, starts
from speckv_debug.replay.recompute import Kernels, Walks
from speckv_debug.replay.trees import WIDEST
from speckv_debug.replay.verifies import VerifyBatch

WALK, MATCH, ROWS = 1, 2, 3
"""How a path is recomputed: down the links of a tree, along a chain without links, or simply row after row."""
KERNELS = {
    WALK: "kernels.accept.verify_tree_greedy",
    MATCH: "kernels.accept.match_chain",
    ROWS: "kernels.accept.accept_from_lens",
}


class Group(NamedTuple):
    """Verifies of one width that go through one kernel, and the column that holds the target's choice."""

    kernel: int
    width: int
    chosen: str
    verifies: Int64s


class Found(NamedTuple):
    """`path`, `tokens` and `bonus` of `RecomputedAccepts`."""

    path: Ragged
    tokens: Int64s
    bonus: Int64s


class RecomputedAccepts:
    """Accepted paths of all verifies of a process, recomputed; one instance a verify.

    The target's choice is `target_predict`. Where only `predict` was recorded that is taken: it is the target's choice
    on the rows that the engine accepted and undefined elsewhere, so what comes out says whether the engine's path
    is the one that its own predictions lead along, and nothing more where it is not.

    Attributes:
        exact: Where the path is what a greedy target accepts. Elsewhere, where there is one at all, it is what the accepted
            path is the front of: of a chain or of a simulation all rows, of a sampled verify the walk by `predict`.
        by_predict: Where `predict` had to be taken for the target's choice.
        path: Local rows, root first; absent where none can be recomputed.
        tokens: The output token behind each of these rows, parallel to `path.values`; meaningless where not exact.
        lens: Accepted rows, NULL where not exact.
        bonus: The bonus token, NULL where not exact.
    """

    def __init__(self, verifies: VerifyBatch, kernels: Kernels) -> None:
        self.verifies, self.kernels = verifies, kernels
        greedy = verifies.of("sampling", "greedy") & ~verifies.simulated
        self.sampled = verifies.of("sampling", "rejection", "target_only") & ~verifies.simulated
        walkable = self.whole("draft_tokens") & (self.linked | self.chain)
        walkable &= verifies.non_draft == 1 and not verifies.tokens_rewritten
        target, predict = self.whole("target_predict"), self.whole("predict")
        self.exact = mask(greedy & walkable & (target | predict) & ~verifies.padding)
        self.by_predict = mask(~(greedy & target) & predict)
        walked = self.exact | (self.sampled & walkable & predict)
        kernel = np.where(self.linked, WALK, MATCH)
        self.kernel = np.where(
            walked, kernel, np.where(self.sized & (self.chain | verifies.simulated), ROWS, 0)
        )
        self.kernel[verifies.padding] = 0

    def __len__(self) -> int:
        return len(self.verifies)

    @cached_property
    def chain(self) -> Mask:
        """Verifies whose rows are one chain."""
        return self.verifies.of("layout", "chain")

    @cached_property
    def linked(self) -> Mask:
        """Verifies with tree links for all their rows."""
        return self.whole("next_token") & self.whole("next_sibling")

    @property
    def sized(self) -> Mask:
        """Verifies of which it is known how many rows they have."""
        return self.verifies.sized

    def whole(self, name: str) -> Mask:
        """Where a list column has a value for each row of the verify."""
        column = self.verifies.ragged(name)
        return mask(column.filled & self.sized & (column.lengths == self.verifies.width))

    def chosen_at(self, verifies: Int64s, rows: Int64s) -> Int64s:
        """What the walk takes for the target's choice at rows of verifies, NULL where there is none."""
        predict, target = (self.verifies.ragged(name) for name in ("predict", "target_predict"))
        return np.where(self.by_predict[verifies], predict.at(verifies, rows), target.at(verifies, rows))

    @property
    def path(self) -> Ragged:
        """See the class."""
        return self._found.path

    @property
    def tokens(self) -> Int64s:
        """See the class."""
        return self._found.tokens

    @cached_property
    def lens(self) -> Int64s:
        """See the class."""
        return np.where(self.exact, self.path.lengths, NULL)

    @property
    def bonus(self) -> Int64s:
        """See the class."""
        return self._found.bonus

    @cached_property
    def new_seq_len(self) -> Int64s:
        """Length after the verify, NULL where it is not exact or starts from an unknown length."""
        known = self.exact & (self.verifies.seq_len != NULL)
        lengths = np.full(len(self), NULL, dtype=np.int64)
        lengths[known] = self.kernels.new_lengths(self.verifies.seq_len[known], self.lens[known])
        return lengths

    @cached_property
    def unknown(self) -> dict[str, Mask]:
        """Why a path is not exact → where; verifies that pad the batch are in none."""
        verifies = self.verifies
        greedy = verifies.of("sampling", "greedy")
        reasons = {
            "no sampling mode": ~verifies.columns.texts("sampling").known & ~verifies.simulated,
            "how many rows a sampled verify accepts can't be recomputed": self.sampled,
            "the engine may rewrite tokens (watermark, vocab_map)": greedy & verifies.tokens_rewritten,
            "the kernels know one non-draft row a request": mask(greedy & (verifies.non_draft != 1)),
            "no width": ~self.sized,
            "no draft_tokens": ~self.whole("draft_tokens"),
            "no tree links": ~self.linked & ~self.chain,
            "neither target_predict nor predict": ~self.whole("target_predict") & ~self.whole("predict"),
            "an unknown sampling mode": ~greedy,
        }
        open_ = ~self.exact & ~(verifies.simulated & self.sized) & ~verifies.padding
        return {why: mask(where & open_) for why, where in reasons.items()}

    @cached_property
    def _found(self) -> Found:
        lens, bonus = np.zeros(len(self), dtype=np.int64), np.full(len(self), NULL, dtype=np.int64)
        parts = []
        for which, walks in self._walks():
            lens[which] = walks.lens
            bonus[which] = self.kernels.bonus(walks.predict, walks.path, walks.lens)
            taken = walks.path >= 0
            behind = np.take_along_axis(walks.predict, np.maximum(walks.path, 0), axis=1)
            parts.append((which, walks.path[taken], behind[taken]))
        offsets = starts(lens)
        rows, tokens = np.empty((2, int(offsets[-1])), dtype=np.int64)
        for which, *values in parts:
            at = np.repeat(offsets[which], lens[which]) + spread(lens[which])
            rows[at], tokens[at] = values
        return Found(Ragged(rows, offsets, self.kernel > 0), tokens, np.where(self.exact, bonus, NULL))

    def _walks(self) -> Iterator[tuple[Int64s, Walks]]:
        """Verifies, in chunks of one shape, and what they accept."""
        for group in self._groups():
            for which in self.kernels.pieces(group.verifies, group.width):
                yield which, self._walk(group, which)

    def _groups(self) -> Iterator[Group]:
        """Verifies of one shape; there are few shapes."""
        keys = np.where(
            self.kernel > 0, (self.kernel * 2 + self.by_predict) * (WIDEST + 1) + self.verifies.width, 0
        )
        for key in np.unique(keys).tolist():
            kind, width = divmod(key, WIDEST + 1)
            if kind:
                chosen = "predict" if kind % 2 else "target_predict"
                yield Group(kind // 2, width, chosen, np.flatnonzero(keys == key))

    def _walk(self, group: Group, which: Int64s) -> Walks:
        width, kernels = group.width, self.kernels
        every = np.full(len(which), width, dtype=np.int64)
        if group.kernel == ROWS:
            return kernels.follow_chain(np.zeros((len(which), width), dtype=np.int64), every, every, width)
        tokens, chosen = (self._matrix(name, which, width) for name in ("draft_tokens", group.chosen))
        if group.kernel == MATCH:
            lens, bonus = kernels.match_chain(tokens, chosen, every)
            return kernels.follow_chain(tokens, bonus, lens, width)
        child, sibling = (self._matrix(name, which, width) for name in ("next_token", "next_sibling"))
        return kernels.walk_tree(tokens, child, sibling, chosen, width)

    def _matrix(self, name: str, which: Int64s, width: int) -> Int64s:
        return self.verifies.ragged(name).matrix(which, width)
