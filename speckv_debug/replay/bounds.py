"""Bounds and reserves: every report of committed and allocated length, every growth that a preparation decides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from speckv_debug.kernels.reserve import grown_length, grown_length_unaligned
from speckv_debug.replay.engine_version import PAGE_ALIGNED_RESERVE, RESERVE_AHEAD, sglang_version
from speckv_debug.replay.lengths import ENDINGS, Lengths, Picked
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask
from speckv_debug.replay.searching import search_pairs
from speckv_debug.replay.step_keys import Groups, StepKeys

BOUNDING = ("lengths", "reserve", "release")
"""Tables that report a committed and an allocated length."""


class Bounds:
    """One instance a `lengths` event of whatever pool, a `reserve` and a `release`, in the order of `seq`.

    Attributes:
        committed, allocated: As reported, NULL if absent.
        ending: The request's record is reset with the event, or the request has ended before: it says nothing of its row.
        preparing: A preparation for a verify, before which old builds claim the bonus.
        causeless: A report that does not say why: the record may be reset with it.
    """

    columns_from = ("lengths", "reserve", "release", "row_alloc", "row_free")

    def __init__(self, lengths: Lengths) -> None:
        self.info, self._lengths = lengths.info, lengths
        self._tables = tuple(lengths.columns(name) for name in BOUNDING)
        seq = np.concatenate([table.ints("seq") for table in self._tables])
        self._order = np.argsort(seq, kind="stable")
        self.seq, self._first = seq[self._order], np.cumsum([0, *map(len, self._tables)])
        self.committed, self.allocated = self._column("committed"), self._column("allocated")
        self.ending = self._cause(*ENDINGS) | self._over(lengths)
        self.preparing = self._cause("spec_prepare") | self._of("reserve")
        self.causeless = self._of("lengths") & ~self._cause(*self._tables[0].texts("cause").names)

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        at = int(self._order[index])
        table = int(np.searchsorted(self._first, at, side="right")) - 1
        return place_of(self._tables[table], at - int(self._first[table]))

    @cached_property
    def highest(self) -> Int64s:
        """The longest that the row of req_to_token becomes with this event; NULL of a pool that has no place there."""
        told, reserve, release = self._tables
        spaces = self._lengths.namespaces
        in_row = spaces.indices(told.texts("pool")) == spaces.main
        of_lengths = np.where(in_row, told.ints("allocated"), NULL)
        grown, allocated = reserve.ints("new_allocated"), reserve.ints("allocated")
        of_reserve = np.where(grown == NULL, allocated, grown)
        return np.concatenate((of_lengths, of_reserve, release.ints("allocated")))[self._order]

    def _column(self, name: str) -> Int64s:
        return np.concatenate([table.ints(name) for table in self._tables])[self._order]

    def _over(self, lengths: Lengths) -> Mask:
        """The life of the row had ended when the event came (a result that was in flight)."""
        ends = np.append(lengths.lives.end, NEVER)
        return np.asarray(
            self.seq > np.concatenate([ends[lengths.lives.of(name)] for name in BOUNDING])[self._order]
        )

    def _cause(self, *causes: str) -> Mask:
        found = np.zeros(len(self), dtype=np.bool_)
        found[: len(self._tables[0])] = self._tables[0].texts("cause").equal(*causes)
        return found[self._order]

    def _of(self, table: str) -> Mask:
        number = BOUNDING.index(table)
        return np.asarray((self._order >= self._first[number]) & (self._order < self._first[number + 1]))


class Reserves(Picked):
    """One instance a `reserve` event, with what was granted for it.

    Attributes:
        page_size: The allocator's, or the event's own where the pool does not say; NULL if neither does.
    """

    reads = ("alloc", "lengths")
    rests_on: Mapping[str, tuple[str, ...]] = {
        "alloc": ("row", "epoch", "step", "slots"),
        "lengths": ("row", "epoch", "step", "cause"),
    }
    columns_from = ("reserve", "alloc", "lengths")

    def __init__(self, lengths: Lengths) -> None:
        super().__init__(lengths, "reserve", np.ones(len(lengths.columns("reserve")), dtype=np.bool_))
        self._beside: dict[str, Int64s] = {}
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
    def under_way(self) -> Mask:
        """Less was granted than is due, and nothing behind the reserve shows that its step's grants are over.

        That do the row's report of the growth, a launch of the step, and an event of a later step.
        """
        lacking = (self.granted != NULL) & (
            self.granted < self.ints("new_allocated") - self.ints("allocated")
        )
        unlaunched = lacking & (self._launch == NEVER) if lacking.any() else lacking
        return np.asarray(unlaunched & ~self._told_behind & ~self._later_behind, dtype=np.bool_)

    @property
    def looks_further(self) -> Mask:
        """What a window of the process may not hold all of: grants, and what shows that there are no more."""
        return self.under_way

    @property
    def _told_behind(self) -> Mask:
        """Reserves behind which the host reports the growth of the same row and step."""
        told, groups = self.lengths.columns("lengths"), self._groups_of("lengths")
        mine = np.flatnonzero((groups >= 0) & told.texts("cause").equal("spec_prepare"))
        last = np.full(len(self._groups), -1)
        np.maximum.at(last, groups[mine], told.ints("seq")[mine])
        return np.asarray(last[self._groups.of_key] > self.ints("seq"), dtype=np.bool_)

    @property
    def _later_behind(self) -> Mask:
        """Reserves behind which an event of a later step stands."""
        tables = [self.lengths.columns(name) for name in ("reserve", "alloc", "lengths", "forward", "accept")]
        step, seq = (np.concatenate([table.ints(name) for table in tables]) for name in ("step", "seq"))
        order = np.argsort(step, kind="stable")
        last = np.append(np.maximum.accumulate(seq[order][::-1])[::-1], -1)
        later = last[np.searchsorted(step[order], self.ints("step"), side="right")]
        return np.asarray((self.ints("step") != NULL) & (later > self.ints("seq")), dtype=np.bool_)

    @cached_property
    def refused(self) -> Mask:
        """The allocator had nothing to give to the row in this step."""
        turned_away = self._groups_of("alloc")[self.lengths.columns("alloc").ints("granted") == 0]
        return np.asarray(np.isin(self._groups.of_key, turned_away), dtype=np.bool_)

    @cached_property
    def _ungranted(self) -> Mask:
        """No allocation of this step names the row, nor leaves open which row it is for."""
        if not self._whole("alloc"):
            return np.zeros(len(self), dtype=np.bool_)
        main, lives = self._main_alloc(), self.lengths.lives.of("alloc")
        granted = np.isin(self._groups.of_key, self._groups_of("alloc")[main])
        unnamed = np.unique(self.lengths.columns("alloc").ints("step")[main & (lives < 0)])
        if NULL in unnamed:
            return np.zeros(len(self), dtype=np.bool_)
        return np.asarray(self._lone & ~granted & ~np.isin(self.ints("step"), unnamed), dtype=np.bool_)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From right before the reserve, or the events of its row and step, to right behind them.

        Where no grant is seen it may still come: to the row's next report, or to the launch of the step.
        """
        own, group = self.ints("seq"), self._groups.of_key
        first, last = own, own
        for table in ("alloc", "lengths"):
            low, high = np.full(len(self._groups), NEVER), np.full(len(self._groups), -1)
            groups, seq = self._groups_of(table), self.lengths.columns(table).ints("seq")
            np.minimum.at(low, groups[groups >= 0], seq[groups >= 0])
            np.maximum.at(high, groups[groups >= 0], seq[groups >= 0])
            first = np.where(low[group] == NEVER, first, low[group])
            last = np.where(high[group] < 0, last, high[group])
        last = np.where(self._ungranted & (last <= own), self._launch, last)
        return np.minimum(first, own) - 1, np.where(last == NEVER, last, np.maximum(last, own) + 1)

    @property
    def _launch(self) -> Int64s:
        """The first forward or accept of each reserve's step behind it, NEVER if there is none."""
        tables = [self.lengths.columns(name) for name in ("forward", "accept")]
        step, seq = (np.concatenate([table.ints(name) for table in tables]) for name in ("step", "seq"))
        own = np.stack((self.ints("step"), self.ints("seq")))
        steps = np.unique(np.concatenate((step, own[0])))
        order = np.lexsort((seq, step))
        at = search_pairs(
            *(np.searchsorted(steps, step[order]), seq[order]), np.searchsorted(steps, own[0]), own[1]
        )
        same = np.append(step[order], NULL)[at] == own[0]
        return np.where(same, np.append(seq[order], NEVER)[at], NEVER)

    @cached_property
    def _keys(self) -> StepKeys:
        steps = (self.lengths.columns(table).ints("step") for table in ("reserve", "alloc", "lengths"))
        return StepKeys(len(self.lengths.lives), *steps)

    @cached_property
    def _groups(self) -> Groups:
        """Reserves of one life and step."""
        return Groups(self._keys.of(self.life, self.ints("step")))

    @cached_property
    def _lone(self) -> Mask:
        """Reserves of which the life and the step are known, and that are the only ones there."""
        return np.asarray(self._groups.alone & (self.life >= 0) & (self.ints("step") != NULL))

    def _groups_of(self, table: str) -> Int64s:
        """The group of reserves that each event of a table stands beside, -1 if there is none."""
        if table not in self._beside:
            steps = self.lengths.columns(table).ints("step")
            self._beside[table] = self._groups.find(self._keys.of(self.lengths.lives.of(table), steps))
        return self._beside[table]

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
        if not self._whole(table):
            return np.full(len(self), NULL, dtype=np.int64)
        groups = self._groups_of(table)
        rows = np.flatnonzero(which & (groups >= 0))
        count = np.bincount(groups[rows], minlength=len(self._groups))
        absent = np.bincount(groups[rows[values[rows] == NULL]], minlength=len(self._groups))
        total = np.zeros(len(self._groups), dtype=np.int64)
        np.add.at(total, groups[rows], np.where(values[rows] == NULL, 0, values[rows]))
        known = (count > 0) & (absent == 0) & ((count == 1) | (not once))
        found = np.where(known, total, NULL)
        return np.where(self._lone, found[self._groups.of_key], NULL)
