"""A CUDA device as `outbox.Device`: the packing kernel where Triton is, else one asynchronous copy a tensor."""

# mypy: allow-untyped-calls
from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

PREPARED_SLOTS = 64


class CudaDevice:
    """One GPU.

    Args:
        device: Its torch device, with an index.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._index = 0 if device.index is None else device.index
        self._streams: dict[int, Any] = {}
        self._thread = threading.local()
        self._thread.chosen = True  # the engine's thread has chosen its device itself
        self._capturing: Any = torch.cuda.is_current_stream_capturing
        self._current: Any = torch._C._cuda_getCurrentRawStream
        self._pack = _packing_kernel()

    def prepare(self) -> None:
        """Have the kernel compiled before the engine's first step."""
        values = [torch.zeros(1, dtype=torch.int32, device=self._device)] * 33
        memory = self.pinned(16 * len(values))
        for count in (16, 32, 33):
            self.launch(values[:count], [16 * place for place in range(count)], [4] * count, memory)
        torch.cuda.synchronize(self._device)

    def stream(self) -> int:
        """The current stream's handle."""
        return int(self._current(self._index))

    def on(self, stream: int) -> AbstractContextManager[Any]:
        """Make a stream the current one."""
        return torch.cuda.stream(self._stream(stream))

    def is_capturing(self) -> bool:
        """Whether the current stream is being captured."""
        return bool(self._capturing())

    def launch(
        self, tensors: Sequence[Any], starts: Sequence[int], sizes: Sequence[int], memory: Any
    ) -> None:
        """One launch that writes straight into the pinned memory."""
        if self._pack is not None:
            self._pack(tensors, sizes, memory)
            return
        for tensor, start in zip(tensors, starts, strict=True):
            flat = tensor.reshape(-1).view(torch.uint8)
            memory[start : start + flat.numel()].copy_(flat, non_blocking=True)

    def pinned(self, size: int) -> Any:
        """Page-locked memory, which kernels may write to."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def event(self) -> Any:
        """An event without times."""
        return torch.cuda.Event()

    def record(self, event: Any, stream: int) -> None:
        """Record an event."""
        event.record(self._stream(stream))

    def query(self, event: Any) -> bool:
        """Whether an event is done. Another thread begins on device 0, where asking may make a context."""
        if not getattr(self._thread, "chosen", False):
            torch.cuda.set_device(self._device)
            self._thread.chosen = True
        return bool(event.query())

    def _stream(self, handle: int) -> Any:
        if handle not in self._streams:
            current = torch.cuda.current_stream(self._device)
            known = current if current.cuda_stream == handle else None
            self._streams[handle] = known or torch.cuda.ExternalStream(handle, device=self._device)
        return self._streams[handle]


def _packing_kernel() -> Any:
    """None where Triton is missing."""
    try:
        from speckv_debug.kernels.pack_triton import pack_words
    except ImportError:
        return None
    return pack_words
