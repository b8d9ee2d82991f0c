"""Device values on their way to the host: what a step stages leaves in one launch into pinned memory, then an event.

Nothing here waits for the device. A thread that asks `ready()` later copies the bytes out and gives the pinned
memory back; where it can't keep up, values are lost and said to be, and no more memory is taken. What runs on the
engine's thread finds cold caches there, so it touches little: tensors are counted and told apart in C.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from speckv_debug.collectors.parcels import (
    MOST_BYTES,
    SMALLEST_BYTES,
    Device,
    Load,
    Lost,
    Parcel,
    Plan,
    Ring,
)

__all__ = ["MOST_BYTES", "SMALLEST_BYTES", "Derived", "Lost", "Outbox", "Staged"]

TENSORS_A_LAUNCH = 64
LET_GO_AFTER = 8
"""Launches whose tensors may be held before it is asked whether they are done."""
MOST_PLANS = 256
"""Shapes of launches that are remembered."""


class Staged:
    """A tensor's values as they were when `stage` was called, flattened.

    Attributes:
        count: How many values.
    """

    __slots__ = ("_load", "_place", "_values", "count")

    def __init__(
        self,
        values: npt.NDArray[Any] | None = None,
        count: int = 0,
        load: Load | None = None,
        place: int = 0,
    ) -> None:
        self._values, self._load, self._place = values, load, place
        self.count = count if values is None else len(values)

    def ready(self) -> bool:
        """Whether `resolve` gives the values now."""
        return self._values is not None or (self._load is not None and self._load.ready())

    def resolve(self) -> npt.NDArray[Any]:
        """The values as a flat array.

        Raises:
            Lost: They are not here.
        """
        if self._values is None:
            if self._load is None:
                raise Lost("the values never left the device")
            self._values, self._load = self._load.values(self._place), None
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
        load: What leaves with the next `send`.

    Args:
        device: Where the tensors are.
        most_bytes: Pinned memory that may be in use at a time.
    """

    def __init__(self, device: Device, most_bytes: int = MOST_BYTES) -> None:
        self.device, self.ring = device, Ring(device, most_bytes)
        self.load = Load()
        self.known: dict[int, Staged] = {}
        self._plan = Plan([], [])
        self._plans: dict[tuple[int, ...], Plan] = {}
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
        count = tensor.numel()
        load, place = self.add_all([tensor], [count], [dtype])
        staged = Staged(None, count, load, place)
        if settled:
            self.known[id(tensor)] = staged
        return staged

    def add_all(
        self, tensors: Sequence[Any], counts: list[int], kinds: list[np.dtype[Any]]
    ) -> tuple[Load, int]:
        """Stage contiguous tensors of whole 32-bit words, none empty: what they leave with, and the first one's place.

        Args:
            tensors: Not written to before they are sent.
            counts: Values of each.
            kinds: NumPy dtype of each.
        """
        load, stream = self.load, self.device.stream()
        first = len(load.tensors)
        if not load.streams or load.streams[-1][1] != stream:
            load.streams.append((first, stream))
        load.tensors += tensors
        load.counts += counts
        load.kinds += kinds
        return load, first

    def send(self, *, joined: bool = False) -> None:
        """Launch what waits, each value on the stream that made it; during a capture nothing is done.

        Args:
            joined: The current stream already waits for all others that staged something: one launch takes all.
        """
        load = self.load
        if not load.tensors or self.device.is_capturing():
            return
        if len(self._under_way) >= LET_GO_AFTER:
            self._let_go()
        self.load, here = Load(), self.device.stream()
        self.known.clear()
        alone = joined or (len(load.streams) == 1 and load.streams[0][1] == here)
        if alone and len(load.tensors) <= TENSORS_A_LAUNCH:
            load.parcels.append(self._launch(load.tensors, load.counts, load.kinds, here))
        else:
            self._send_apart(load, here, joined)
        load.tensors = []

    def _let_go(self) -> None:
        """Let the device tensors of launches that are done go, however far behind the other thread is; seldom, as it asks each."""
        while self._under_way and self._under_way[0].arrived():
            self._under_way.popleft()

    def _send_apart(self, load: Load, here: int, joined: bool) -> None:
        """One launch a stream, and for so many tensors."""
        found: list[Any] = [None] * len(load.tensors)
        stops = [*(first for first, _ in load.streams[1:]), len(load.tensors)]
        runs = [(s, range(first, stop)) for (first, s), stop in zip(load.streams, stops, strict=True)]
        for stream in [here] if joined else dict.fromkeys(stream for stream, _ in runs):
            mine = [place for of, run in runs for place in run if joined or of == stream]
            for first in range(0, len(mine), TENSORS_A_LAUNCH):
                part = mine[first : first + TENSORS_A_LAUNCH]
                parcel = self._launch_on(stream, here, _picked(load, part))
                load.parcels.append(parcel)
                for number, place in enumerate(part):
                    found[place] = (parcel, number)
        load.places = found

    def _launch_on(
        self, stream: int, here: int, picked: tuple[list[Any], list[int], list[np.dtype[Any]]]
    ) -> Parcel:
        if stream == here:
            return self._launch(*picked, stream)
        with self.device.on(stream):
            return self._launch(*picked, stream)

    def _launch(
        self, tensors: list[Any], counts: list[int], kinds: list[np.dtype[Any]], stream: int
    ) -> Parcel:
        plan, device = self._plan, self.device
        if counts != plan.counts or kinds != plan.kinds:
            plan = self._planned(counts, kinds)
        slot = self.ring.borrow(plan.room)
        parcel = Parcel(device, self.ring, slot, plan, tensors)
        if slot is not None:
            device.launch(tensors, plan, slot, stream)
            device.record(slot.event, stream)
            self._under_way.append(parcel)
        return parcel

    def _planned(self, counts: list[int], kinds: list[np.dtype[Any]]) -> Plan:
        """The plan for such tensors, which is then tried first."""
        plan = self._plans.get(tuple(counts))
        if plan is None or plan.kinds != kinds:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            plan = self._plans[tuple(counts)] = Plan(list(counts), list(kinds))
        self._plan = plan
        return plan


def _picked(load: Load, places: list[int]) -> tuple[list[Any], list[int], list[np.dtype[Any]]]:
    return (
        [load.tensors[place] for place in places],
        [load.counts[place] for place in places],
        [load.kinds[place] for place in places],
    )
