"""Calls a group's hooks as the engine's functions would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from speckv_debug.collectors.around import WHOLE, Around
from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Unless
from speckv_debug.collectors.sglang.scene import HookGroup


def enter(group: HookGroup, name: str, **arguments: Any) -> Callable[..., None]:
    """Run the hook of a name up to the engine's function; what is returned lets the function return, or raise."""
    hook: Any = next(hook for target, hook in group.functions() if target.name == name)
    if isinstance(hook, Around):
        if isinstance(hook.takes, tuple):
            told = [arguments.get(name) for name in hook.takes]
        else:
            told = [Call({}, (), arguments) if hook.takes == WHOLE else arguments.get(hook.takes)]
        state = hook.before(*told)
        return lambda result=None: hook.after and hook.after(state, result)
    steps = (hook.hook if isinstance(hook, Unless) else hook)(Call({}, (), arguments))
    next(steps)

    def leave(result: Any = None) -> None:
        try:
            steps.send(result)
        except StopIteration:
            return
        raise AssertionError("a hook has one yield")

    return leave
