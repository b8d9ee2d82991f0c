"""What a captured verify replays with: static buffers of a captured batch size."""

from __future__ import annotations

import torch
from torch import Tensor

CAPTURED_SIZES = (1, 2, 4, 8, 16)


def captured_size(size: int) -> int:
    """The smallest captured batch size that fits `size` requests."""
    return next((captured for captured in CAPTURED_SIZES if captured >= size), size)


class StaticBuffer:
    """What a replayed verify finds at a fixed place, such as the slots that it writes to: refreshed before each replay."""

    def __init__(self, size: int) -> None:
        """Room for `size` values, all padding; never reallocated."""
        self.values = torch.zeros(size, dtype=torch.int64)

    def refresh(self, values: Tensor, padded: int) -> Tensor:
        """Load this batch's `[n]` values, zero the padding up to `padded`; returns the replay's `[padded]`."""
        self.values[: len(values)] = values
        self.values[len(values) : padded] = 0
        return self.values[:padded]
