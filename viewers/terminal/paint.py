"""Colours that repeat what the text says; nothing at all where they are off."""

from __future__ import annotations

from dataclasses import dataclass

from speckv_debug.model.finding import Severity

RESET = "\x1b[0m"
CODES = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.NOTE: "\x1b[36m"}


@dataclass(frozen=True, slots=True)
class Paint:
    """How to set off a word."""

    on: bool

    def severity(self, text: str, severity: Severity) -> str:
        """The mark of a finding."""
        return self._with(CODES[severity], text)

    def good(self, text: str) -> str:
        """Nothing found."""
        return self._with("\x1b[32m", text)

    def bad(self, text: str) -> str:
        """Something found."""
        return self._with(CODES[Severity.ERROR], text)

    def doubt(self, text: str) -> str:
        """Nothing known."""
        return self._with(CODES[Severity.WARNING], text)

    def strong(self, text: str) -> str:
        """A name to find again."""
        return self._with("\x1b[1m", text)

    def dim(self, text: str) -> str:
        """What only leads the eye."""
        return self._with("\x1b[2m", text)

    def _with(self, code: str, text: str) -> str:
        return f"{code}{text}{RESET}" if self.on else text
