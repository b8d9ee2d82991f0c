"""How positions are compressed: which of them an entry stands for, and what a compressor makes of their states.

A position has a state of two halves: what it brings, and how much it weighs, channel by channel. An entry is the softmax
of the weights over its window, applied to what they bring (DeepSeek-V4; SGLang `CompressStatePool`, `c4_v2.cuh`,
`c128_v2.cuh`). A state of 0 and -inf weighs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

C4_RING, C128_RING = 16, 256
"""Rows of state, as with speculation in SGLang: a page of C4's, a request's of C128."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compression:
    """One of the two compressors.

    Attributes:
        name: Of the pool of entries.
        ratio: Positions an entry stands for.
        window: Positions that it is made of, the last `ratio` its own.
        parts: Halves of a state that are used in turn: C4 looks at each position twice, by another part.
        pending: Rows also attend to the entry of the group that is not complete yet.
    """

    name: str
    ratio: int
    window: int
    parts: int
    pending: bool

    @property
    def state(self) -> str:
        """Name of the pool of states."""
        return f"{self.name}_state"

    def ends(self, positions: Tensor) -> Tensor:
        """Which positions complete a group."""
        return positions % self.ratio == self.ratio - 1

    def first(self, positions: Tensor) -> Tensor:
        """Where the window of the group of each position begins, below 0 at the front of a sequence."""
        return (positions // self.ratio + 1) * self.ratio - self.window

    def part(self, offset: Tensor) -> Tensor:
        """Which part of a state counts at an offset in the window."""
        return offset.clamp(0, self.window - 1) * self.parts // self.window


C4 = Compression(name="c4", ratio=4, window=8, parts=2, pending=False)
C128 = Compression(name="c128", ratio=128, window=128, parts=1, pending=True)
