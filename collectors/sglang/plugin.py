"""SGLang's plugin entry point, and `attach` for a process that builds the scheduler itself.

Importing this imports neither SGLang nor torch, and `register` does nothing unless recording is on. Then it waits
for the moment in which a `Scheduler` is constructed: no other process of a server (launcher, tokenizer,
detokenizer) ever does that, and by then all plugins have been applied, so that hooks wrap what really runs.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv_debug.collectors.base import OUT_VARIABLE

if TYPE_CHECKING:
    from speckv_debug.collectors.sglang.collector import SglangCollector

SCHEDULER = "sglang.srt.managers.scheduler"
log = logging.getLogger("speckv_debug")
_waiting = False
_current: SglangCollector | None = None


def register() -> None:
    """Entry point of group `sglang.srt.plugins`: called once in each process that loads plugins."""
    global _waiting
    if not os.environ.get(OUT_VARIABLE) or _waiting:
        return
    _waiting = True
    if SCHEDULER in sys.modules or _is_scheduler_process():
        _guarded(_hook_constructor)
    else:
        from speckv_debug.collectors.sglang.awaiting import when_imported

        when_imported(SCHEDULER, _hook_and_apply)


def attach(out: Path) -> SglangCollector:
    """Record the scheduler that this process builds from now on, or the one that it runs.

    Args:
        out: The recording; under `record` the one that it was told to write.

    Returns:
        The collector of this process; `detach()` ends the recording.
    """
    global _current
    from speckv_debug.collectors.sglang.attaching import attach_now

    if _current is None or _current.has_ended:
        _current = attach_now(out)
    return _current


def current() -> SglangCollector | None:
    """The collector of this process, None before a scheduler is being built."""
    return _current


def _is_scheduler_process() -> bool:
    """Whether `run_scheduler_process` is running below us; the main module then loads the scheduler anyway."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "run_scheduler_process":
            return True
        frame = frame.f_back
    return False


def _hook_constructor() -> None:
    """Through SGLang's own registry: it composes with other plugins, which may replace the class."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(f"{SCHEDULER}.Scheduler.__init__", _construct, HookType.AROUND)


def _hook_and_apply() -> None:
    from sglang.srt.plugins.hook_registry import HookRegistry

    _hook_constructor()
    HookRegistry.apply_hooks()


def _construct(original: Any, scheduler: Any, *args: Any, **kwargs: Any) -> Any:
    """Around the constructor: report, construct, bind. Nothing of ours reaches the engine."""
    collector = _guarded(_begin, original, args, kwargs)
    try:
        result = original(scheduler, *args, **kwargs)
    except BaseException as error:
        if collector is not None:
            _guarded(collector.failed_to_build, error)
        raise
    if collector is not None:
        _guarded(collector.bind, scheduler)
    return result


def _begin(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> SglangCollector | None:
    global _current
    if _current is not None:
        return None
    from speckv_debug.collectors.sglang.attaching import bound_arguments
    from speckv_debug.collectors.sglang.ranks import is_recorded

    arguments = bound_arguments(original, args, kwargs)
    if not is_recorded(arguments):
        return None
    from speckv_debug.collectors.sglang.collector import SglangCollector

    _current = SglangCollector(Path(os.environ[OUT_VARIABLE]))
    _current.announce(arguments)
    return _current


def _guarded(action: Any, *args: Any) -> Any:
    try:
        return action(*args)
    except Exception:
        log.exception("speckv-debug: recording could not begin")
        return None
