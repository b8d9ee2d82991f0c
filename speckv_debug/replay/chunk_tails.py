"""What a drafter stores at the end of a chunk of a prompt, beside the token that the next chunk begins with."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.engine_version import TAIL_OF_CHUNK, sglang_version
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.stored_tokens import Wrong
from speckv_debug.replay.target_writes import TargetWrites


class ChunkTails:
    """One instance an extend of the target that goes on where the life's last one behind which nothing was sampled ended.

    None where the drafter is not one token ahead, and in SGLang before 0.5.13, which stores what the chunk sampled.

    Attributes:
        index: The row of `forward` with what the drafter stored of the chunk before.
        seq: Of the extend that goes on.
    """

    def __init__(self, writes: TargetWrites) -> None:
        self._writes, self.forward = writes, writes.forward
        version = sglang_version(writes.info)
        ahead = writes.info.settings.get("draft_token_offset") == 1
        known = ahead and (version is None or version >= TAIL_OF_CHUNK)
        self._next, self.index = self._pairs() if known else (np.empty(0, dtype=np.int64),) * 2
        self.seq = self.forward.ints("seq")[self._next]

    def __len__(self) -> int:
        return len(self.index)

    def place(self, index: int) -> Place:
        """Where what was stored stands."""
        return place_of(self.forward, int(self.index[index]))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From what was stored to the extend that goes on."""
        return self.forward.ints("seq")[self.index], self.seq

    @cached_property
    def due(self) -> Int64s:
        """The token that the next chunk begins with, NULL if unknown."""
        return self.forward.lists("tokens").at(self._next, np.zeros_like(self._next))

    @cached_property
    def stored(self) -> Int64s:
        """The last token that the drafter stored, NULL if unknown."""
        tokens = self.forward.lists("tokens")
        return tokens.at(self.index, tokens.lengths[self.index] - 1)

    @property
    def wrong(self) -> Mask:
        """Another token is due."""
        return mask((self.due != NULL) & (self.stored != NULL) & (self.due != self.stored))

    def row(self, index: int) -> Wrong:
        """What is wrong."""
        row, position = int(self.index[index]), int(self.forward.ints("start")[self._next[index]]) - 1
        last = int(self.forward.lists("tokens").lengths[row]) - 1
        return last, position, int(self.stored[index]), int(self.due[index])

    def _pairs(self) -> tuple[Int64s, Int64s]:
        """Rows of `forward`: an extend that goes on, and what the drafter stored of the chunk before it."""
        forward, lives = self.forward, self._writes.lengths.lives
        life, seq, start = lives.of("forward"), forward.ints("seq"), forward.ints("start")
        drafting, mode = self._writes.drafting, forward.texts("mode")
        extend = mode.equal("extend") & ~drafting & (life >= 0)
        stored = drafting & mode.equal("extend", "draft_extend")
        rows = np.flatnonzero(extend)
        before = lives.before("forward", seq[rows], life[rows], extend)
        tail = lives.before("forward", seq[rows], life[rows], stored)
        end = np.append(start + forward.lists("tokens").lengths, NULL)[before]
        unsampled = np.append(forward.ints("next_token"), 0)[before] == NULL
        goes_on = (before >= 0) & (tail >= 0) & unsampled & (start[rows] != NULL) & (start[rows] == end)
        goes_on &= np.append(seq, NULL)[tail] > np.append(seq, NULL)[before]
        return rows[goes_on], tail[goes_on]
