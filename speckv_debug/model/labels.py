"""Names that people type, and those that there are: what was meant, and what to name where nothing was."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence

from speckv_debug.errors import UsageError
from speckv_debug.model.text import printable

SHOWN = 5
"""How many names a message gives."""
LONGEST = 40
"""Signs of a name in a message."""
DIGITS = 18
"""Of a name that may be a number."""
COMPARED = 5000
"""Names that are compared sign by sign; of more, how they begin counts."""
ALIKE = 0.5
"""How alike a name must be to be called near, of 1."""


def process_meant(label: str, labels: Sequence[str]) -> str:
    """The one process whose label is `label` or begins with it.

    Raises:
        UsageError: No process, or more than one, answers to `label`.
    """
    found = [label] if label in labels else [known for known in labels if known.startswith(label)]
    if len(found) == 1:
        return found[0]
    what = "is the beginning of several processes" if found else "is no process of this recording"
    raise UsageError(f"{printable(label)} {what}", f"known: {some(found or nearest(label, labels))}")


def nearest(wanted: str, known: Sequence[str]) -> Sequence[str]:
    """The numbers next to a number; of other names those that look like the wanted one, or else all, the nearest first."""
    numbers = [name for name in known if name.isdecimal() and len(name) <= DIGITS]
    if wanted.isdecimal() and numbers:
        number = int(wanted[:DIGITS])
        return sorted(numbers, key=lambda name: (abs(int(name) - number), int(name)))
    if len(known) <= COMPARED and (
        alike := difflib.get_close_matches(wanted[:LONGEST], known, n=SHOWN, cutoff=ALIKE)
    ):
        return alike
    return sorted(known, key=lambda name: (-len(os.path.commonprefix([name, wanted])), name))


def shortened(name: str) -> str:
    """A name that is too long for a message, cut in the middle: ids often differ at their ends."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}…{name[1 - LONGEST // 2 :]}"


def meant(wanted: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """`Did you mean run? ` for the one name that looks most like the wanted one; nothing if none is so much alike."""
    near = difflib.get_close_matches(wanted, list(known), n=1, cutoff=cutoff)
    return f"Did you mean {near[0]}? " if near else ""


def some(names: Iterable[str], most: int = SHOWN) -> str:
    """A few names, escaped, and how many more there are."""
    shown = [shortened(printable(name)) for name in names]
    rest = f" and {len(shown) - most} more" if len(shown) > most else ""
    return (", ".join(shown[:most]) or "none") + rest
