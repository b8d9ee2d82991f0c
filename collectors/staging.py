"""Values of device tensors on their way to the host, without a synchronisation of the engine's thread.

On the CPU a value is copied at once. On a GPU it waits until `send` is called, once or twice a step: then one launch
on the engine's own stream takes all that waits to pinned memory, and the writer thread asks whether it has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from speckv_debug.collectors.device_times import DeviceClock
from speckv_debug.collectors.outbox import Derived, Lost, Outbox, Staged

__all__ = [
    "Derived",
    "Later",
    "Lost",
    "Staged",
    "clock",
    "fingerprints",
    "is_capturing",
    "send",
    "stage",
    "stage_settled",
]

PREPARED_SLOTS = 64
_outboxes: dict[Any, Outbox] = {}
_words: dict[Any, np.dtype[Any]] = {}
"""NumPy's dtype of each torch dtype that consists of whole 32-bit words."""


class Later(Protocol):
    """A value that is there when `resolve()` is called."""

    def resolve(self) -> Any: ...


def stage(tensor: Any, *, settled: bool = False) -> Staged:
    """Take the values of an integer tensor; never waits for the device.

    Args:
        tensor: Any shape; on the CPU or on a CUDA device.
        settled: Nobody writes to it before the step's `send`, so that it needs no copy of its own until then.
    """
    if tensor.device.type == "cpu":
        return Staged(np.array(tensor.detach().reshape(-1).numpy(), copy=True))
    if not tensor.numel():
        return Staged(np.empty(0, np.int64))
    return _stage_on(_outbox(tensor.device), tensor, settled)


def stage_settled(tensors: Sequence[Any]) -> list[Staged | None]:
    """`stage(each, settled=True)` for many tensors of one device, None for None, in less host time."""
    device = next((tensor.device for tensor in tensors if tensor is not None), None)
    if device is None or device.type == "cpu":
        return [None if each is None else stage(each, settled=True) for each in tensors]
    outbox = _outbox(device)
    found: list[Staged | None] = []
    known, waiting, stream = outbox.known, outbox.waiting, outbox.device.stream()
    for tensor in tensors:
        if tensor is None:
            found.append(None)
            continue
        staged = known.get(id(tensor))
        if staged is None:
            dtype, count = _words.get(tensor.dtype), tensor.numel()
            if dtype is None or not count or not tensor.is_contiguous():
                staged = stage(tensor, settled=True)
            else:
                staged = known[id(tensor)] = Staged(None, count, dtype)
                waiting.append((staged, tensor, stream))
        found.append(staged)
    return found


def send(*, joined: bool = False) -> None:
    """Let what was staged leave, each value on the stream that made it; returns at once.

    Args:
        joined: The current stream already waits for every stream that staged something, so one launch takes all.
    """
    for outbox in _outboxes.values():
        outbox.send(joined=joined)


def clock(device: Any) -> DeviceClock:
    """A clock of the device's own times; waits once for the device, before an engine's first step."""
    if device.type == "cpu":
        return DeviceClock(on_host=True)
    return DeviceClock(on_host=False, query=_outbox(device).device.query)


def prepare(device: Any) -> None:
    """Have pinned memory and the packing kernel ready before an engine's first step."""
    if device.type != "cpu":
        outbox = _outbox(device)
        outbox.device.prepare()
        outbox.ring.prepare(PREPARED_SLOTS)


def _stage_on(outbox: Outbox, tensor: Any, settled: bool) -> Staged:
    if settled and (known := outbox.known.get(id(tensor))) is not None:
        return known
    dtype = _words.get(tensor.dtype)
    if settled and dtype is not None and tensor.is_contiguous():
        return outbox.add(tensor, dtype, settled=True) if tensor.numel() else Staged(np.empty(0, dtype))
    if outbox.device.is_capturing():
        return Staged()
    if dtype is None:
        return outbox.add(tensor.to(_long()).contiguous(), np.dtype(np.int64), settled=False)
    return outbox.add(_copied(tensor), dtype, settled=False)


def _outbox(device: Any) -> Outbox:
    outbox = _outboxes.get(device)
    if outbox is None:
        from speckv_debug.collectors.cuda_device import CudaDevice

        outbox = _outboxes[device] = Outbox(CudaDevice(device))
        _long()
    return outbox


def _long() -> Any:
    import torch

    if not _words:
        same = {torch.int32: np.int32, torch.int64: np.int64, torch.float32: np.float32}
        _words.update({ours: np.dtype(theirs) for ours, theirs in same.items()})
    return torch.int64


def _copied(tensor: Any) -> Any:
    import torch

    return tensor.clone(memory_format=torch.contiguous_format)


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
