"""Pages that are counted by references, as they stand at one event: who holds them, and what the engine counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.namespaces import COUNTED
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.ref_entries import RefEntries

COLUMNS = ("pool", "action", "pages", "holder", "count_after")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPage:
    """One page that somebody holds, or that the engine counts.

    Attributes:
        count: References by the engine's own figure, else by those that were seen; None if neither is known.
        holders: Who holds it, by name; all nodes of the prefix tree are one.
    """

    page: int
    count: int | None
    holders: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPool:
    """The held pages of one pool, ascending."""

    pool: str
    pages: tuple[CountedPage, ...]

    @property
    def references(self) -> int:
        """All holds together."""
        return sum(len(page.holders) for page in self.pages)


def counted_pools(process: ProcessRecording, seq: int) -> tuple[CountedPool, ...]:
    """The pools of counted pages after event `seq`; none where no reference was recorded."""
    names = [pool.name for pool in process.info.pools if pool.kind == COUNTED]
    if not names or "page_ref" not in process.files:
        return ()
    table, cache = Columns(process.columns("page_ref", *COLUMNS)), Columns(process.columns("cache", "action"))
    pool = table.texts("pool").numbered({name: at for at, name in enumerate(names)}, absent=0)
    resets = cache.ints("seq")[cache.texts("action").equal("reset")]
    entries = RefEntries(table, pool, resets, process.info.from_start and process.info.records("page_ref"))
    return tuple(CountedPool(pool=name, pages=_pages(entries, at, seq)) for at, name in enumerate(names))


def _pages(entries: RefEntries, pool: int, seq: int) -> tuple[CountedPage, ...]:
    """The pages of a pool that are held or counted after `seq`, by the last entry of each page and holder."""
    now = entries.era_of(np.array([seq], dtype=np.int64) + 1)
    mine = np.flatnonzero((entries.pool == pool) & (entries.seq <= seq) & (entries.era == now))
    counts = {int(entries.page[k]): int(entries.count[k]) for k in mine.tolist()}
    held: dict[int, dict[int, tuple[str, int]]] = {}
    for k in mine.tolist():
        name = entries.name(k)
        if name is not None:
            of_page = held.setdefault(int(entries.page[k]), {})
            of_page[int(entries.holder[k])] = (_short(name), int(entries.held[k]))
    found = []
    for page, count in sorted(counts.items()):
        holders = [name for name, times in held.get(page, {}).values() for _ in range(max(0, times))]
        if holders or count not in (0, NULL):
            told = None if count == NULL else count
            found.append(CountedPage(page=page, count=told, holders=tuple(sorted(holders))))
    return tuple(found)


def _short(name: str) -> str:
    return "tree" if name.startswith("tree:") else name
