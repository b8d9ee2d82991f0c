"""Which rules run: by name, and with or without those that run the kernels."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from speckv_debug.checks import RULES
from speckv_debug.checks.rule import Rule
from speckv_debug.errors import UsageError
from speckv_debug.model.labels import meant

Replay = Literal["on", "off", "only"]
NEAR = 0.5
"""How alike a misspelt rule id must be to be suggested, of 1."""


def select(only: Collection[str], ignore: Collection[str], replay: Replay = "on") -> tuple[Rule, ...]:
    """The rules to run, in the order of the catalogue.

    Args:
        only: Rule ids to run, all if empty.
        ignore: Rule ids to leave out.
        replay: `off` leaves out the rules that run the kernels, `only` leaves out all others.

    Raises:
        UsageError: A rule id that does not exist, or one to run that `replay` leaves out; no rule is left.
    """
    left_out = {named(id).id for id in ignore}
    for id in only:
        _refuse_left_out(named(id), replay)
    chosen = {named(id).id for id in only} or set(RULES)
    rules = tuple(
        rule for id, rule in RULES.items() if id in chosen - left_out and rule.replays in _KINDS[replay]
    )
    if not rules:
        raise UsageError(
            "no rule is left to run", "Leave out fewer: --ignore takes away what --rule asks for."
        )
    return rules


_KINDS: dict[Replay, tuple[bool, ...]] = {"on": (False, True), "off": (False,), "only": (True,)}


def _refuse_left_out(rule: Rule, replay: Replay) -> None:
    if rule.replays not in _KINDS[replay]:
        what = "runs the kernels" if rule.replays else "is a law"
        raise UsageError(
            f"{rule.id} {what}, which --replay {replay} leaves out",
            f"Say --replay on, or leave --rule {rule.id} out.",
        )


def named(id: str) -> Rule:
    """The rule of that id, in any case.

    Raises:
        UsageError: There is none; the message names the nearest.
    """
    if (rule := RULES.get(id.upper())) is not None:
        return rule
    hint = meant(id.upper(), RULES, NEAR)
    raise UsageError(f"there is no rule {id!r}", f"{hint}`speckv-debug rules` lists all.")
