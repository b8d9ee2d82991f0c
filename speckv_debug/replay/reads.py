"""How far each forward may attend, beside the positions that it computes and the length that its verify starts from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.not_said import not_said
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, frozen, mask
from speckv_debug.replay.same_step import keys_of, last_of_step
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.worthwhile import worth_compiling
from speckv_debug.replay.writes import of_drafter, padding_rows

TARGET = ("extend", "decode", "target_verify")
BLOCKS = ("dflash", "dspark")
"""Drafters that compute a block at once, which may be wider than what is verified of it."""

FROM_PREFIX = ("eagle", "eagle3", "nextn", "standalone")
"""Drafters whose first forward of a round is at the position that their verify begins at."""


class ForwardReads:
    """One instance a row of `forward` of a request that says how far it reads, or which positions it drafts.

    Attributes:
        target: Rows of the target; the others draft.
        accept: The verify of the same step and request row, -1 if there is none.
        not_said: Rows of the target that do not say how far they read.
    """

    reads = ("accept", "forward")
    columns_from = ("accept", "forward")
    rests_on: Mapping[str, tuple[str, ...]] = {"forward": ("mode", "row", "step"), "accept": ("row", "step")}

    def __init__(self, forward: Columns, verifies: VerifyBatch, info: Process, accept: Int64s) -> None:
        self.columns, self.verifies, self.info = forward, verifies, info
        padding = padding_rows(forward)
        drafting = forward.texts("mode").equal("draft", "draft_extend") | of_drafter(forward, info)
        of_target = forward.texts("mode").equal(*TARGET) & ~drafting
        told = forward.ints("read_len") != NULL
        drafted = drafting & (accept >= 0) & (told | forward.lists("positions").filled)
        self.index = np.flatnonzero(~padding & ((of_target & told) | drafted))
        self.not_said = not_said("forward", forward, "read_len", which=mask(of_target & ~padding))
        self.target, self.accept = mask(of_target[self.index]), accept[self.index]
        self.seq = forward.ints("seq")[self.index]

    def __len__(self) -> int:
        return len(self.index)

    def place(self, index: int) -> Place:
        """Where the row stands."""
        return place_of(self.columns, int(self.index[index]))

    def kind(self, index: int) -> str:
        """Forwards of the target and those of a drafter are different kinds."""
        return "target" if self.target[index] else "draft"

    @cached_property
    def verifying(self) -> Mask:
        """Forwards of a verify."""
        return self.columns.texts("mode").equal("target_verify")[self.index]

    @cached_property
    def positions(self) -> Ragged:
        """Position of each row of the forward."""
        return self.columns.lists("positions").take(self.index)

    @cached_property
    def count(self) -> Int64s:
        """Rows that the forward computes for the request, NULL if unknown."""
        found = np.full(len(self), NULL, dtype=np.int64)
        for name in ("positions", "tokens", "slots"):
            lists = self.columns.native(name)
            found = np.where(lists.present[self.index], lists.lengths[self.index], found)
        return found

    @cached_property
    def first(self) -> Int64s:
        """Position of the first row, NULL if unknown."""
        of_rows = self.positions.at(np.arange(len(self)), np.zeros(len(self), dtype=np.int64))
        return np.where(of_rows == NULL, self.columns.ints("start")[self.index], of_rows)

    @cached_property
    def end(self) -> Int64s:
        """Exclusive end of what the forward may attend to; of a draft that does not say it, behind its last position."""
        told = self.columns.ints("read_len")[self.index]
        if not (told == NULL).any():
            return told
        last = np.full(len(self), NULL, dtype=np.int64)
        np.maximum.at(last, self.positions.owners, self.positions.values)
        return np.where((told == NULL) & (last != NULL), last + 1, told)

    @cached_property
    def length(self) -> Int64s:
        """L of the verify of the same step, NULL if there is none."""
        return np.append(self.verifies.seq_len, NULL)[self.accept]

    @cached_property
    def due(self) -> Int64s:
        """Of the target: exclusive end of the prefix and the forward's own rows, NULL if unknown."""
        known = self.target & (self.first != NULL) & (self.count != NULL)
        return np.where(known, self.first + np.where(known, self.count, 0), NULL)

    @cached_property
    def widest(self) -> Int64s:
        """Of a draft: exclusive end of the window that its verify will have, NULL if unknown."""
        told = self.info.settings.get("num_draft_tokens")
        width = np.append(self.verifies.width, NULL)[self.accept]
        width = np.maximum(width, told) if isinstance(told, int) else width
        known = ~self.target & (self.length != NULL) & (width != NULL) & ~self.in_blocks
        return np.where(known, self.length + np.where(known, width, 0), NULL)

    @cached_property
    def leading(self) -> Mask:
        """First drafts of a round, as far as recorded, of drafters that go on from the end of the prefix."""
        drafts = self._steps
        _, first = np.unique(self.accept[drafts], return_index=True)
        found = np.zeros(len(self), dtype=np.bool_)
        found[drafts[first]] = True
        return found

    @cached_property
    def all_drafted(self) -> Mask:
        """Drafts of a round whose draft steps are all recorded, so that the first one is the first.

        SGLang 0.5.12 to 0.5.23 `EagleDraftWorker.draft_forward` runs the draft model `num_steps` - 1 times.
        """
        steps = self.info.settings.get("num_steps")
        counts = np.bincount(self.accept[self._steps], minlength=len(self.verifies) + 1)
        return mask(
            (self.accept >= 0) & (counts[self.accept] == (steps - 1 if isinstance(steps, int) else -1))
        )

    @cached_property
    def _steps(self) -> Int64s:
        """Draft steps of such drafters."""
        eagle = np.append(self.verifies.of("algorithm", *FROM_PREFIX), False)[self.accept]
        return np.flatnonzero(self.columns.texts("mode").equal("draft")[self.index] & eagle & ~self.target)

    @cached_property
    def in_blocks(self) -> Mask:
        """Drafts whose block may be wider than their verify."""
        return mask(np.append(self.verifies.of("algorithm", *BLOCKS), False)[self.accept])

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """The row and the verify of its step; of a first draft, what may be missing right before it too."""
        verify = np.append(self.verifies.seq, 0)[self.accept]
        verify = np.where(self.accept < 0, self.seq, verify)
        return np.minimum(self.seq - self.leading, verify), np.maximum(self.seq, verify)


def verify_of(forward: Columns, verifies: VerifyBatch) -> Int64s:
    """For each row of `forward` the verify of its step and request row, -1 if there is none."""
    if worth_compiling(len(verifies)):
        from speckv_debug.replay.readers_compiled import verifies_of

        columns = (verifies.step, verifies.row, forward.ints("step"), forward.ints("row"))
        found = verifies_of(*(frozen(column) for column in columns))
        if len(found) == len(forward):
            return np.asarray(found, dtype=np.int64)
    rows = np.concatenate((verifies.row, forward.ints("row")))
    keys = keys_of(rows, np.concatenate((verifies.step, forward.ints("step"))))
    return last_of_step(keys[: len(verifies)], keys[len(verifies) :])
