"""When a fault fires, and what it says of it outside the recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(slots=True, kw_only=True)
class Shot:
    """Fires once, at the n-th suitable occasion.

    Attributes:
        occasion: Which suitable occasion it waits for, counted from 1.
        step: Engine step at which the engine first did wrong; None as long as it did not.
        request: The request that it happened to.
    """

    occasion: int = 2
    step: int | None = None
    request: str | None = None
    seen: int = 0

    @property
    def fired(self) -> bool:
        """The engine has done wrong."""
        return self.step is not None

    def due(self, step: int, request: str | None) -> bool:
        """Count one suitable occasion; True at the one to fire at."""
        self.seen += 1
        if self.fired or self.seen != self.occasion:
            return False
        self.step, self.request = step, request
        return True


def wrap(owner: object, method: str, wrapper: Wrapper) -> None:
    """Replace a bound method of one object by what `wrapper` makes of it."""
    setattr(owner, method, wrapper(getattr(owner, method)))
