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
        if name in self._kwargs:
            return self._kwargs[name]
        place = self._places.get(name)
        return default if place is None or place >= len(self._args) else self._args[place]


def call_site(inside: Callable[[types.FrameType], bool]) -> str | None:
    """`file:function` of the innermost caller outside this package for which `inside` is false.

    `inside` is asked once for each code object.
    """
    frame: types.FrameType | None = sys._getframe(1)
    sites = _sites.setdefault(inside, {})
    while frame is not None:
        known = sites.get(id(frame.f_code))
        if known is None:
            known = sites[id(frame.f_code)] = (_site(frame, inside), frame.f_code)
        if known[0] is not None:
            return known[0]
        frame = frame.f_back
    return None


_sites: dict[Any, dict[int, tuple[str | None, types.CodeType]]] = {}
"""What was said of a code object, by its `id`: to hash one takes longer than to look."""


def _site(frame: types.FrameType, inside: Callable[[types.FrameType], bool]) -> str | None:
    module = frame.f_globals.get("__name__", "")
    if module.startswith("speckv_debug.") or inside(frame):
        return None
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_code.co_name}"
