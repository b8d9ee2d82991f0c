"""All tokens that forwards compute, as one scope: what was handed on to the target, and what follows from other events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.chunk_tails import ChunkTails
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import Int64s, Mask, mask
from speckv_debug.replay.stored_tokens import StoredTokens
from speckv_debug.replay.written_tokens import WrittenTokens


class Tokens:
    """The instances of `WrittenTokens`, `StoredTokens` and `ChunkTails` in the order of `seq`."""

    reads = ("accept", "forward", "lengths", "release")
    columns_from = reads
    rests_on: Mapping[str, tuple[str, ...]] = {**WrittenTokens.rests_on, **StoredTokens.rests_on}

    def __init__(self, written: WrittenTokens, stored: StoredTokens, tails: ChunkTails) -> None:
        self.written, self.stored, self.tails, self.info = written, stored, tails, written.info
        self._parts: tuple[WrittenTokens | StoredTokens | ChunkTails, ...] = (written, stored, tails)
        seq = np.concatenate([part.seq for part in self._parts])
        self._order = np.argsort(seq, kind="stable")
        self.seq = seq[self._order]

    def __len__(self) -> int:
        return len(self._order)

    def part(self, index: int) -> tuple[int, int]:
        """Which part an instance is of, numbered in the order above, and its index there."""
        at = int(self._order[index])
        for number, part in enumerate(self._parts):
            if at < len(part):
                return number, at
            at -= len(part)
        raise IndexError(index)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        number, at = self.part(index)
        return self._parts[number].place(at)

    def kind(self, index: int) -> str:
        """Verifies, forwards, rows of verifies and of drafters are different kinds."""
        number, at = self.part(index)
        if number == 0:
            return self.written.kind(at)
        return "rows" if number == 1 and self.stored.verify[at] else "draft"

    def masks(self, *of_parts: Mask) -> Mask:
        """A mask over each of the first parts; none of the others."""
        rest = [np.zeros(len(part), dtype=np.bool_) for part in self._parts[len(of_parts) :]]
        return mask(np.concatenate((*of_parts, *rest))[self._order])

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """Those of the parts."""
        spans = [part.spans for part in self._parts]
        first, last = (np.concatenate([span[k] for span in spans])[self._order] for k in range(2))
        return first, last
