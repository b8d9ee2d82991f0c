"""What a recorded process says of itself: engine, rank, pools, settings, what was hooked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAIN = "full"
DRAFT = "draft"
POOL_KINDS = ("full", "swa", "c4", "c128", "c4_state", "c128_state", "mamba", DRAFT, "indexer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Place in the parallel layout; None where unknown."""

    tp: int | None = None
    pp: int | None = None
    dp: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One pool of slots; valid ids are `[0, slots + reserved_slots)`, `page_size` the allocator's."""

    name: str
    kind: str
    slots: int | None = None
    page_size: int | None = None
    reserved_slots: int | None = None
    layers: int | None = None
    namespace: str | None = None
    allocated_by: str | None = None
    components: tuple[str, ...] | None = None
    owner: str | None = None
    attention_page_size: int | None = None

    @property
    def id_bound(self) -> int | None:
        """Exclusive upper bound of valid slot ids, or None if the size is unknown."""
        return None if self.slots is None else self.slots + (self.reserved_slots or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The content of process.json; `raw` keeps every key as it was read."""

    label: str
    engine: str | None = None
    engine_version: str | None = None
    adapter: str | None = None
    pid: int | None = None
    host: str | None = None
    rank: Rank = field(default_factory=Rank)
    tables: tuple[str, ...] = ()
    from_start: bool = False
    pools: tuple[Pool, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    hooks: Mapping[str, str | None] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict)

    def pool(self, name: str | None) -> Pool | None:
        """The pool of that name (the main one if None), or None."""
        return next((p for p in self.pools if p.name == (name or self.main_pool)), None)

    @property
    def main_pool(self) -> str:
        """Name of the pool that req_to_token draws from: `full`, else the first of kind full with ids of its own."""
        if any(pool.name == MAIN for pool in self.pools):
            return MAIN
        return next((p.name for p in self.pools if p.kind == MAIN and not p.allocated_by), MAIN)

    @property
    def draft_pools(self) -> frozenset[str]:
        """Names that stand for a drafter's pool: those declared as one, and `draft`, which need not be declared."""
        return frozenset((DRAFT, *(pool.name for pool in self.pools if pool.kind == DRAFT)))

    @property
    def declared_pools(self) -> frozenset[str]:
        """Names of pools of which the process says what they are; a draft pool is known by its name."""
        return self.draft_pools | {pool.name for pool in self.pools if pool.kind in POOL_KINDS}

    def records(self, table: str, kind: str | None = None) -> bool:
        """Whether absence of an event of `table` (of `kind`) is evidence."""
        return table in self.tables or (kind is not None and f"{table}:{kind}" in self.tables)
