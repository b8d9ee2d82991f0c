"""Attach to a scheduler of this process: to the next one that is constructed, or to one that already runs."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Patches, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.collector import SglangCollector

CONSTRUCT = Target("construct", (targets.SCHEDULER_INIT,))


def attach_now(out: Path) -> SglangCollector:
    """Bind to a scheduler as soon as one is constructed or prepares a batch.

    Raises:
        ImportError: SGLang is not installed.
    """
    importlib.import_module(targets.SCHEDULER)
    binder = _Binder(SglangCollector(out))
    binder.collector.wait_with(binder.patches)
    binder.patches.install(CONSTRUCT, binder.construct)
    binder.patches.install(Target("running", targets.NEXT_BATCH.candidates), binder.running)
    return binder.collector


class _Binder:
    """Two hooks that wait for a scheduler and then put themselves away."""

    def __init__(self, collector: SglangCollector) -> None:
        self.collector = collector
        self.patches = Patches(self._failed)

    def construct(self, call: Call) -> Steps:
        """Scheduler.__init__(…)."""
        constructor = vars(sys.modules[targets.SCHEDULER])["Scheduler"].__init__
        self.collector.announce(bound_arguments(constructor, call.positional[1:], call.named))
        try:
            yield
        except BaseException as error:
            self.collector.failed_to_build(error)
            raise
        self._bind(call["self"])

    def running(self, call: Call) -> Steps:
        """A scheduler that was constructed before: its hooks take effect with the next function it calls."""
        self._bind(call["self"])
        yield

    def _bind(self, scheduler: Any) -> None:
        self.patches.undo()
        self.collector.bind(scheduler)

    def _failed(self, name: str, error: BaseException) -> None:
        self.collector.failed_to_build(error)


def bound_arguments(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a method by name, `self` left out; empty if they don't fit its signature."""
    try:
        bound = inspect.signature(function).bind_partial(None, *args, **kwargs).arguments
    except (TypeError, ValueError):
        return {}
    return dict(list(bound.items())[1:])
