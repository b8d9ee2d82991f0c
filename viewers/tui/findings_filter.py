"""Which findings are shown: words that they must have, and `rule:`, `severity:`, `request:`, `process:`, `step:`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from speckv_debug.model.finding import Finding
from speckv_debug.viewers.tui.widgets.finding_list import where

FIELDS: dict[str, Callable[[Finding], str]] = {
    "rule": lambda finding: finding.rule,
    "severity": lambda finding: str(finding.severity),
    "request": lambda finding: finding.request or "",
    "process": lambda finding: finding.process,
    "step": lambda finding: "" if finding.step is None else str(finding.step),
}
WHOLE = ("request", "step")
"""Fields that must be the value; the others begin with it."""


@dataclass(frozen=True, slots=True)
class FindingsFilter:
    """Conditions on fields, all of which must hold, and a text that must occur."""

    fields: tuple[tuple[str, str], ...] = ()
    text: str = ""

    @classmethod
    def of(cls, typed: str) -> FindingsFilter:
        """What was typed: `rule:MOV severity:error backwards`; a request with spaces ends the conditions."""
        fields, words = [], []
        for word in typed.split():
            name, colon, value = word.partition(":")
            if colon and value and name in FIELDS:
                fields.append((name, value))
            else:
                words.append(word)
        return cls(tuple(fields), " ".join(words))

    @property
    def typed(self) -> str:
        """As it is typed."""
        return " ".join(
            [*(f"{name}:{value}" for name, value in self.fields), *([self.text] if self.text else [])]
        )

    def wants(self, finding: Finding) -> bool:
        """Whether a finding is shown."""
        text = f"{finding.rule} {where(finding, True)} {finding.message}".lower()
        return self.text.lower() in text and all(_holds(finding, *field) for field in self.fields)

    def toggled(self, name: str, finding: Finding) -> FindingsFilter:
        """The same with a condition on one field, that of `finding`; without, if there was any."""
        others = tuple(field for field in self.fields if field[0] != name)
        value = FIELDS[name](finding)
        if len(others) < len(self.fields) or not value or " " in value:
            return FindingsFilter(others, self.text)
        return FindingsFilter((*others, (name, value)), self.text)


def _holds(finding: Finding, name: str, value: str) -> bool:
    own = FIELDS[name](finding).lower()
    return own == value.lower() if name in WHOLE else own.startswith(value.lower())
