"""Keys that come faster than a prompt closes: they belong to what comes behind it, not into its text."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.events import Key
from textual.widget import Widget

from speckv_debug.viewers.tui.widgets.prompt import Prompt

CLOSING = ("enter", "escape")
LONGEST_S = 2.0
"""How long they are kept where nobody says that the prompt has closed: its screen may be gone."""


class TypedAhead:
    """Keeps keys in their order; `now` has the time in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._since: float | None = None
        self._keys: list[Key] = []

    def keeps(self, key: Key, focused: Widget | None) -> bool:
        """Whether a key waits until the prompt has closed; one that closes it is let through."""
        if self._since is not None:
            self._keys.append(key)
            return True
        if isinstance(focused, Prompt) and key.key in CLOSING:
            self._since = self._now()
        return False

    @property
    def waits(self) -> bool:
        """Whether a prompt is closing."""
        return self._since is not None

    @property
    def overdue(self) -> bool:
        """Whether they have waited too long."""
        return self._since is not None and self._now() - self._since >= LONGEST_S

    def taken(self) -> list[Key]:
        """The keys that were kept; from now on none is."""
        keys, self._keys, self._since = self._keys, [], None
        return keys
