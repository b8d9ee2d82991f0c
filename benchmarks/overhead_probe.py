"""Runs inside SGLang's scheduler process: changes the level every so many steps and notes when each step begins.

SGLang loads it as a plugin (`overhead.py` makes the entry point). It is the same in every mode; in mode 0 no hook of
the collector is in place. OVERHEAD_PLAN is a JSON object: `out`, `modes`, `block`, `cycles`, `batch`, `skip`,
`syncs` (count synchronisations instead of timing), `close` (end the recording at the end), `profile` (a level, or null),
`hooks` (time each hook of the collector).
"""

from __future__ import annotations

import cProfile
import functools
import io
import json
import os
import pstats
import statistics
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

SCHEDULER = "sglang.srt.managers.scheduler"
PLAN = "OVERHEAD_PLAN"


def register() -> None:
    """Entry point of group `sglang.srt.plugins`; does nothing outside the scheduler process."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "run_scheduler_process":
        frame = frame.f_back
    if frame is None or PLAN not in os.environ:
        return
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    probe = Probe(json.loads(os.environ[PLAN]))
    if probe.plan["hooks"]:
        time_hooks(probe)
    Path(probe.plan["out"]).with_suffix(".here").touch()
    around = HookType.AROUND
    HookRegistry.register(f"{SCHEDULER}.Scheduler.get_next_batch_to_run", probe.next_batch, around)
    HookRegistry.register(f"{SCHEDULER}.Scheduler.run_batch", probe.run_batch, around)


class Probe:
    """The state of one measurement.

    A unit is some blocks of steps: each mode once, then once more the other way round, so that what grows steadily
    adds as much to each. A step of any other kind begins its unit anew: its steps are those of the last attempt.

    Attributes:
        steps: [attempt, block in its unit, mode, place in its block, begin in ns, processor time of the thread in ns],
            one a full decode step.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.units = units_of(plan["modes"], plan["cycles"])
        self.unit, self.at, self.attempt = 0, 0, 0
        self.place, self.mode, self.broken = -1, -1, False
        self.steps: list[tuple[int, int, int, int, int, int]] = []
        self.counts: dict[int, Counter[str]] = {mode: Counter() for mode in plan["modes"]}
        self.profile = cProfile.Profile()
        self.hooks: dict[int, dict[str, list[int]]] = {mode: {} for mode in plan["modes"]}
        self.done = False

    def next_batch(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Between two steps: the only place where the level changes."""
        if not self.done and (self.broken or self.place < 0 or self.place >= self.plan["block"]):
            self._turn()
        return original(*args, **kwargs)

    def run_batch(self, original: Any, scheduler: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
        """Note a step of the whole batch."""
        full = batch.forward_mode.is_decode() and len(batch.reqs) == self.plan["batch"]
        if self.place >= 0 and not self.done:
            if full:
                begun = (time.perf_counter_ns(), time.thread_time_ns())
                self.steps.append((self.attempt, self.at, self.mode, self.place, *begun))
                self.place += 1
            elif self.place or self.at:
                self.broken = True
        return original(scheduler, batch, *args, **kwargs)

    def _turn(self) -> None:
        from speckv_debug.collectors.sglang import plugin

        collector: Any = plugin.current()
        if collector is None or not collector.capabilities.hooks:
            return
        if self.plan["syncs"] and self.place < 0:
            count_synchronisations(lambda name: self.counts[self.mode].update([name]))
        if not self._advance():
            self._finish(collector)
            return
        mode, self.place = self.units[self.unit][self.at], 0
        if self.mode != mode:
            self.mode = mode
            if len(self.plan["modes"]) > 1 or mode != collector.level:
                collector.set_level(mode)
        if self.plan["profile"] is not None:
            (self.profile.enable if self.mode == self.plan["profile"] else self.profile.disable)()

    def _advance(self) -> bool:
        """To the next block, or the first one of a unit that was broken; false behind the last one."""
        if self.broken or self.place < 0:
            self.at, self.broken, self.attempt = 0, False, self.attempt + 1
            return True
        self.at += 1
        if self.at == len(self.units[self.unit]):
            self.unit, self.at, self.attempt = self.unit + 1, 0, self.attempt + 1
        return self.unit < len(self.units)

    def _counted(self, mode: int) -> int:
        return sum(step[2] == mode for step in self.steps)

    def _finish(self, collector: Any) -> None:
        self.done = True
        self.profile.disable()
        if self.plan["close"]:
            collector.detach()
        elif len(self.plan["modes"]) > 1:
            collector.set_level(0)
        found: dict[str, Any] = {
            "steps": self.steps,
            "syncs": {str(mode): dict(each) for mode, each in self.counts.items()},
        }
        if self.plan["profile"] is not None:
            found["profile"] = profile_text(self.profile)
        if self.plan["hooks"]:
            found["hooks"] = {
                str(mode): summary(each, self._counted(mode)) for mode, each in self.hooks.items()
            }
        out = Path(self.plan["out"])
        out.with_suffix(".part").write_text(json.dumps(found))
        out.with_suffix(".part").rename(out)


def time_hooks(probe: Probe) -> None:
    """Note what each hook takes of its own, without what the engine's function takes inside it."""
    from speckv_debug.collectors.hooking import Patches

    make, now = Patches._wrapper, time.perf_counter_ns
    inner = [0]

    def timed_make(self: Patches, name: str, function: Any, hook: Any, places: Any) -> Any:
        def engine_s(*args: Any, **kwargs: Any) -> Any:
            begun = now()
            try:
                return function(*args, **kwargs)
            finally:
                inner[0] += now() - begun

        hooked = make(self, name, functools.wraps(function)(engine_s), hook, places)

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            outer, inner[0] = inner[0], 0
            begun = now()
            try:
                return hooked(*args, **kwargs)
            finally:
                took, inner[0] = now() - begun - inner[0], outer
                if probe.place >= 0:
                    probe.hooks[probe.mode].setdefault(name, []).append(took)

        return timed

    Patches._wrapper = timed_make  # type: ignore[method-assign]


def summary(hooks: dict[str, list[int]], steps: int) -> dict[str, list[float]]:
    """Calls a step, median and mean of a call in us, and us a step by the medians; the costliest first."""
    found = {}
    for name, took in hooks.items():
        a_step, middle = len(took) / max(1, steps), statistics.median(took) / 1000
        mean = statistics.fmean(took) / 1000
        found[name] = [round(each, 2) for each in (a_step, middle, mean, a_step * middle)]
    return dict(sorted(found.items(), key=lambda each: -each[1][3]))


def profile_text(profile: cProfile.Profile) -> str:
    """The functions that took most time themselves, and of the collector those that took most with what they call."""
    text = io.StringIO()
    stats = pstats.Stats(profile, stream=text)
    stats.sort_stats("tottime").print_stats(45)
    stats.sort_stats("cumtime").print_stats("speckv_debug|staging|outbox", 60)
    return text.getvalue()


def units_of(modes: list[int], cycles: int) -> list[list[int]]:
    """Two cycles each, the second one backwards; each unit begins with another mode. One mode alone needs no pairs."""
    if len(modes) == 1:
        return [modes] * cycles
    turned = [modes[unit % len(modes) :] + modes[: unit % len(modes)] for unit in range(cycles // 2)]
    return [turn + turn[::-1] for turn in turned]


def count_synchronisations(count: Any) -> None:
    """Count what waits for the device: calls by name, and what CUDA's own synchronisation check warns of."""
    import torch

    for owner, name in (
        (torch.cuda.Event, "synchronize"),
        (torch.cuda.Stream, "synchronize"),
        (torch.cuda, "synchronize"),
    ):
        setattr(owner, name, _counted(getattr(owner, name), f"{owner.__name__}.{name}", count))
    warnings.simplefilter("always")
    before = warnings.showwarning

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        if "synchronizing CUDA operation" in str(message):
            count("implicit")
        else:
            before(message, *args, **kwargs)

    warnings.showwarning = show
    torch.cuda.set_sync_debug_mode("warn")


def _counted(function: Any, name: str, count: Any) -> Any:
    def counted(*args: Any, **kwargs: Any) -> Any:
        count(name)
        return function(*args, **kwargs)

    return counted
