"""Values of device tensors on their way to the host, without a synchronisation of the engine's thread.

On a GPU, or another accelerator, a value waits until `send` is called, or `step` often enough: then one launch on the engine's own stream takes all
that waits to pinned memory, and the writer thread asks whether it has arrived. On the CPU a value is copied at once; only
groups, which may wait for those of the next steps, do so there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Protocol

import numpy as np

from speckv_debug.collectors.device_times import DeviceClock
from speckv_debug.collectors.loads import EMPTY, Load
from speckv_debug.collectors.outbox import Outbox
from speckv_debug.collectors.parcels import Device, Lost
from speckv_debug.collectors.staged import Derived, Staged
from speckv_debug.collectors.words import KINDS, as_words, long

__all__ = [
    "Derived",
    "Later",
    "Load",
    "Lost",
    "Staged",
    "clock",
    "fingerprints",
    "is_capturing",
    "send",
    "send_hurried",
    "stage",
    "stage_all",
    "stage_group",
    "stage_windows",
    "step",
]

PREPARED_SLOTS = 128
_outboxes: dict[Any, Outbox] = {}
_is_here = attrgetter("is_cpu")


class Later(Protocol):
    """A value that is there when `resolve()` is called."""

    def resolve(self) -> Any: ...


def stage(tensor: Any, *, settled: bool = False) -> Staged:
    """Take the values of an integer tensor; never waits for the device.

    Args:
        tensor: Any shape; on the CPU or on a device that torch has a module for.
        settled: Nobody writes to it before the step's `send`, so that it needs no copy of its own until then.
    """
    if _is_here(tensor):
        return Staged(np.array(tensor.detach().reshape(-1).numpy(), copy=True))
    if not tensor.numel():
        return Staged(np.empty(0, np.int64))
    return _stage_on(_outbox(tensor.device), tensor, settled)


def stage_all(tensors: Sequence[Any]) -> tuple[Load, Sequence[int | None]]:
    """Take many settled tensors of one device together: what they leave with, and the place of each in it.

    Args:
        tensors: As for `stage`; None has no place. The first one is none.
    """
    there = [each for each in tensors if each is not None]
    if _is_here(tensors[0]):
        load = Load([np.array(each.detach().reshape(-1).numpy(), copy=True) for each in there])
        return load, _places(tensors, range(len(there)))
    long()
    full = [as_words(each) for each in there if each.numel()]
    load, first = _outbox(tensors[0].device).add_all(full) if full else (Load([]), 0)
    after = iter(range(first, first + len(full)))
    return load, _places(tensors, [next(after) if each.numel() else EMPTY for each in there])


def stage_group(kind: str, tensors: Sequence[Any]) -> tuple[Load, range]:
    """Take tensors that nobody writes to while they are held: they leave later, with those of other steps.

    Args:
        kind: What they are, for the engine may keep one of them for all steps: then they don't wait.
        tensors: As for `stage`, of one device, none of them None.
    """
    outbox = _outboxes.get(tensors[0].device) or _outbox(tensors[0].device)
    return outbox.add_group(kind, tensors)


def _places(tensors: Sequence[Any], places: Sequence[int]) -> list[int | None]:
    rest = iter(places)
    return [None if each is None else next(rest) for each in tensors]


def step(*, joined: bool = False) -> None:
    """A step is through: let what was staged leave now, or with what the next ones stage; returns at once.

    Args:
        joined: As for `send`.
    """
    for outbox in _outboxes.values():
        outbox.step(joined=joined)


def send(*, joined: bool = False) -> None:
    """Let what was staged leave, each value on the stream that made it; returns at once.

    Args:
        joined: The current stream already waits for every stream that staged something, so one launch takes all.
    """
    for outbox in _outboxes.values():
        outbox.send(joined=joined)


def send_hurried() -> None:
    """Let what was staged leave if some of it may not wait for what next steps stage; returns at once."""
    for outbox in _outboxes.values():
        outbox.send_hurried()


def stage_windows(table: Any, rows: Any, starts: Any, width: int) -> Staged | None:
    """`table[row, start : start + width]` of each row as it stands now, flat; None where torch has to gather it.

    Args:
        table: [rows, columns] int32.
        rows: [n], on the table's device.
        starts: [n], on that device.
        width: Entries of each; what would lie past the end of a row repeats its last one.
    """
    if _is_here(table):
        return None
    outbox = _outbox(table.device)
    found = outbox.device.windows(table, rows, starts, width)
    if found is None:
        return None
    count = len(rows) * width
    return Staged(None, count, *outbox.add_all((found,), patient=True))


def clock(device: Any) -> DeviceClock:
    """A clock of the device's own times; waits once for the device, before an engine's first step."""
    if device.type == "cpu":
        return DeviceClock(on_host=True)
    return DeviceClock(on_host=False, query=_outbox(device).device.query, kind=device.type)


def prepare(device: Any) -> None:
    """Have pinned memory and the packing kernel ready before an engine's first step."""
    if device.type != "cpu":
        outbox = _outbox(device)
        outbox.device.prepare(outbox.ring.prepare(PREPARED_SLOTS))


def _stage_on(outbox: Outbox, tensor: Any, settled: bool) -> Staged:
    if settled and (known := outbox.known.get(id(tensor))) is not None:
        return known
    dtype = KINDS.get(tensor.dtype)
    if settled and dtype is not None and tensor.is_contiguous():
        return outbox.add(tensor, settled=True) if tensor.numel() else Staged(np.empty(0, dtype))
    if outbox.device.is_capturing():
        return Staged()
    return outbox.add(as_words(tensor) if dtype is None else _copied(tensor), settled=False)


def _outbox(device: Any) -> Outbox:
    outbox = _outboxes.get(device)
    if outbox is None:
        long()
        outbox = _outboxes[device] = Outbox(_device(device))
    return outbox


def _device(device: Any) -> Device:
    if device.type == "cpu":
        from speckv_debug.collectors.host_device import HostDevice

        return HostDevice()
    if device.type == "cuda":
        from speckv_debug.collectors.cuda_device import CudaDevice

        return CudaDevice(device)
    from speckv_debug.collectors.other_device import OtherDevice

    return OtherDevice(device)


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
