"""How much of each SGLang release is recorded.

What a process really records stands in process.json (`hooks`, `tables`); a tier says what is promised and tested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from speckv_debug.collectors.hooking import Target
from speckv_debug.collectors.sglang import targets

FULL, GOOD, BASIC, UNTESTED = "full", "good", "basic", "untested"
PATCHES = {FULL: range(19, 24), GOOD: range(15, 19), BASIC: range(12, 15)}
"""Tiers and the releases 0.5.N that they hold."""
KNOWN = tuple(f"0.5.{patch}" for patch in range(12, 24))
BASIC_HOOKS = (
    *(targets.NEXT_BATCH, targets.RUN_BATCH, targets.PROCESS_RESULT, targets.ON_IDLE, targets.EVENT_LOOP),
    *(targets.VERIFY, targets.PREPARE_VERIFY, targets.SAMPLE, targets.GREEDY),
    *(targets.PREPARE_EXTEND, targets.PREPARE_DECODE, targets.PREPARE_SPEC, targets.RESOLVE),
    *(targets.RELEASE, targets.RETRACT),
)
"""Accept, lengths and release: what the tier `basic` has to have."""


def tier(release: str | None) -> str:
    """The tier of a release; a release candidate or a local build counts as its release."""
    found = re.match(r"0\.5\.(\d+)(?!\d)", release or "")
    patch = int(found.group(1)) if found else None
    return next((name for name, patches in PATCHES.items() if patch in patches), UNTESTED)


def promised(release: str) -> Iterable[Target]:
    """The hooks that the release's tier has to resolve; an optional one may be missing in any."""
    if tier(release) == BASIC:
        return BASIC_HOOKS
    every = (value for value in vars(targets).values() if isinstance(value, Target))
    return [target for target in every if not target.optional]
