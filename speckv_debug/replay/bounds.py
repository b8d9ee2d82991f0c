"""Bounds and reserves: every report of committed and allocated length, every growth that a preparation decides."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from speckv_debug.kernels.reserve import grown_length, grown_length_unaligned
from speckv_debug.replay.engine_version import PAGE_ALIGNED_RESERVE, RESERVE_AHEAD, sglang_version
from speckv_debug.replay.lengths import ENDINGS, Lengths, Picked
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask


class Bounds:
    """One instance a `lengths` event of the main pool and a `reserve` event, in the order of `seq`.

    Attributes:
        committed, allocated: As reported, NULL if absent; `highest` is what a reserve grows to, else `allocated`.
        ending: The request ends with the event or has ended: its record is reset and says nothing of its row.
        preparing: A preparation for a verify, before which old builds claim the bonus.
    """

    columns_from = ("lengths", "reserve", "release", "row_alloc", "row_free")

    def __init__(self, lengths: Lengths) -> None:
        self.info = lengths.info
        told, reserve = lengths.columns("lengths"), lengths.columns("reserve")
        self._tables = (told, reserve)
        rows = np.flatnonzero(lengths.main)
        table = np.repeat(np.arange(2), (len(rows), len(reserve)))
        index = np.concatenate((rows, np.arange(len(reserve))))
        seq = np.concatenate((told.ints("seq")[rows], reserve.ints("seq")))
        order = np.argsort(seq, kind="stable")
        self._table, self._index, self.seq = table[order], index[order], seq[order]
        self.committed, self.allocated = self._column("committed"), self._column("allocated")
        self.ending = self._cause(*ENDINGS) | self._over(lengths)
        self.preparing = self._cause("spec_prepare") | (self._table == 1)

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        return place_of(self._tables[int(self._table[index])], int(self._index[index]))

    @cached_property
    def highest(self) -> Int64s:
        """The longest that the row becomes with this event."""
        grown = np.append(self._tables[1].ints("new_allocated"), NULL)
        of_reserve = grown[np.where(self._table == 1, self._index, -1)]
        return np.where(of_reserve == NULL, self.allocated, of_reserve)

    def _column(self, name: str) -> Int64s:
        first, second = (np.append(table.ints(name), NULL) for table in self._tables)
        return np.where(
            self._table == 0,
            first[np.where(self._table == 0, self._index, -1)],
            second[np.where(self._table == 1, self._index, -1)],
        )

    def _over(self, lengths: Lengths) -> Mask:
        """The life of the row had ended when the event came (a result that was in flight)."""
        ends = np.append(lengths.lives.end, NEVER)
        first, second = (np.append(ends[lengths.lives.of(name)], NEVER) for name in ("lengths", "reserve"))
        of_lengths = first[np.where(self._table == 0, self._index, -1)]
        of_reserve = second[np.where(self._table == 1, self._index, -1)]
        return np.asarray(self.seq > np.minimum(of_lengths, of_reserve))

    def _cause(self, *causes: str) -> Mask:
        found = np.append(self._tables[0].texts("cause").equal(*causes), False)
        return np.asarray(found[np.where(self._table == 0, self._index, -1)])


class Reserves(Picked):
    """One instance a `reserve` event, with what was granted for it.

    Attributes:
        page_size: The allocator's, or the event's own where the pool does not say; NULL if neither does.
    """

    columns_from = ("reserve", "alloc", "lengths")

    def __init__(self, lengths: Lengths) -> None:
        super().__init__(lengths, "reserve", np.ones(len(lengths.columns("reserve")), dtype=np.bool_))
        space = lengths.namespaces.all[lengths.namespaces.main]
        own = self.ints("page_size")
        self.page_size = np.full(len(self), space.page_size) if space.paged else np.where(own > 0, own, NULL)

    @cached_property
    def known(self) -> Mask:
        """All four numbers of the growth are there."""
        names = ("committed", "allocated", "reserve", "new_allocated")
        return np.asarray(np.all([self.ints(name) != NULL for name in names], axis=0), dtype=np.bool_)

    @cached_property
    def form(self) -> str:
        """How this engine grows: `plain`, `rounded` to a page, or `either` where it is not known."""
        version = sglang_version(self.info)
        if version is None or version < RESERVE_AHEAD:
            return "either"
        return "rounded" if version >= PAGE_ALIGNED_RESERVE else "plain"

    @cached_property
    def plain(self) -> Int64s:
        """`max(K, C + reserve)`, for events that are `known`."""
        return np.asarray(grown_length_unaligned(*self._growth), dtype=np.int64)

    @cached_property
    def rounded(self) -> Int64s:
        """`max(K, ceil(C + reserve))` with the allocator's page (SGLang `page_aligned_decode_alloc_lens`)."""
        size: Any = np.where(self.page_size == NULL, 1, self.page_size)
        return np.asarray(grown_length(*self._growth, size), dtype=np.int64)

    @property
    def _growth(self) -> tuple[Any, Any, Any]:
        """K, C and the reserve, as columns."""
        return self.ints("allocated"), self.ints("committed"), self.ints("reserve")

    @cached_property
    def as_due(self) -> Mask:
        """The row grows as this engine's formula says."""
        grown = self.ints("new_allocated")
        fits: Mask = np.zeros(len(self), dtype=np.bool_)
        if self.form != "rounded":
            fits |= grown == self.plain
        if self.form != "plain":
            fits |= grown == self.rounded
        return fits

    @cached_property
    def foreign_page(self) -> Mask:
        """The engine rounds with another page than its allocator has (decode context parallelism widens pages)."""
        own, widened = self.ints("page_size"), self.info.settings.get("dcp_size")
        if self.form == "plain" or (isinstance(widened, int) and widened > 1):
            return np.zeros(len(self), dtype=np.bool_)
        return np.asarray((own != NULL) & (self.page_size != NULL) & (own != self.page_size))

    @cached_property
    def granted(self) -> Int64s:
        """Slots granted for the same row and step, 0 where every grant is recorded and none was made; else NULL."""
        alloc = self.lengths.columns("alloc")
        mine = alloc.texts("reason").equal("spec_reserve") & self._main_alloc()
        refused, slots = alloc.ints("granted") == 0, alloc.lists("slots")
        found = self._sum("alloc", mine, np.where(refused | ~slots.present, NULL, slots.lengths))
        return np.where((found == NULL) & self._ungranted, 0, found)

    @cached_property
    def refused(self) -> Mask:
        """The allocator had nothing to give to the row in this step."""
        keys = self._keys("alloc")
        turned_away = {keys[i] for i in np.flatnonzero(self.lengths.columns("alloc").ints("granted") == 0)}
        return np.array([key in turned_away for key in self._keys()], dtype=np.bool_)

    @cached_property
    def _ungranted(self) -> Mask:
        """No allocation of this step names the row, nor leaves open which row it is for."""
        if not self._whole("alloc"):
            return np.zeros(len(self), dtype=np.bool_)
        events, keys = self._keys("alloc"), self._keys()
        allocs = {events[i] for i in np.flatnonzero(self._main_alloc()).tolist()}
        unnamed = {step for life, step in allocs if life < 0}
        lone = _single(keys) - allocs
        clear = [k in lone and k[0] >= 0 and k[1] != NULL and not unnamed & {k[1], NULL} for k in keys]
        return np.array(clear, dtype=np.bool_)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From right before the reserve, or the events of its row and step, to right behind them."""
        first, last = self.ints("seq").copy(), self.ints("seq").copy()
        for table in ("alloc", "lengths"):
            at: dict[tuple[int, int], list[int]] = {}
            seqs = self.lengths.columns(table).ints("seq").tolist()
            for key, seq in zip(self._keys(table), seqs, strict=True):
                at.setdefault(key, []).append(seq)
            own = [at.get(key, []) for key in self._keys()]
            first = np.array([min(seqs, default=s) for seqs, s in zip(own, first.tolist(), strict=True)])
            last = np.array([max(seqs, default=s) for seqs, s in zip(own, last.tolist(), strict=True)])
        return np.minimum(first, self.ints("seq")) - 1, np.maximum(last, self.ints("seq")) + 1

    def _keys(self, table: str | None = None) -> list[tuple[int, int]]:
        """(life, step) of the events of a table, of the reserves if None."""
        if table is None:
            return list(zip(self.life.tolist(), self.ints("step").tolist(), strict=True))
        steps = self.lengths.columns(table).ints("step").tolist()
        return list(zip(self.lengths.lives.of(table).tolist(), steps, strict=True))

    def _whole(self, table: str) -> bool:
        """Every event of the table is in the recording, as far as it says."""
        dropped = self.lengths.columns("drop").texts("table").equal(table).any()
        return self.info.records(table) and not dropped

    @cached_property
    def reported(self) -> Int64s:
        """Allocated length that the host reports for the same row and step; NULL if it does not."""
        told = self.lengths.columns("lengths")
        mine = told.texts("cause").equal("spec_prepare") & self.lengths.main
        return self._sum("lengths", mine, told.ints("allocated"), once=True)

    def _main_alloc(self) -> Mask:
        spaces = self.lengths.namespaces
        return np.asarray(spaces.indices(self.lengths.columns("alloc").texts("pool")) == spaces.main)

    def _sum(self, table: str, which: Mask, values: Int64s, *, once: bool = False) -> Int64s:
        """Sum of `values` of the events of the same life and step; NULL if there is none, or one is NULL."""
        found: dict[tuple[int, int], int] = {}
        if not self._whole(table):
            return np.full(len(self), NULL, dtype=np.int64)
        events = self._keys(table)
        for row in np.flatnonzero(which).tolist():
            key, value = events[row], int(values[row])
            bad = NULL in (value, found.get(key, 0)) or (once and key in found)
            found[key] = NULL if bad else found.get(key, 0) + value
        return self._looked_up(found)

    def _looked_up(self, found: dict[tuple[int, int], int]) -> Int64s:
        keys = self._keys()
        alone = _single(keys)
        known = [found.get(k, NULL) if k in alone and k[0] >= 0 and k[1] != NULL else NULL for k in keys]
        return np.array(known, dtype=np.int64)


def _single(keys: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Keys that occur once."""
    seen: set[tuple[int, int]] = set()
    twice: set[tuple[int, int]] = set()
    for key in keys:
        (twice if key in seen else seen).add(key)
    return seen - twice
