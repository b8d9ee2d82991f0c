"""Values of device tensors on their way to the host, without a synchronisation of the engine's thread.

On the CPU a value is copied at once. On a GPU it waits until `send` is called, once or twice a step: then one launch
on the engine's own stream takes all that waits to pinned memory, and the writer thread asks whether it has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, methodcaller
from typing import Any, Protocol

import numpy as np

from speckv_debug.collectors.device_times import DeviceClock
from speckv_debug.collectors.outbox import Derived, Lost, Outbox, Staged
from speckv_debug.collectors.parcels import EMPTY, Load

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
    "stage",
    "stage_all",
    "stage_windows",
]

PREPARED_SLOTS = 64
_outboxes: dict[Any, Outbox] = {}
_words: dict[Any, np.dtype[Any]] = {}
"""NumPy's dtype of each torch dtype that consists of whole 32-bit words."""
_word = _words.__getitem__
_kind_of = attrgetter("dtype")
_is_away = attrgetter("is_cuda")
_count_of: Any = methodcaller("numel")
_is_contiguous: Any = methodcaller("is_contiguous")


class Later(Protocol):
    """A value that is there when `resolve()` is called."""

    def resolve(self) -> Any: ...


def stage(tensor: Any, *, settled: bool = False) -> Staged:
    """Take the values of an integer tensor; never waits for the device.

    Args:
        tensor: Any shape; on the CPU or on a CUDA device.
        settled: Nobody writes to it before the step's `send`, so that it needs no copy of its own until then.
    """
    if not _is_away(tensor):
        return Staged(np.array(tensor.detach().reshape(-1).numpy(), copy=True))
    if not tensor.numel():
        return Staged(np.empty(0, np.int64))
    return _stage_on(_outbox(tensor.device), tensor, settled)


def stage_all(tensors: Sequence[Any]) -> tuple[Load, Sequence[int | None]]:
    """Take many settled tensors of one device together: what they leave with, and the place of each in it.

    Args:
        tensors: As for `stage`; None has no place. The first one is none.
    """
    if not _is_away(tensors[0]):
        return _stage_here(tensors)
    outbox = _outbox(tensors[0].device)
    try:
        counts, kinds = list(map(_count_of, tensors)), list(map(_word, map(_kind_of, tensors)))
    except (AttributeError, KeyError, TypeError):  # no tensor, or one of other words
        return _stage_each(outbox, tensors)
    if not all(counts) or not all(map(_is_contiguous, tensors)):
        return _stage_each(outbox, tensors)
    load, first = outbox.add_all(tensors, counts, kinds)
    return load, range(first, first + len(counts))


def _stage_here(tensors: Sequence[Any]) -> tuple[Load, Sequence[int | None]]:
    there = [each for each in tensors if each is not None]
    values = [np.array(each.detach().reshape(-1).numpy(), copy=True) for each in there]
    return Load(values), _places(tensors, range(len(there)))


def _stage_each(outbox: Outbox, tensors: Sequence[Any]) -> tuple[Load, Sequence[int | None]]:
    """Those that are not contiguous whole words are made so first."""
    there = [_as_words(each) for each in tensors if each is not None]
    full = [each for each in there if each.numel()]
    if not full:
        return Load([]), _places(tensors, [EMPTY] * len(there))
    counts, kinds = list(map(_count_of, full)), [_words[each.dtype] for each in full]
    load, first = outbox.add_all(full, counts, kinds)
    after = iter(range(first, first + len(full)))
    places = [next(after) if each.numel() else EMPTY for each in there]
    return load, _places(tensors, places)


def _places(tensors: Sequence[Any], places: Sequence[int]) -> list[int | None]:
    rest = iter(places)
    return [None if each is None else next(rest) for each in tensors]


def _as_words(tensor: Any) -> Any:
    return (tensor if tensor.dtype in _words else tensor.to(_long())).contiguous()


def send(*, joined: bool = False) -> None:
    """Let what was staged leave, each value on the stream that made it; returns at once.

    Args:
        joined: The current stream already waits for every stream that staged something, so one launch takes all.
    """
    for outbox in _outboxes.values():
        outbox.send(joined=joined)


def stage_windows(table: Any, rows: Any, starts: Any, width: int) -> Staged | None:
    """`table[row, start : start + width]` of each row as it stands now, flat; None where torch has to gather it.

    Args:
        table: [rows, columns] int32.
        rows: [n], on the table's device.
        starts: [n], on that device.
        width: Entries of each; what would lie past the end of a row repeats its last one.
    """
    if not _is_away(table):
        return None
    outbox = _outbox(table.device)
    found = outbox.device.windows(table, rows, starts, width)
    if found is None:
        return None
    count = len(rows) * width
    return Staged(None, count, *outbox.add_all((found,), [count], [_words[found.dtype]]))


def clock(device: Any) -> DeviceClock:
    """A clock of the device's own times; waits once for the device, before an engine's first step."""
    if device.type == "cpu":
        return DeviceClock(on_host=True)
    return DeviceClock(on_host=False, query=_outbox(device).device.query)


def prepare(device: Any) -> None:
    """Have pinned memory and the packing kernel ready before an engine's first step."""
    if device.type != "cpu":
        outbox = _outbox(device)
        outbox.device.prepare(outbox.ring.prepare(PREPARED_SLOTS))


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

    global _count_of, _is_contiguous
    if not _words:
        _count_of, _is_contiguous = torch.Tensor.numel, torch.Tensor.is_contiguous  # called without a look-up
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
