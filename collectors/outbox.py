"""Device values on their way to the host: what a step stages leaves in one launch into pinned memory, then an event.

Nothing here waits for the device. A thread that asks `arrived()` later copies the bytes out and gives the pinned
memory back; where it can't keep up, values are lost and said to be, and no more memory is taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
ALIGNMENT = 16
TENSORS_A_LAUNCH = 64
SMALLEST_BYTES = 32 << 10
MOST_BYTES = 64 << 20
"""Pinned memory that may be in use at a time."""


class Lost(RuntimeError):
    """A value that never arrived."""


class Device(Protocol):
    """The few things that are asked of a device; streams are named by their handles."""

    def prepare(self) -> None:
        """Have ready what the first launch needs."""

    def stream(self) -> int:
        """The current stream."""

    def on(self, stream: int) -> AbstractContextManager[Any]:
        """Make a stream the current one."""

    def is_capturing(self) -> bool:
        """Whether the current stream is being captured into a graph."""

    def launch(
        self, tensors: Sequence[Any], starts: Sequence[int], sizes: Sequence[int], memory: Any
    ) -> None:
        """Queue one copy of contiguous tensors of whole 32-bit words, so many bytes each, to offsets of pinned memory."""

    def pinned(self, size: int) -> Any:
        """Page-locked host memory, a flat tensor of bytes."""

    def event(self) -> Any:
        """An event that can be recorded again and again."""

    def record(self, event: Any, stream: int) -> None:
        """Record an event on a stream."""

    def query(self, event: Any) -> bool:
        """Whether what an event stands behind is done; may be asked by any thread."""


class Slot:
    """Pinned memory for one parcel, and the event that stands behind its copy."""

    __slots__ = ("bytes", "event", "memory", "size")

    def __init__(self, device: Device, memory: Any) -> None:
        self.memory, self.size = memory, memory.numel()
        self.bytes: Bytes = memory.numpy()
        self.event = device.event()


class Ring:
    """Slots for reuse, by size class."""

    def __init__(self, device: Device, most_bytes: int = MOST_BYTES) -> None:
        self._device, self._room = device, most_bytes
        self._free: dict[int, deque[Slot]] = {}

    def prepare(self, slots: int) -> None:
        """Make slots of the smallest size in one piece of memory: a piece costs about as much as a copy of it."""
        memory = self._device.pinned(slots * SMALLEST_BYTES)
        self._room -= slots * SMALLEST_BYTES
        for start in range(0, slots * SMALLEST_BYTES, SMALLEST_BYTES):
            self.give_back(Slot(self._device, memory[start : start + SMALLEST_BYTES]))

    def borrow(self, size: int) -> Slot | None:
        """A slot of at least so many bytes that nothing is written to any more, None if memory is used up."""
        size = max(SMALLEST_BYTES, 1 << max(0, size - 1).bit_length())
        free = self._free.setdefault(size, deque())
        if free and self._device.query(free[0].event):
            return free.popleft()
        if size > self._room:
            return None
        self._room -= size
        return Slot(self._device, self._device.pinned(size))

    def give_back(self, slot: Slot) -> None:
        """Let others use a slot; may be called by any thread."""
        self._free.setdefault(slot.size, deque()).append(slot)


class Parcel:
    """The values of one launch; the device tensors are held until it is done."""

    __slots__ = ("_bytes", "_device", "_ring", "_size", "_slot", "done", "held")

    def __init__(self, device: Device, ring: Ring, slot: Slot | None, size: int, held: Any) -> None:
        self._device, self._ring, self._slot, self._size, self.held = device, ring, slot, size, held
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
            self._bytes = self._slot.bytes[: self._size].copy()
            slot, self._slot = self._slot, None
            self._ring.give_back(slot)
        return self._bytes

    def __del__(self) -> None:
        if self._slot is not None:
            self._ring.give_back(self._slot)


class Staged:
    """A tensor's values as they were when `stage` was called, flattened.

    Attributes:
        count: How many values.
        parcel: What they are on their way with, from byte `start` on; None before that and when they are here.
    """

    __slots__ = ("_dtype", "_values", "count", "parcel", "start")

    def __init__(self, values: npt.NDArray[Any] | None = None, count: int = 0, dtype: Any = None) -> None:
        self._values, self._dtype = values, dtype
        self.count = count if values is None else len(values)
        self.parcel: Parcel | None = None
        self.start = 0

    def ready(self) -> bool:
        """Whether `resolve` gives the values now."""
        return self._values is not None or (self.parcel is not None and self.parcel.arrived())

    def resolve(self) -> npt.NDArray[Any]:
        """The values as a flat array.

        Raises:
            Lost: They are not here.
        """
        if self._values is None:
            if self.parcel is None:
                raise Lost("the values never left the device")
            stop = self.start + self.count * self._dtype.itemsize
            self._values = self.parcel.take()[self.start : stop].view(self._dtype)
            self.parcel = None
        return self._values

    def part(self, start: int, stop: int) -> Derived:
        """The values `[start, stop)`."""
        return Derived(lambda: self.resolve()[start:stop], self.ready)

    def item(self, index: int) -> Derived:
        """One value as an integer."""
        return Derived(lambda: int(self.resolve()[index]), self.ready)


class Derived:
    """A value worked out from staged ones by whoever resolves it."""

    __slots__ = ("_make", "ready")

    def __init__(self, make: Any, ready: Any = lambda: True) -> None:
        self._make, self.ready = make, ready

    def resolve(self) -> Any:
        """The value."""
        return self._make()


class Outbox:
    """What the engine's thread has staged and not yet sent.

    Attributes:
        known: What was staged of settled tensors, by the tensor's `id`.
        waiting: What leaves with the next `send`, with its tensor and the stream that made it.

    Args:
        device: Where the tensors are.
        most_bytes: Pinned memory that may be in use at a time.
    """

    def __init__(self, device: Device, most_bytes: int = MOST_BYTES) -> None:
        self.device, self.ring = device, Ring(device, most_bytes)
        self.waiting: list[tuple[Staged, Any, int]] = []
        self.known: dict[int, Staged] = {}
        self._under_way: deque[Parcel] = deque()

    def add(self, tensor: Any, dtype: np.dtype[Any], *, settled: bool) -> Staged:
        """Stage a contiguous tensor of whole 32-bit words.

        Args:
            tensor: Not written to before it is sent.
            dtype: The NumPy dtype of its values.
            settled: It is the engine's own and may be staged again.
        """
        if settled and (known := self.known.get(id(tensor))) is not None:
            return known
        staged = Staged(None, tensor.numel(), dtype)
        self.waiting.append((staged, tensor, self.device.stream()))
        if settled:
            self.known[id(tensor)] = staged
        return staged

    def send(self, *, joined: bool = False) -> None:
        """Launch what waits, each value on the stream that made it; during a capture nothing is done.

        Args:
            joined: The current stream already waits for all others that staged something: one launch takes all.
        """
        if not self.waiting or self.device.is_capturing():
            return
        self._let_go()
        waiting, self.waiting, self.known = self.waiting, [], {}
        here = self.device.stream()
        streams = {here} if joined else dict.fromkeys(stream for _, _, stream in waiting)
        for stream in streams:
            mine = waiting if joined else [each for each in waiting if each[2] == stream]
            for first in range(0, len(mine), TENSORS_A_LAUNCH):
                part = mine[first : first + TENSORS_A_LAUNCH]
                if stream == here:
                    self._launch(part, stream)
                else:
                    with self.device.on(stream):
                        self._launch(part, stream)

    def _launch(self, part: list[tuple[Staged, Any, int]], stream: int) -> None:
        tensors = [tensor for _, tensor, _ in part]
        sizes, starts, end = [tensor.nbytes for tensor in tensors], [], 0
        for size in sizes:
            starts.append(end)
            end += -(-size // ALIGNMENT) * ALIGNMENT
        slot = self.ring.borrow(end)
        parcel = Parcel(self.device, self.ring, slot, end, tensors)
        if slot is not None:
            self.device.launch(tensors, starts, sizes, slot.memory)
            self.device.record(slot.event, stream)
            self._under_way.append(parcel)
        for (staged, _, _), start in zip(part, starts, strict=True):
            staged.parcel, staged.start = parcel, start

    def _let_go(self) -> None:
        """Let go the device tensors of launches that are done, however far behind the other thread is."""
        while self._under_way and self._under_way[0].arrived():
            self._under_way.popleft()
