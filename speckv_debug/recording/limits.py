"""When a recording ends by itself: after so many steps, at such a size."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from speckv_debug.errors import UsageError

STEPS_VARIABLE = "SPECKV_DEBUG_STEPS"
SIZE_VARIABLE = "SPECKV_DEBUG_MAX_SIZE"
UNITS = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}

log = logging.getLogger("speckv_debug")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """None: no limit.

    Attributes:
        steps: Engine steps; the recording ends before the first event of the next one.
        max_bytes: Size of the whole recording on disk, checked every second.
    """

    steps: int | None = None
    max_bytes: int | None = None

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Limits:
        """The limits that `record` passed on; one that can't be read is logged and left out."""
        return cls(
            steps=_read(env.get(STEPS_VARIABLE), parse_steps),
            max_bytes=_read(env.get(SIZE_VARIABLE), parse_size),
        )


def _read(text: str | None, parse: Callable[[str], T]) -> T | None:
    try:
        return parse(text) if text else None
    except UsageError as error:
        log.warning("speckv-debug: %s: no limit is set", error.what)
        return None


def parse_steps(text: str) -> int:
    """A number of steps, 1 or more.

    Raises:
        UsageError: It is none.
    """
    if not (text.isascii() and text.isdigit() and int(text[:18])):
        raise UsageError(f"{text!r} is no number of steps", "Give an integer from 1 up.")
    return int(text[:18])


def parse_size(text: str) -> int:
    """`1048576`, `512KiB`, `20 MiB`, `1.5GiB` as bytes.

    Raises:
        UsageError: It is no size.
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([a-z]*)", text.strip().lower())
    if not match or match[2] not in UNITS or not (size := int(float(match[1]) * UNITS[match[2]])):
        raise UsageError(f"{text!r} is no size", "Give bytes, or a number with KiB, MiB or GiB.")
    return size
