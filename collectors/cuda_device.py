"""A CUDA device as `parcels.Device`: the carrying kernel where Triton is, else one asynchronous copy a tensor."""

# mypy: allow-untyped-calls
from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from struct import Struct
from typing import Any

import numpy as np
import torch

from speckv_debug.collectors.copies import MOST_COPIES, copy_each
from speckv_debug.collectors.parcels import Plan, Slot

WORD = 4
BLOCKS_A_PROGRAM = 32
address_of: Any = torch.Tensor.data_ptr
log = logging.getLogger("speckv_debug")


class _Header:
    """A slot's table of what is to be copied there, and how the driver is told of both.

    Attributes:
        plan: The plan whose sizes and places stand in the table.
    """

    __slots__ = ("arguments", "memory", "plan", "words")

    def __init__(self, memory: Any, arguments: Any) -> None:
        self.memory, self.arguments = memory, arguments
        self.words = memory.numpy()
        self.plan: Plan | None = None


class _Told:
    """A plan as the table has it: one packing of all addresses, one of all sizes and places in 32-bit words."""

    __slots__ = ("addresses", "height", "places", "words")

    def __init__(self, plan: Plan, kernels: Any) -> None:
        count, rest = len(plan.sizes), kernels.MOST - len(plan.sizes)
        words = [size // WORD for size in plan.sizes]
        self.addresses = Struct(f"{count}q").pack_into
        self.places = Struct(f"{count}q{8 * rest}x{count}q").pack_into
        self.words = (*words, *(start // WORD for start in plan.starts))
        self.height = max(1, min(16, max(words) // (BLOCKS_A_PROGRAM * kernels.BLOCK)))


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
        self.is_capturing: Any = torch._C._cuda_isCurrentStreamCapturing
        self.stream: Any = partial(torch._C._cuda_getCurrentRawStream, self._index)
        self._kernels = _kernels()
        self.most = self._kernels.MOST if self._kernels else MOST_COPIES
        self._direct: Any = None
        self._windows: Any = None

    def prepare(self, slots: Sequence[Slot] = ()) -> None:
        """Have the kernel compiled, tried and each slot's table ready before the engine's first step."""
        if self._kernels is None:
            return
        given = torch.arange(7, dtype=torch.int32, device=self._device)
        plan = Plan([7, 7], [np.dtype(np.int32)] * 2)
        slot = Slot(self, self.pinned(plan.room))
        header = self._header_of(slot)
        self._direct = self._launcher(header, slot)
        for each in slots:
            self._header_of(each)
        slot.header = None  # again, with the arguments that the driver is told
        self.launch([given, given], plan, slot, self.stream())
        torch.cuda.synchronize(self._device)
        arrived = [slot.bytes[start : start + 28].view(np.int32).tolist() for start in plan.starts]
        if arrived != [list(range(7))] * 2:
            log.warning("speckv-debug: the packing kernel is not used here: it delivered %s", arrived)
            self._kernels = None
        if self._direct is not None:
            self._windows = _windows(self._device)

    def windows(self, table: Any, rows: Any, starts: Any, width: int) -> Any:
        """`table[row, start : start + width]` of each row, flat; None where it has to be gathered by torch."""
        return self._windows and self._windows(table, rows, starts, width, self.stream())

    def _launcher(self, header: _Header, slot: Slot) -> Any:
        """The kernel, compiled by a launch that copies nothing; None if it can't be launched directly."""
        header.words[:] = 0
        kernel = self._kernels.carry(header.memory, slot.memory.view(torch.int32), 1, 1)
        try:
            return self._kernels.Launch(kernel)
        except (OSError, AttributeError, TypeError) as error:
            log.info("speckv-debug: launches go through Triton: %s", error)
            return None

    def on(self, stream: int) -> AbstractContextManager[Any]:
        """Make a stream the current one."""
        self._choose()
        return torch.cuda.stream(self._stream(stream))

    def addresses(self, tensors: Sequence[Any]) -> list[int]:
        """Where each tensor lies, 0 for one without values."""
        return list(map(address_of, tensors))

    def launch(self, tensors: Sequence[Any], plan: Plan, slot: Slot, stream: int) -> None:
        """One launch that writes straight into the pinned memory."""
        if self._kernels is None:
            copy_each(tensors, plan, slot)
            return
        header, told = slot.header, plan.told
        if header is None:
            header = self._header_of(slot)
        if told is None:
            told = plan.told = _Told(plan, self._kernels)
        if header.plan is not plan:
            told.places(header.words, 8 * self._kernels.MOST, *told.words)
            header.plan = plan
        told.addresses(header.words, 0, *map(address_of, tensors))
        if self._direct is not None:
            self._direct(len(tensors), told.height, stream, header.arguments)
        else:
            self._kernels.carry(header.memory, slot.memory.view(torch.int32), len(tensors), told.height)

    def _header_of(self, slot: Slot) -> _Header:
        memory = torch.zeros(self._kernels.TABLE_WORDS, dtype=torch.int64, pin_memory=True)
        told = None if self._direct is None else self._direct.arguments(memory, slot.memory)
        slot.header = header = _Header(memory, told)
        return header

    def pinned(self, size: int) -> Any:
        """Page-locked memory, which kernels may write to."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def event(self) -> Any:
        """An event without times."""
        return torch.cuda.Event()

    def record(self, event: Any, stream: int) -> None:
        """Record an event."""
        known = self._streams.get(stream)
        event.record(self._stream(stream) if known is None else known)

    def query(self, event: Any) -> bool:
        """Whether an event is done."""
        self._choose()
        return bool(event.query())

    def _choose(self) -> None:
        """Another thread begins on device 0, where asking may make a context, and without one to launch in."""
        if not getattr(self._thread, "chosen", False):
            torch.cuda.set_device(self._device)
            self._thread.chosen = True

    def _stream(self, handle: int) -> Any:
        if handle not in self._streams:
            current = torch.cuda.current_stream(self._device)
            known = current if current.cuda_stream == handle else None
            self._streams[handle] = known or torch.cuda.ExternalStream(handle, device=self._device)
        return self._streams[handle]


def _kernels() -> Any:
    """The module of the kernel, None where Triton is missing."""
    try:
        from speckv_debug.kernels import carry_triton
    except ImportError:
        return None
    return carry_triton


def _windows(device: torch.device) -> Any:
    """The kernel that gathers entries of rows, tried; None if it can't be used here."""
    try:
        from speckv_debug.collectors.cuda_windows import Windows
        from speckv_debug.kernels import carry_triton, windows_triton

        return Windows(windows_triton, carry_triton.Launch, device)
    except Exception as error:  # noqa: BLE001 (Triton, the driver, another release of either)
        log.info("speckv-debug: table windows are gathered by torch: %s", error)
        return None
