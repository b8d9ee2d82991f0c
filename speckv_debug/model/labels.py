"""Names that people type, and those that there are: what was meant, and what to name where nothing was."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from speckv_debug.errors import UsageError
from speckv_debug.model.text import printable

SHOWN = 5
"""How many names a message gives."""
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
    """The names that look like the wanted one, or else all."""
    return difflib.get_close_matches(wanted, known, n=SHOWN, cutoff=ALIKE) or known


def meant(wanted: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """`Did you mean run? ` for the one name that looks most like the wanted one; nothing if none is so much alike."""
    near = difflib.get_close_matches(wanted, list(known), n=1, cutoff=cutoff)
    return f"Did you mean {near[0]}? " if near else ""


def some(names: Iterable[str], most: int = SHOWN) -> str:
    """A few names, escaped, and how many more there are."""
    shown = [printable(name) for name in names]
    rest = f" and {len(shown) - most} more" if len(shown) > most else ""
    return (", ".join(shown[:most]) or "none") + rest
