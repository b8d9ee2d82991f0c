"""What an engine does differently by version, where a law has to know."""

from __future__ import annotations

import re
from typing import Any

from speckv_debug.model.process import Process

Version = tuple[int, ...]
RESERVE_AHEAD: Version = (0, 5, 12)
"""The oldest SGLang whose growth is known: it reserves for the verify in flight and for the next one."""
PAGE_ALIGNED_RESERVE: Version = (0, 5, 16)
"""SGLang rounds the reserve up to a page from here on."""
NO_PRECLAIM: Version = (0, 5, 15)
"""SGLang's decode preparation no longer commits the bonus before its result from here on."""
NO_FREE_ON_REJECT: Version = (0, 5, 14)
"""SGLang keeps the room of rejected rows from here on; before, V1 workers free it and set the allocated length back."""
TAIL_BY_ALLOCATOR_PAGE: Version = (0, 5, 17)
"""SGLang aligns the free of a tail with the allocator's page from here on, not with the server's."""
TURNS_ARE_SESSIONS: Version = (0, 5, 22)
"""SGLang counts what a session's turn holds as the session's from here on while it runs, its first turn included."""

TAIL_OF_CHUNK: Version = (0, 5, 13)
"""SGLang's draft stores the prompt's next token at the end of a chunk from here on, not the one that was sampled there."""

ROW_ZERO_PADS = ("sglang", "reference")
"""Engines of which it is known that request row 0 belongs to padding."""


def sglang_version(info: Process) -> Version | None:
    """The release as integers, None if another engine or none is named."""
    if (info.engine or "").lower() != "sglang":
        return None
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", str(info.engine_version or ""))
    return tuple(int(part) for part in found.groups()) if found else None


def aligns_tail_by_server_page(info: Process) -> bool:
    """Whether a tail free may start inside a page of the allocator: old releases under decode context parallelism."""
    version = sglang_version(info)
    widened = _number(info.settings.get("dcp_size")) > 1
    return widened and (version is None or version < TAIL_BY_ALLOCATOR_PAGE)


def preclaims(info: Process) -> bool:
    """Whether a preparation may commit the bonus token ahead of its result."""
    version = sglang_version(info)
    return version is not None and version < NO_PRECLAIM


def may_free_on_reject(info: Process) -> bool:
    """Whether a commit may set the allocated length back to the committed one: V1 workers, or an unknown release."""
    version = sglang_version(info)
    return (info.engine or "").lower() == "sglang" and (version is None or version < NO_FREE_ON_REJECT)


def may_preclaim(info: Process) -> bool:
    """The same, or SGLang of a release that is not known."""
    return preclaims(info) or ((info.engine or "").lower() == "sglang" and sglang_version(info) is None)


def counts_turns_as_sessions(info: Process) -> bool:
    """Whether the engine's figure of sessions holds that of turns that run."""
    version = sglang_version(info)
    return version is not None and version >= TURNS_ARE_SESSIONS


def reserves_first_row(info: Process) -> bool:
    """Whether row 0 of req_to_token is there for rows that pad a batch, and never handed out (SGLang 0.5.12 to 0.5.23)."""
    return (info.engine or "").lower() in ROW_ZERO_PADS


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
