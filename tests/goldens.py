"""Outputs that are held byte for byte; with UPDATE_GOLDEN=1 in the environment they are written anew."""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str, out: str) -> str:
    """What tests/golden/`name` holds: what `out` should be."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(out)
    return path.read_text()
