"""When memory that refers to itself is taken back: while nobody types, for a look through all objects lasts as long as a frame.

Python's own full collections come at any time, in the middle of what a key asked for, and grow with what the screens hold.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

QUIET_S = 0.4
"""How long no key has come before a full collection."""
LOOKED_EVERY_S = 0.2
WORTH, PRESSING = 10, 20
"""Collections of what is young: after so many a full one is worth while, after so many it waits for no quiet."""
NEVER = 1 << 30


class Tidying:
    """Full collections on demand; `now` has the time in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._typed = now()
        self._left = False
        self._before: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """From now on none comes by itself."""
        self._before = gc.get_threshold()
        gc.set_threshold(*self._before[:2], NEVER)

    def end(self) -> None:
        """As it was before."""
        if self._before is not None:
            gc.set_threshold(*self._before)

    def typed(self) -> None:
        """A key or the mouse was used."""
        self._typed = self._now()

    def left(self) -> None:
        """A screen was left: what it listed can be let go of."""
        self._left = True

    def tick(self) -> bool:
        """Collect if it is time; whether it was."""
        quiet = self._now() - self._typed >= QUIET_S
        young = gc.get_count()[2]
        if young < PRESSING and not (quiet and (self._left or young >= WORTH)):
            return False
        self._left = False
        gc.collect()
        return True
