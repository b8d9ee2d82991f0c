"""Finding a release's functions and counting where ours differ from them."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from typing import Any

from torch import Tensor

counts: dict[str, Counter[str]] = {}
"""By function: how much was compared, and how many elements differ."""
SHARE = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
"""The part of the inputs that a run takes: 1 is all."""


def some(inputs: int) -> int:
    """How many of so many inputs a run takes."""
    return max(1, round(SHARE * inputs))


def find(name: str, *modules: str) -> Any:
    """The object of that name in the first of SGLang's modules that has it, else None."""
    for module in modules:
        try:
            return getattr(importlib.import_module(f"sglang.{module}"), name)
        except (ImportError, AttributeError):
            continue
    return None


def tally(name: str, compared: int, ours: Tensor, real: Tensor) -> None:
    """Count what was compared, and the elements that differ (a wrong shape: all)."""
    counts.setdefault(name, Counter())
    same = ours.shape == real.shape
    bad = int((ours.long() != real.long()).sum()) if same else compared
    counts[name].update({"compared": compared, "differ": bad})
