"""What a collector is to the rest of the program: it attaches to an engine, records, and lets go again."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

OUT_VARIABLE = "SPECKV_DEBUG_OUT"
"""The recording that engine processes write into; recording is on if and only if it is set."""

LEVEL_VARIABLE = "SPECKV_DEBUG_LEVEL"
"""How much is recorded: 1, 2 or 3."""
DEFAULT_LEVEL = 2
LEVELS = ("1", "2", "3")

log = logging.getLogger("speckv_debug")


def level_from_env(env: Mapping[str, str] = os.environ) -> int:
    """The level that `record --level` passed on, 2 without; one that is none is logged and left out."""
    text = env.get(LEVEL_VARIABLE)
    if not text or text in LEVELS:
        return int(text or DEFAULT_LEVEL)
    log.warning("speckv-debug: %s is %r, not 1, 2 or 3: recording at level 2", LEVEL_VARIABLE, text)
    return DEFAULT_LEVEL


RANKS_VARIABLE = "SPECKV_DEBUG_RANKS"
"""`all`: every rank of a tensor-parallel group records, not only the first."""
ALL_RANKS = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a collector records of this process, as far as it knows by now.

    Attributes:
        tables: Tables (or `table:kind`) recorded whole: absence of such an event is evidence.
        hooks: Each hook's name and what it resolved to, None if nothing did.
        pools: Entries of process.json's `pools`.
        settings: Entries of process.json's `settings`.
        from_start: Whether everything since the process's first allocation is recorded.
    """

    tables: tuple[str, ...] = ()
    hooks: Mapping[str, str | None] = field(default_factory=dict)
    pools: tuple[Mapping[str, Any], ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    from_start: bool = False

    def as_fields(self) -> dict[str, Any]:
        """The same as fields of process.json."""
        return {
            "tables": list(self.tables),
            "hooks": dict(self.hooks),
            "pools": [dict(pool) for pool in self.pools],
            "settings": dict(self.settings),
            "from_start": self.from_start,
        }


class Collector(Protocol):
    """One engine process that is being recorded."""

    @property
    def capabilities(self) -> Capabilities:
        """What is recorded."""

    def detach(self) -> None:
        """Put the engine's functions back and close the recording; may be called again."""


def handshake(
    engine: str,
    version: str | None,
    rank: Mapping[str, int | None],
    capabilities: Capabilities,
    tier: str | None = None,
) -> dict[str, Any]:
    """The content of process.json with which an engine process reports to the recording.

    Args:
        engine: Name of the engine, the collector's folder.
        version: The engine's release.
        rank: `tp`, `pp` and `dp` ranks, None where unknown.
        capabilities: What is recorded.
        tier: How much of this release is promised, if the collector knows releases apart.
    """
    import socket  # not for a process that only loads the plugin

    return {
        "engine": engine,
        "engine_version": version,
        "adapter": f"{engine} ({tier})" if tier else engine,
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "rank": dict(rank),
        **capabilities.as_fields(),
    }
