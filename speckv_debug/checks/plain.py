"""Rules over lives where a sweep over a window finds nothing to object to: instances are counted without columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from speckv_debug.checks.reach import NOT_TOLD
from speckv_debug.checks.rule import Rule
from speckv_debug.checks.tokens import NO_TOKENS, NOT_HANDED_ON
from speckv_debug.replay.view import ProcessView
from speckv_debug.replay.worthwhile import worth_compiling

SCOPES = (
    "successions", "bounds", "commits", "late_commits", "growths", "tokens", "reaches", "row_grants", "evictions",
    "session_trims",
)  # fmt: skip
"""Scopes of which `PlainLives` counts the instances of a plain window; the last two have none there."""
UNKNOWN = {
    "tokens": {"unsaid": NO_TOKENS, "unhanded": NOT_HANDED_ON},
    "reaches": {"untold": NOT_TOLD},
}
"""What is counted of a scope's instances that can't be judged → why they can't, in the order of the law's reasons."""


class PlainRules:
    """Counts what rules over lives say of plain windows, for as long as all are plain."""

    def __init__(self, view: ProcessView, rules: Sequence[Rule]) -> None:
        known = all(rule.scope in SCOPES for rule in rules)
        self._worthwhile = known and worth_compiling(view.process.rows)
        if self._worthwhile:
            from speckv_debug.replay.plain_lives import PlainLives

            self._lives = PlainLives(view.process)

    def judge(self, window: ProcessView) -> Counter[str] | None:
        """Instances by scope in the next window; None if it is not plain, or can't be swept."""
        if not self._worthwhile:
            return None
        try:
            return self._lives.judge(window)
        except Exception:  # noqa: BLE001 - what it is shows when the rules look at the columns
            return None


def unknown_of(scope: str, counts: Mapping[str, int]) -> Counter[str]:
    """Why instances of a scope can't be judged, and how many."""
    return Counter({why: counts[name] for name, why in UNKNOWN.get(scope, {}).items() if counts[name]})
