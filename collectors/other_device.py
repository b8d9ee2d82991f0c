"""Any other accelerator as `parcels.Device` (an NPU, by `torch.npu`): one asynchronous copy a tensor, by the streams of its module."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from speckv_debug.collectors.copies import MOST_COPIES, copy_each
from speckv_debug.collectors.parcels import Plan, Slot


class OtherDevice:
    """One device that torch has a module for: streams and events have the names that they have in `torch.cuda`.

    Args:
        device: Its torch device.
    """

    most = MOST_COPIES

    def __init__(self, device: torch.device) -> None:
        self._device, self._module = device, torch.get_device_module(device.type)
        self._streams: dict[int, Any] = {}
        self._thread = threading.local()
        self._thread.chosen = True  # the engine's thread has chosen its device itself

    def prepare(self, slots: Sequence[Slot] = ()) -> None:
        """Nothing has to be compiled."""

    def stream(self) -> int:
        """The current stream, by its number."""
        current = self._module.current_stream(self._device)
        number = int(current.stream_id)
        self._streams[number] = current
        return number

    def on(self, stream: int) -> AbstractContextManager[Any]:
        """Make a stream the current one."""
        self._choose()
        made: AbstractContextManager[Any] = self._module.stream(self._streams[stream])
        return made

    def is_capturing(self) -> bool:
        """Whether the current stream is being captured into a graph, where the module can say so."""
        asked = getattr(self._module, "is_current_stream_capturing", None)
        return bool(asked is not None and asked())

    def addresses(self, tensors: Sequence[Any]) -> list[int]:
        """Where each tensor lies, 0 for one without values."""
        return [tensor.data_ptr() if tensor.numel() else 0 for tensor in tensors]

    def launch(self, tensors: Sequence[Any], plan: Plan, slot: Slot, stream: int) -> None:
        """Queue one copy for each."""
        copy_each(tensors, plan, slot)

    def windows(self, table: Any, rows: Any, starts: Any, width: int) -> Any:
        """Torch gathers them."""
        return None

    def pinned(self, size: int) -> Any:
        """Page-locked memory."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def event(self) -> Any:
        """An event without times."""
        return self._module.Event()

    def record(self, event: Any, stream: int) -> None:
        """Record an event."""
        event.record(self._streams[stream])

    def query(self, event: Any) -> bool:
        """Whether an event is done."""
        self._choose()
        return bool(event.query())

    def _choose(self) -> None:
        """Another thread has chosen no device yet."""
        if not getattr(self._thread, "chosen", False):
            self._module.set_device(self._device)
            self._thread.chosen = True
