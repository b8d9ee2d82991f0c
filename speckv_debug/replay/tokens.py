"""All tokens that forwards compute, as one scope: what was handed on to the target, and what follows from other events."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.chunk_tails import ChunkTails
from speckv_debug.replay.ragged import Mask, mask
from speckv_debug.replay.stored_tokens import StoredTokens
from speckv_debug.replay.uncomputed import Uncomputed
from speckv_debug.replay.united import United
from speckv_debug.replay.written_tokens import WrittenTokens


class Tokens(United):
    """The instances of `WrittenTokens`, then those of `StoredTokens`, of `ChunkTails` and of `Uncomputed`."""

    def __init__(
        self, written: WrittenTokens, stored: StoredTokens, tails: ChunkTails, uncomputed: Uncomputed
    ) -> None:
        super().__init__(written, stored, tails, uncomputed)
        self.written, self.stored, self.tails, self.uncomputed = written, stored, tails, uncomputed

    def masks(self, *of_parts: Mask) -> Mask:
        """A mask over each of the first parts; none of the others."""
        rest = [np.zeros(len(part), dtype=np.bool_) for part in self.parts[len(of_parts) :]]
        return mask(np.concatenate((*of_parts, *rest)))
