"""Runs inside SGLang's scheduler process: changes the level every so many steps and notes when each step begins.

SGLang loads it as a plugin (`overhead.py` makes the entry point). It is the same in every mode; in mode 0 no hook of
the collector is in place. OVERHEAD_PLAN is a JSON object: `out`, `modes`, `block`, `cycles`, `batch`, `skip`,
`syncs` (count synchronisations instead of timing), `close` (end the recording at the end), `profile` (a level, or null).
"""

from __future__ import annotations

import cProfile
import io
import json
import os
import pstats
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
    Path(probe.plan["out"]).with_suffix(".here").touch()
    around = HookType.AROUND
    HookRegistry.register(f"{SCHEDULER}.Scheduler.get_next_batch_to_run", probe.next_batch, around)
    HookRegistry.register(f"{SCHEDULER}.Scheduler.run_batch", probe.run_batch, around)


class Probe:
    """The state of one measurement.

    Attributes:
        steps: [mode, place in its block, begin in ns, processor time of the thread in ns], one a full decode step.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.order = order_of(plan["modes"], plan["cycles"])
        self.at, self.place, self.mode = 0, -1, 0
        self.steps: list[tuple[int, int, int, int]] = []
        self.counts: dict[int, Counter[str]] = {mode: Counter() for mode in plan["modes"]}
        self.profile = cProfile.Profile()
        self.done = False

    def next_batch(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Between two steps: the only place where the level changes."""
        if not self.done and (self.place < 0 or self.place >= self.plan["block"]):
            self._turn()
        return original(*args, **kwargs)

    def run_batch(self, original: Any, scheduler: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
        """Note a step of the whole batch; any other one begins its block anew."""
        full = batch.forward_mode.is_decode() and len(batch.reqs) == self.plan["batch"]
        if self.place >= 0 and not self.done:
            if full:
                self.steps.append((self.mode, self.place, time.perf_counter_ns(), time.thread_time_ns()))
                self.place += 1
            elif self.place:
                self.steps.append((-1, 0, 0, 0))
        return original(scheduler, batch, *args, **kwargs)

    def _turn(self) -> None:
        from speckv_debug.collectors.sglang import plugin

        collector: Any = plugin.current()
        if collector is None or not collector.capabilities.hooks:
            return
        if self.plan["syncs"] and not self.at:
            count_synchronisations(lambda name: self.counts[self.mode].update([name]))
        if self.at == len(self.order):
            self._finish(collector)
            return
        if self.mode != self.order[self.at] or not self.at:
            self.mode = self.order[self.at]
            if len(self.plan["modes"]) > 1 or self.mode != collector.level:
                collector.set_level(self.mode)
        self.at, self.place = self.at + 1, 0
        if self.plan["profile"] is not None:
            (self.profile.enable if self.mode == self.plan["profile"] else self.profile.disable)()

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
        out = Path(self.plan["out"])
        out.with_suffix(".part").write_text(json.dumps(found))
        out.with_suffix(".part").rename(out)


def profile_text(profile: cProfile.Profile) -> str:
    """The functions that took most time themselves, and of the collector those that took most with what they call."""
    text = io.StringIO()
    stats = pstats.Stats(profile, stream=text)
    stats.sort_stats("tottime").print_stats(45)
    stats.sort_stats("cumtime").print_stats("speckv_debug|staging|outbox", 60)
    return text.getvalue()


def order_of(modes: list[int], cycles: int) -> list[int]:
    """Each cycle begins with another mode, every second one runs backwards: contexts grow while requests decode."""
    turned = [modes[cycle % len(modes) :] + modes[: cycle % len(modes)] for cycle in range(cycles)]
    return [mode for cycle, turn in enumerate(turned) for mode in (turn[::-1] if cycle % 2 else turn)]


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
