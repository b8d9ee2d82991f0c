"""Which allocator hands out the ids of a pool, and which page a slot lies in.

A slot id means something only inside its namespace. Pools that name another in `allocated_by` share
its ids (SGLang's draft pool those of the target), every other pool has ids of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from speckv_debug.model.process import Pool, Process
from speckv_debug.replay.columns import Texts
from speckv_debug.replay.ragged import Int64s, Ragged, starts

FULL = "full"
COUNTED = "c128"
"""The kind of pools whose pages are kept by counted references."""
FOLLOWED = ("full", "swa", "draft", "indexer", "mamba", COUNTED)
"""Kinds of pools whose slots are granted and freed one by one or page by page; entries of C4 lie by the slots of another pool,
rings of state by request row or page."""
SLOT_LIMIT = 1 << 24
"""Largest slot id followed where a recording does not say how large its pool is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """The ids of one allocator; where its pages can't be followed, `page_size` is 1 and `paged` False."""

    name: str
    kind: str
    page_size: int
    paged: bool
    reserved: int
    bound: int


@dataclass(frozen=True, slots=True)
class PageLists:
    """The pages of lists of slots.

    Attributes:
        slots: The lists as recorded.
        of_slot: Page of each slot, parallel to `slots.values`; -1 of a reserved or impossible slot.
        runs: The same pages, neighbours in one page named once (each slot at page size 1); without -1.
    """

    slots: Ragged
    of_slot: Int64s
    runs: Ragged


class Namespaces:
    """The allocators of one process; `main` is the one that req_to_token draws from."""

    def __init__(self, info: Process) -> None:
        self._pools = {pool.name: pool for pool in info.pools}
        self.main_name = info.main_pool
        self._index: dict[str, int] = {}
        self.all: list[Namespace] = []
        self.main = self.index(self.main_name)
        for name in self._pools:
            self.index(name)

    def index(self, pool: str | None) -> int:
        """Number of the allocator that hands out the ids of that pool."""
        name = self._allocator(pool or self.main_name)
        if name not in self._index:
            self._index[name] = len(self.all)
            self.all.append(_namespace(name, self._pools.get(name)))
        return self._index[name]

    def share_ids(self, first: str | None, second: str | None) -> bool:
        """Whether a slot id means the same in both pools."""
        return self.index(first) == self.index(second)

    def indices(self, pools: Texts) -> Int64s:
        """The same for a column of pool names."""
        known = np.array([self.index(name) for name in pools.names] + [self.main], dtype=np.int64)
        return known[pools.codes]  # -1, absent, is the last entry

    def pages(self, slots: Ragged, namespace: Int64s) -> PageLists:
        """Pages of lists of slots, `namespace[i]` being the allocator of list i."""
        size, reserved, bound = (
            np.array([getattr(n, name) for n in self.all], dtype=np.int64)[namespace][slots.owners]
            for name in ("page_size", "reserved", "bound")
        )
        inside = (slots.values >= reserved) & (slots.values < bound)
        of_slot = np.where(inside, slots.values // size, -1)
        return PageLists(slots, of_slot, _runs(slots, of_slot, size))

    def _allocator(self, name: str) -> str:
        seen: set[str] = set()
        while name not in seen and (pool := self._pools.get(name)) is not None and pool.allocated_by:
            seen.add(name)
            name = pool.allocated_by
        return name


def _namespace(name: str, pool: Pool | None) -> Namespace:
    size = pool.page_size if pool is not None else None
    paged = size is not None and size > 0 and pool is not None and pool.kind in FOLLOWED
    page_size = size if size is not None and paged else 1
    reserved = pool.reserved_slots if pool is not None else None
    bound = pool.id_bound if pool is not None else None
    return Namespace(
        name=name,
        kind=pool.kind if pool is not None else FULL,
        page_size=page_size,
        paged=paged,
        reserved=max(0, page_size if reserved is None else reserved),
        bound=SLOT_LIMIT if bound is None else bound,
    )


def _runs(slots: Ragged, of_slot: Int64s, size: Int64s) -> Ragged:
    """Pages with neighbours in one page named once, lists kept apart."""
    new = np.ones(len(of_slot), dtype=np.bool_)
    new[1:] = of_slot[1:] != of_slot[:-1]
    new[slots.offsets[:-1][slots.lengths > 0]] = True
    keep = (of_slot >= 0) & (new | (size == 1))
    counts = np.bincount(slots.owners[keep], minlength=len(slots)).astype(np.int64)
    return Ragged(of_slot[keep], starts(counts), slots.present)
