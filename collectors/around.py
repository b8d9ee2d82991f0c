"""Hooks of functions that run in every step: plain functions around the engine's, for a generator costs three times as much.

Between an engine's steps our code and its objects have left the processor's caches: what a hook costs there is how
much of them it touches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from speckv_debug.collectors.calls import Call

WHOLE = "*"
"""What `takes` says where `before` gets the whole call."""
MANY = 1 << 20
"""The place of a parameter that the function doesn't have."""
NOTHING = ""
"""What `takes` says where `before` gets None."""
Takes = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Around:
    """What runs before and after an engine's function.

    Attributes:
        before: Gets the arguments that are named, or the whole call; what it returns is handed on.
        after: Gets that and the function's result, if it returned; None for nothing.
        failed: Gets it if the function raised; None for nothing.
        takes: Name of a parameter that every call passes, names of some (None for what a call does not pass),
            `NOTHING` or `WHOLE`.
    """

    before: Callable[..., Any]
    after: Callable[[Any, Any], object] | None = None
    failed: Callable[[Any], object] | None = None
    takes: Takes = WHOLE


def wrapped(
    name: str,
    function: Callable[..., Any],
    hook: Around,
    places: Mapping[str, int],
    silent: Collection[str],
    switch_off: Callable[[str, BaseException], None],
) -> Callable[..., Any]:
    """The function with its hook. It is called exactly once, with its own arguments; what it does passes unchanged.

    Args:
        name: The hook's.
        function: The engine's.
        places: Place of each of its parameters.
        silent: Names of hooks that are to do nothing any more.
        switch_off: Told what the hook itself raised.
    """
    before, after, failed, wanted = hook.before, hook.after, hook.failed, hook.takes
    whole, nothing, several = wanted == WHOLE, wanted == NOTHING, isinstance(wanted, tuple)
    place = 0 if isinstance(wanted, tuple) else places.get(wanted, 0)
    named = [(each, places.get(each, MANY)) for each in wanted] if isinstance(wanted, tuple) else []

    def leave(state: Any) -> None:
        try:
            if failed is not None:
                failed(state)
        except Exception as error:  # noqa: BLE001
            switch_off(name, error)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if name in silent:
            return function(*args, **kwargs)
        try:
            if nothing:
                state = before(None)
            elif several:
                count = len(args)
                state = before(
                    *[kwargs[n] if n in kwargs else args[p] if p < count else None for n, p in named]
                )
            elif whole:
                state = before(Call(places, args, kwargs))
            else:
                state = before(kwargs[wanted] if wanted in kwargs else args[place])
        except Exception as error:  # noqa: BLE001 (nothing of ours may reach the engine)
            switch_off(name, error)
            return function(*args, **kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException:
            leave(state)
            raise
        if after is not None:
            try:
                after(state, result)
            except Exception as error:  # noqa: BLE001
                switch_off(name, error)
        return result

    return wrapper
