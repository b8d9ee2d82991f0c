"""Device values on their way to the host: what a step stages leaves in one launch into pinned memory, then an event.

Nothing here waits for the device. A thread that asks `ready()` later copies the bytes out and gives the pinned
memory back; where it can't keep up, values are lost and said to be, and no more memory is taken. What runs on the
engine's thread finds cold caches there, so it touches little: tensors are counted and told apart in C.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from threading import RLock
from typing import Any

import numpy as np

from speckv_debug.collectors.loads import Load
from speckv_debug.collectors.parcels import MOST_BYTES, Device, Parcel, Plan, Ring
from speckv_debug.collectors.patience import Patience, Unit
from speckv_debug.collectors.staged import Staged
from speckv_debug.collectors.words import Measured, measured

ENOUGH_TENSORS = 80
"""Tensors that wait for no more steps: with those of one step more they still fit into one launch."""
LET_GO_AFTER = 8
"""Launches whose tensors may be held before it is asked whether they are done."""
MOST_PLANS = 256
"""Shapes of launches that are remembered."""


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
        self.load = self._new_load()
        self.known: dict[int, Staged] = {}
        self._lock = RLock()  # a signal may come while it is held
        self._patience = Patience()
        self._hurry, self._steps = False, 0
        self._plan = Plan([], [])
        self._plans: dict[tuple[int, ...], Plan] = {}
        self._under_way: deque[Parcel] = deque()

    def add(self, tensor: Any, *, settled: bool) -> Staged:
        """Stage a contiguous tensor of whole 32-bit words.

        Args:
            tensor: Not written to before it is sent.
            settled: It is the engine's own and may be staged again; else it is ours.
        """
        if settled and (known := self.known.get(id(tensor))) is not None:
            return known
        load, place = self.add_all([tensor], patient=not settled)
        staged = Staged(None, tensor.numel(), load, place)
        if settled:
            self.known[id(tensor)] = staged
        return staged

    def add_all(self, tensors: Sequence[Any], *, patient: bool = False) -> tuple[Load, int]:
        """Stage contiguous tensors of whole 32-bit words: what they leave with, and the first one's place.

        Args:
            tensors: Not written to before they are sent.
            patient: Nor ever after: they are ours.
        """
        with self._lock:
            self._hurry = self._hurry or not patient
            load, places = self.add_group(None, tensors)
            return load, places.start

    def add_group(self, kind: str | None, tensors: Sequence[Any]) -> tuple[Load, range]:
        """Stage tensors that may wait for those of the next steps; nothing else is done with them now.

        Args:
            kind: What they are: a place in groups of one kind and length is one tensor of the engine. None for tensors
                that are ours, or leave with this step.
            tensors: Nobody writes to them while somebody holds them.
        """
        with self._lock:
            load, stream = self.load, self.device.stream()
            held, streams = load.tensors, load.streams
            first = len(held)
            if not streams or streams[-1][1] != stream:
                streams.append((first, stream))
            held += tensors
            places = range(first, len(held))
            if kind is not None:
                load.units.append((kind, places))
            return load, places

    def step(self, *, joined: bool = False) -> None:
        """A step is through: send, or wait for the next ones where nothing is lost by that."""
        if not self._hurry and self._patience.steps > 1:
            self._steps += 1
            if self._steps < self._patience.steps and len(self.load.tensors) < ENOUGH_TENSORS:
                return
        self.send(joined=joined)

    def send_hurried(self) -> None:
        """Send if something waits that may not wait for further steps."""
        if self._hurry:
            self.send()

    def send(self, *, joined: bool = False) -> None:
        """Launch what waits, each value on the stream that made it; during a capture nothing is done.

        Args:
            joined: The current stream already waits for all others that staged something: one launch takes all.
        """
        with self._lock:
            if not self.load.tensors or self.device.is_capturing():
                return
            if len(self._under_way) >= LET_GO_AFTER:
                self._let_go()
            load, self.load, here = self.load, self._new_load(), self.device.stream()
            self._hurry, self._steps = False, 0
            self.known.clear()
            self._launch_all(load, here, joined)

    def _new_load(self) -> Load:
        return Load(overdue=self.overdue)

    def overdue(self, load: Load) -> None:
        """Send what waits if that is this load: its step was the engine's last one so far. Any thread may say so."""
        if load is self.load:
            with (
                suppress(Exception),
                self.device.on(self.device.stream()),
            ):  # why it failed stands in the load
                self.send()

    def _launch_all(self, load: Load, here: int, joined: bool) -> None:
        try:
            self._try_to_launch(load, here, joined)
        except Exception as error:
            load.spoilt = f"the values could not leave the device: {type(error).__name__}: {error}"
            raise

    def _try_to_launch(self, load: Load, here: int, joined: bool) -> None:
        tensors, counts, kinds = measured(load.tensors)
        load.tensors = []
        if load.units and not self._kept(load.units, tensors):
            load.spoilt = "the engine wrote to a tensor that was to leave with those of later steps"
        elif (joined or (len(load.streams) == 1 and load.streams[0][1] == here)) and len(
            tensors
        ) <= self.device.most:
            load.parcels.append(self._launch(tensors, counts, kinds, here))
        else:
            self._send_apart(load, (tensors, counts, kinds), here, joined)

    def _kept(self, units: list[Unit], tensors: Sequence[Any]) -> bool:
        """Whether the tensors are as they were when they were staged."""
        patience = self._patience
        return patience.is_settled or patience.allows(units, self.device.addresses(tensors), tensors)

    def _let_go(self) -> None:
        """Let the device tensors of launches that are done go, however far behind the other thread is; seldom, as it asks each."""
        while self._under_way and self._under_way[0].arrived():
            self._under_way.popleft()

    def _send_apart(self, load: Load, told: Measured, here: int, joined: bool) -> None:
        """One launch a stream, and for so many tensors."""
        count, most = len(told[0]), self.device.most
        found: list[Any] = [None] * count
        stops = [*(first for first, _ in load.streams[1:]), count]
        runs = [(s, range(first, stop)) for (first, s), stop in zip(load.streams, stops, strict=True)]
        for stream in [here] if joined else dict.fromkeys(stream for stream, _ in runs):
            mine = [place for of, run in runs for place in run if joined or of == stream]
            for first in range(0, len(mine), most):
                part = mine[first : first + most]
                parcel = self._launch_on(stream, here, _picked(told, part))
                load.parcels.append(parcel)
                for number, place in enumerate(part):
                    found[place] = (parcel, number)
        load.places = found

    def _launch_on(self, stream: int, here: int, picked: Measured) -> Parcel:
        if stream == here:
            return self._launch(*picked, stream)
        with self.device.on(stream):
            return self._launch(*picked, stream)

    def _launch(
        self, tensors: Sequence[Any], counts: list[int], kinds: list[np.dtype[Any]], stream: int
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


def _picked(told: Measured, places: list[int]) -> Measured:
    tensors, counts, kinds = told
    return [tensors[p] for p in places], [counts[p] for p in places], [kinds[p] for p in places]
