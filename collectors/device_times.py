"""When something began and ended on the device, without waiting for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class DeviceClock:
    """Tells device times as nanoseconds since the epoch.

    On a GPU a time is an event on the current stream; whoever resolves it adds what elapsed since the one resolved
    before, so that a long recording loses nothing to the single precision of `elapsed_time`. The first event is set
    against the host's clock once, before the engine's first step. On the CPU the host's clock is the device's.

    Args:
        on_host: Whether the device is the CPU.
        query: Whether an event is done, asked by any thread.
        kind: The device's type.
    """

    def __init__(
        self, on_host: bool, query: Callable[[Any], bool] = lambda event: True, kind: str = "cuda"
    ) -> None:
        self._on_host, self.query, self._kind = on_host, query, kind
        self._last: Any = None
        if not on_host:
            self._last = _marked(kind)
            self._last.synchronize()
        self._last_ns = time.time_ns()

    def now(self) -> Moment:
        """The moment at which the device gets here."""
        return Moment(self, None if self._on_host else _marked(self._kind), time.time_ns())

    def since_epoch(self, event: Any) -> int:
        """The time of an event that is done; asked by one thread, in about the order of the events."""
        self._last_ns += round(self._last.elapsed_time(event) * 1e6)
        self._last = event
        return self._last_ns


class Moment:
    """A device time that is there later."""

    __slots__ = ("_clock", "_event", "_ns")

    def __init__(self, clock: DeviceClock, event: Any, ns: int) -> None:
        self._clock, self._event, self._ns = clock, event, ns

    def ready(self) -> bool:
        """Whether the device has got there."""
        return self._event is None or self._clock.query(self._event)

    def resolve(self) -> int:
        """Nanoseconds since the epoch."""
        if self._event is not None:
            self._ns, self._event = self._clock.since_epoch(self._event), None
        return self._ns


class Span:
    """The end of something that is still going on; None if it never ended."""

    __slots__ = ("_end", "_open")

    def __init__(self) -> None:
        self._open = True
        self._end: Moment | None = None

    def close(self, end: Moment | None) -> None:
        """It ended."""
        self._open, self._end = False, end

    def close_if_open(self) -> None:
        """It broke off, unless it ended."""
        self._open = False

    def ready(self) -> bool:
        """Whether it ended, on the device too."""
        return not self._open and (self._end is None or self._end.ready())

    def resolve(self) -> int | None:
        """Nanoseconds since the epoch."""
        return None if self._end is None else self._end.resolve()


def _marked(kind: str) -> Any:
    import torch

    module: Any = torch.cuda if kind == "cuda" else torch.get_device_module(kind)
    event = module.Event(enable_timing=True)
    event.record()
    return event
