"""Device times are told without waiting, each from the one before."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from speckv_debug.collectors import device_times
from speckv_debug.collectors.device_times import DeviceClock, Span


def test_on_the_cpu_the_hosts_clock_is_the_devices() -> None:
    clock = DeviceClock(on_host=True)
    before = time.time_ns()
    moment = clock.now()
    assert moment.ready() and before <= moment.resolve() <= time.time_ns()


def test_each_time_is_what_elapsed_since_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([10.0, 12.5, 11.0])

    def marked(kind: str) -> Any:
        at = next(ticks)
        return SimpleNamespace(at=at, synchronize=lambda: None, elapsed_time=lambda other: other.at - at)

    monkeypatch.setattr(device_times, "_marked", marked)
    done: list[Any] = []
    clock = DeviceClock(on_host=False, query=lambda event: event.at in done)
    start, late, early = clock._last_ns, clock.now(), clock.now()
    assert not late.ready()
    done += [12.5, 11.0]
    assert late.ready()
    told = [moment.resolve() - start for moment in (late, early, late)]
    assert told == [2_500_000, 1_000_000, 2_500_000]


def test_an_end_is_open_until_it_is_told() -> None:
    span, broken = Span(), Span()
    assert not span.ready()
    span.close(DeviceClock(on_host=True).now())
    assert span.ready() and isinstance(span.resolve(), int)
    broken.close_if_open()
    assert broken.ready() and broken.resolve() is None
