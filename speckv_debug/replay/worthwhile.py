"""Whether so much work is worth the time to load compiled code."""

from __future__ import annotations

COMPILED_FROM = 20_000
"""Events, or values of their lists, from which on it is: below, plain NumPy is done before the code is loaded."""


def worth_compiling(count: int) -> bool:
    """Whether `count` events or values are enough for compiled code."""
    return count >= COMPILED_FROM
