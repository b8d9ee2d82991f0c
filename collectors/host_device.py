"""The CPU as `parcels.Device`: what leaves is there at once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from speckv_debug.collectors.parcels import Plan, Slot

ONLY_STREAM = 0


class HostDevice:
    """One stream, nothing to wait for."""

    most = 1 << 20

    def prepare(self, slots: Sequence[Slot] = ()) -> None:
        """Nothing is needed."""

    def stream(self) -> int:
        """The only one."""
        return ONLY_STREAM

    def on(self, stream: int) -> AbstractContextManager[Any]:
        """Nothing changes."""
        return nullcontext()

    def is_capturing(self) -> bool:
        """Never."""
        return False

    def addresses(self, tensors: Sequence[Any]) -> list[int]:
        """Where each tensor lies, 0 for one without values."""
        return [tensor.data_ptr() if tensor.numel() else 0 for tensor in tensors]

    def launch(self, tensors: Sequence[Any], plan: Plan, slot: Slot, stream: int) -> None:
        """Copy now."""
        for tensor, start, size in zip(tensors, plan.starts, plan.sizes, strict=True):
            slot.memory[start : start + size] = tensor.detach().reshape(-1).view(torch.uint8)

    def windows(self, table: Any, rows: Any, starts: Any, width: int) -> Any:
        """Torch gathers them."""
        return None

    def pinned(self, size: int) -> Any:
        """Memory."""
        return torch.empty(size, dtype=torch.uint8)

    def event(self) -> Any:
        """No event is needed."""
        return None

    def record(self, event: Any, stream: int) -> None:
        """Nothing is under way."""

    def query(self, event: Any) -> bool:
        """Done."""
        return True
