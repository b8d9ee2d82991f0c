"""One call of an engine's function: its arguments by name, and where it was made."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from typing import Any


class Call:
    """The arguments of one call, by the names of the function's parameters."""

    __slots__ = ("_args", "_kwargs", "_places")

    def __init__(self, places: Mapping[str, int], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._places, self._args, self._kwargs = places, args, kwargs

    @property
    def positional(self) -> tuple[Any, ...]:
        """The arguments that were passed by place."""
        return self._args

    @property
    def named(self) -> dict[str, Any]:
        """The arguments that were passed by name."""
        return self._kwargs

    def __getitem__(self, name: str) -> Any:
        if name in self._kwargs:
            return self._kwargs[name]
        return self._args[self._places[name]]

    def get(self, name: str, default: Any = None) -> Any:
        """The argument, or `default` if it was not passed or the function has no such parameter."""
        try:
            return self[name]
        except (KeyError, IndexError):
            return default


def call_site(inside: Callable[[types.FrameType], bool]) -> str | None:
    """`file:function` of the innermost caller outside this package for which `inside` is false."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("speckv_debug.") and not inside(frame):
            return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_code.co_name}"
        frame = frame.f_back
    return None
