"""How far a check has come."""

from __future__ import annotations

from collections.abc import Callable

OnProgress = Callable[[float], None]
"""Told the share of the work that is done, 0 to 1."""


class Progress:
    """Counts parts of the work; every rule on a process is one, and reading it in windows as many again."""

    def __init__(self, tell: OnProgress, processes: int, rules: int) -> None:
        self._tell = tell
        self._all, self._done = max(1, 2 * processes * rules), 0.0

    def rule_done(self) -> None:
        """One rule has judged one process."""
        self._done += 1
        self._tell(min(1.0, self._done / self._all))

    def read(self, share: float, rules: int) -> None:
        """So much more of a process has been looked at in windows, for so many rules."""
        self._done += share * rules
        self._tell(min(1.0, self._done / self._all))
