"""Values of device tensors on their way to the host, without a synchronisation of the engine's thread.

On the CPU a value is copied at once. On a GPU a copy into a pinned buffer is queued on the current
stream, the stream that made the value, and whoever calls `resolve()` (the writer thread) waits for it.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]


class Later(Protocol):
    """A value that is there when `resolve()` is called."""

    def resolve(self) -> Any: ...


class Staged:
    """A tensor's values as they were when `stage` was called, flattened."""

    def __init__(self, values: Values | None, transfer: _Transfer | None = None) -> None:
        self._values = values
        self._transfer = transfer
        self._lock = threading.Lock()

    def ready(self) -> bool:
        """Whether `resolve` returns without waiting."""
        return self._transfer is None or self._transfer.done()

    def resolve(self) -> Values:
        """The values as a flat array; waits for the copy."""
        with self._lock:
            if self._transfer is not None:
                self._values, self._transfer = self._transfer.take(), None
        assert self._values is not None
        return self._values

    def part(self, start: int, stop: int) -> Derived:
        """The values `[start, stop)`."""
        return Derived(lambda: self.resolve()[start:stop], self.ready)

    def item(self, index: int) -> Derived:
        """One value as an integer."""
        return Derived(lambda: int(self.resolve()[index]), self.ready)


class Derived:
    """A value worked out from staged ones by whoever resolves it."""

    def __init__(self, make: Callable[[], Any], ready: Callable[[], bool] = lambda: True) -> None:
        self._make = make
        self.ready = ready

    def resolve(self) -> Any:
        """The value."""
        return self._make()


def stage(tensor: Any) -> Staged:
    """Take the values of an integer tensor; never waits for the device.

    Args:
        tensor: Any shape; on the CPU or on a CUDA device.
    """
    flat = tensor.detach().reshape(-1)
    if flat.device.type == "cpu":
        return Staged(np.array(flat.numpy(), copy=True))
    return Staged(None, _Transfer(flat))


def fingerprints(rows: Any) -> Any:
    """One int64 a row of a 2-D tensor, equal for equal bytes; on the tensor's own device, no synchronisation.

    The sum of the row's 16-bit words, each times an odd weight of its place, modulo 2^64.
    """
    import torch

    words = rows.detach().contiguous().view(torch.int16).to(torch.int64)
    weights = torch.arange(1, 2 * words.shape[1], 2, device=words.device, dtype=torch.int64)
    return (words * (weights * 0x9E3779B97F4A7C1 + 1)).sum(dim=1)


def is_capturing() -> bool:
    """Whether a CUDA graph is being captured on the current stream: then nothing may be copied."""
    import torch

    cuda: Any = torch.cuda
    return bool(cuda.is_initialized() and cuda.is_current_stream_capturing())


class _Transfer:
    """One copy to a pinned buffer; the device tensor is held until the copy is done."""

    def __init__(self, flat: Any) -> None:
        import torch

        cuda: Any = torch.cuda
        _let_go()
        self._source, self._count, self._device = flat, flat.numel(), flat.device
        self._maker = threading.get_ident()
        self._host = _pinned.borrow(self._count, flat.dtype)
        self._host[: self._count].copy_(flat, non_blocking=True)
        self._event: Any = cuda.Event()
        self._event.record()
        _copying.append(weakref.ref(self))

    def done(self) -> bool:
        """Whether the copy is done; the device tensor is then let go."""
        self._be_on_its_device()
        if self._event.query():
            self._source = None
            return True
        return False

    def take(self) -> Values:
        """Wait for the copy, and give the buffer back."""
        self._be_on_its_device()
        self._event.synchronize()
        self._source = None
        values = np.array(self._host[: self._count].numpy(), copy=True)
        _pinned.give_back(self._host)
        return values

    def _be_on_its_device(self) -> None:
        """The writer thread begins on device 0, where asking for an event of another one may make a context."""
        if threading.get_ident() != self._maker and getattr(_thread, "device", None) != self._device:
            import torch

            torch.cuda.set_device(self._device)
            _thread.device = self._device


_thread = threading.local()
_copying: deque[weakref.ref[_Transfer]] = deque()
"""Copies whose device tensor may still be held, oldest first."""


def _let_go() -> None:
    """Let go the device tensors of copies that are done, however far behind the writer is; waits for nothing."""
    while _copying:
        transfer = _copying[0]()
        if transfer is not None and not transfer.done():
            return
        _copying.popleft()


class _PinnedBuffers:
    """Pinned buffers for reuse, by size class and dtype: making one costs more than a copy."""

    def __init__(self) -> None:
        self._free: dict[tuple[int, Any], list[Any]] = {}
        self._lock = threading.Lock()

    def borrow(self, count: int, dtype: Any) -> Any:
        size = max(64, 1 << max(0, count - 1).bit_length())
        with self._lock:
            waiting = self._free.get((size, dtype))
            if waiting:
                return waiting.pop()
        import torch

        return torch.empty(size, dtype=dtype, pin_memory=True)

    def give_back(self, buffer: Any) -> None:
        with self._lock:
            self._free.setdefault((buffer.numel(), buffer.dtype), []).append(buffer)


_pinned = _PinnedBuffers()
