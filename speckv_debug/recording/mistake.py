"""A mistake in one line of JSON Lines; the importer adds the file's name and the line's number."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any


class Mistake(Exception):
    """What is wrong with a line, and what to write instead."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def shown(value: Any) -> str:
    """A value as it stands in the file, shortened."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def nearest(name: str, known: Iterable[str]) -> str:
    """`Did you mean "alloc"?`, or an empty string if nothing is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f'Did you mean "{near[0]}"?' if near else ""
