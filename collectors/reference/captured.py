"""What a captured verify replays with: static buffers of a captured batch size."""

from __future__ import annotations

import torch
from torch import Tensor

CAPTURED_SIZES = (1, 2, 4, 8, 16)


def captured_size(size: int) -> int:
    """The smallest captured batch size that fits `size` requests."""
    return next((captured for captured in CAPTURED_SIZES if captured >= size), size)


class AddressBuffer:
    """The slots that a replayed verify writes to: refreshed before each replay, never reallocated."""

    def __init__(self, max_rows: int) -> None:
        """Room for `max_rows` verify rows, all padding."""
        self.slots = torch.zeros(max_rows, dtype=torch.int64)

    def refresh(self, out_cache_loc: Tensor, padded: int) -> Tensor:
        """Load this batch's `[n]` slots, zero the padding up to `padded` rows; returns the replay's `[padded]`."""
        self.slots[: len(out_cache_loc)] = out_cache_loc
        self.slots[len(out_cache_loc) : padded] = 0
        return self.slots[:padded]
