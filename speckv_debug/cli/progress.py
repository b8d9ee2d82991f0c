"""A bar on a terminal for work that takes more than a second."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

WIDTH = 30
QUICK_S = 1.0


class ProgressBar:
    """Call it with the share that is done, 0 to 1; it draws on a terminal only, and leaves the line empty behind it.

    Args:
        what: What is being done, in a word.
        stream: Where to draw, standard error if None.
        clock: Seconds since any moment.
    """

    def __init__(
        self, what: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what, self._stream, self._clock = what, stream or sys.stderr, clock
        self._began, self._drawn = clock(), ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            self._write(" " * len(self._drawn))
            self._write("")

    def __call__(self, share: float) -> None:
        if (
            not self._stream.isatty()
            or os.environ.get("TERM") == "dumb"
            or self._clock() - self._began < QUICK_S
        ):
            return
        filled = int(share * WIDTH)
        line = f"{self._what} {'█' * filled}{'░' * (WIDTH - filled)} {share:4.0%}"
        if line != self._drawn:
            self._write(line)
            self._drawn = line

    def _write(self, line: str) -> None:
        self._stream.write(f"\r{line}")
        self._stream.flush()
