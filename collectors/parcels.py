"""Device values in pinned memory: where they lie, who may write there, and when they have arrived."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
ALIGNMENT = 16
SMALLEST_BYTES = 32 << 10
MOST_BYTES = 64 << 20
"""Pinned memory that may be in use at a time."""


class Lost(RuntimeError):
    """A value that never arrived."""


class Plan:
    """Where contiguous tensors of whole 32-bit words lie in pinned memory, each from a multiple of 16 bytes on.

    Attributes:
        counts: Values of each.
        kinds: NumPy dtype of each.
        sizes: Bytes of each.
        starts: First byte of each.
        end: Bytes of all.
        room: The size class of a slot that holds them.
        told: What the device keeps with it.
    """

    __slots__ = ("_parts", "counts", "end", "kinds", "room", "sizes", "starts", "told")

    def __init__(self, counts: list[int], kinds: list[np.dtype[Any]]) -> None:
        self.counts, self.kinds = counts, kinds
        self.sizes = [count * kind.itemsize for count, kind in zip(counts, kinds, strict=True)]
        self.starts, self.end = [], 0
        for size in self.sizes:
            self.starts.append(self.end)
            self.end += -(-size // ALIGNMENT) * ALIGNMENT
        self.room = max(SMALLEST_BYTES, 1 << max(0, self.end - 1).bit_length())
        self.told: Any = None
        self._parts: dict[range, tuple[int, int, Any]] = {}

    def part(self, places: range) -> tuple[int, int, Any]:
        """First byte of some tensors and the one behind them, and their sizes and kinds: equal where they lie alike."""
        found = self._parts.get(places)
        if found is None:
            first, last, taken = places[0], places[-1], slice(places.start, places.stop)
            layout = (self.sizes[taken], self.kinds[taken])
            found = self._parts[places] = (self.starts[first], self.starts[last] + self.sizes[last], layout)
        return found


class Device(Protocol):
    """The few things that are asked of a device; streams are named by their handles.

    Attributes:
        most: Tensors that one launch takes.
    """

    most: int

    def prepare(self, slots: Sequence[Slot] = ()) -> None:
        """Have ready what the first launch, and one into each of these slots, needs."""

    def stream(self) -> int:
        """The current stream."""

    def on(self, stream: int) -> AbstractContextManager[Any]:
        """Make a stream the current one."""

    def is_capturing(self) -> bool:
        """Whether the current stream is being captured into a graph."""

    def addresses(self, tensors: Sequence[Any]) -> list[int]:
        """Where each tensor lies, 0 for one without values."""

    def launch(self, tensors: Sequence[Any], plan: Plan, slot: Slot, stream: int) -> None:
        """Queue one copy of tensors to their places in a slot, on the current stream."""

    def windows(self, table: Any, rows: Any, starts: Any, width: int) -> Any:
        """`table[row, start : start + width]` of each row, flat, on the current stream; None where it can't."""

    def pinned(self, size: int) -> Any:
        """Page-locked host memory, a flat tensor of bytes."""

    def event(self) -> Any:
        """An event that can be recorded again and again."""

    def record(self, event: Any, stream: int) -> None:
        """Record an event on a stream."""

    def query(self, event: Any) -> bool:
        """Whether what an event stands behind is done; may be asked by any thread."""


class Slot:
    """Pinned memory for one parcel, and the event that stands behind its copy.

    Attributes:
        idle: Whether nothing is written to it any more, as far as was asked.
        header: What the device keeps with it.
    """

    __slots__ = ("bytes", "event", "header", "idle", "memory", "size")

    def __init__(self, device: Device, memory: Any) -> None:
        self.memory, self.size = memory, memory.numel()
        self.bytes: Bytes = memory.numpy()
        self.event = device.event()
        self.idle = True
        self.header: Any = None


class Ring:
    """Slots for reuse, by size class."""

    def __init__(self, device: Device, most_bytes: int = MOST_BYTES) -> None:
        self._device, self._room = device, most_bytes
        self._free: dict[int, deque[Slot]] = {SMALLEST_BYTES: deque()}

    def prepare(self, slots: int) -> list[Slot]:
        """Make slots of the smallest size in one piece of memory: a piece costs about as much as a copy of it."""
        memory = self._device.pinned(slots * SMALLEST_BYTES)
        self._room -= slots * SMALLEST_BYTES
        made = [
            Slot(self._device, memory[start : start + SMALLEST_BYTES])
            for start in range(0, slots * SMALLEST_BYTES, SMALLEST_BYTES)
        ]
        self._free[SMALLEST_BYTES].extend(made)
        return made

    def borrow(self, size: int) -> Slot | None:
        """A slot of this size class that nothing is written to any more, None if memory is used up."""
        free = self._free.get(size)
        if free and (free[0].idle or self._device.query(free[0].event)):
            return free.popleft()
        if size > self._room:
            return None
        self._room -= size
        return Slot(self._device, self._device.pinned(size))

    def give_back(self, slot: Slot, *, idle: bool) -> None:
        """Let others use a slot; may be called by any thread."""
        slot.idle = idle
        self._free.setdefault(slot.size, deque()).append(slot)


class Parcel:
    """The values of one launch; the device tensors are held until it is done."""

    __slots__ = ("_bytes", "_device", "_ring", "_slot", "done", "held", "plan")

    def __init__(self, device: Device, ring: Ring, slot: Slot | None, plan: Plan, held: Any) -> None:
        self._device, self._ring, self._slot, self.plan, self.held = device, ring, slot, plan, held
        self._bytes: Bytes | None = None
        self.done = slot is None

    def arrived(self) -> bool:
        """Whether `take` needs no waiting; the device tensors are then let go."""
        slot = self._slot
        if not self.done and slot is not None and self._device.query(slot.event):
            self.done = True
        if self.done:
            self.held = None
        return self.done

    def take(self) -> Bytes:
        """The bytes, once they have arrived; the slot is given back.

        Raises:
            Lost: There was no memory for them, or they are not here yet.
        """
        if self._bytes is None:
            if not self.arrived() or self._slot is None:
                raise Lost("the values did not come from the device in time")
            self._bytes = self._slot.bytes[: self.plan.end].copy()
            slot, self._slot = self._slot, None
            self._ring.give_back(slot, idle=True)
        return self._bytes

    def values(self, place: int) -> npt.NDArray[Any]:
        """The values of one tensor, flat."""
        plan, taken = self.plan, self.take()
        start = plan.starts[place]
        return taken[start : start + plan.sizes[place]].view(plan.kinds[place])

    def __del__(self) -> None:
        if self._slot is not None:
            self._ring.give_back(self._slot, idle=False)
