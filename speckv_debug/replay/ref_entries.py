"""References to pages that are counted: what each holder took and gave up, page by page, in the order of `seq`."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask

TREE, ROW = "tree:", "row:"


class Runs:
    """Entries grouped by a key, in order within each group.

    Attributes:
        order: Places of the entries, by key.
        first: For each place in `order`, where its group begins.
        before: For each entry, the one before it of the same key, -1 if there is none.
    """

    def __init__(self, *keys: Int64s) -> None:
        count = len(keys[0])
        self.order = np.lexsort((np.arange(count), *keys[::-1]))
        new = np.ones(count, dtype=np.bool_)
        if count:
            new[1:] = np.any([key[self.order][1:] != key[self.order][:-1] for key in keys], axis=0)
        self.first = np.maximum.accumulate(np.where(new, np.arange(count), 0))
        self.before = np.full(count, -1, dtype=np.int64)
        self.before[self.order] = np.where(new, -1, np.append(-1, self.order[:-1]) if count else -1)

    def total(self, values: Int64s) -> Int64s:
        """Sum of the group's values up to and with each entry."""
        sums = np.append(0, np.cumsum(values[self.order]))
        found = np.empty(len(values), dtype=np.int64)
        found[self.order] = sums[1:] - sums[self.first]
        return found

    def longest(self, values: Int64s) -> Int64s:
        """The largest of the group's values, 0 or more each, up to and with each entry."""
        distinct, ranks = np.unique(values, return_inverse=True)
        width = len(values) + 1
        top = np.maximum.accumulate(self.first * width + ranks.reshape(-1)[self.order]) % width
        found = np.empty(len(values), dtype=np.int64)
        found[self.order] = distinct[top]
        return found

    def latest(self, known: Mask) -> Int64s:
        """The last entry before each one, of its group, that is `known`; -1 if there is none."""
        place = np.maximum.accumulate(np.where(known[self.order], np.arange(len(known)), -1))
        earlier = np.append(-1, place[:-1]) if len(place) else place
        found = np.full(len(known), -1, dtype=np.int64)
        inside = earlier >= self.first
        found[self.order] = np.where(inside, self.order[earlier], -1)
        return found


class RefEntries:
    """One entry a page that a `page_ref` event names; page 0 is a pad.

    A release names a page once, however often its list does: the engine takes duplicates out. A retain counts each.

    Attributes:
        event: Row of the event in `page_ref`.
        pool, page: int64 each.
        era: How often all counts were reset before.
        delta: References taken, or -1.
        told: `count_after`, NULL if not recorded.
        whole: Whether the recording holds every reference since all counts were 0.
    """

    def __init__(self, table: Columns, pool: Int64s, resets: Int64s, whole: bool) -> None:
        pages, counts = table.lists("pages"), table.lists("count_after")
        action = table.texts("action")
        retain, known = action.equal("retain"), action.equal("retain", "release") & pages.filled
        which = known[pages.owners] & (pages.values > 0)
        owners, values = pages.owners[which], pages.values[which]
        told = counts.at(owners, pages.within[which])
        pairs, number = np.unique(np.stack((owners, values)), axis=1, return_inverse=True)
        number = number.reshape(-1)
        self.event, self.page = pairs
        self.told = np.full(len(self.event), NULL, dtype=np.int64)
        self.told[number] = told
        times = np.bincount(number, minlength=len(self.event))
        self.delta = np.where(retain[self.event], times, -1)
        self.seq, self.pool = table.ints("seq")[self.event], pool[self.event]
        self._resets, self._whole = resets, whole
        self.era = self.era_of(self.seq)
        self.whole = self.counted_from(self.seq)
        self._holders, self._codes = table.texts("holder").names, table.texts("holder").codes[self.event]

    def __len__(self) -> int:
        return len(self.event)

    def era_of(self, seq: Int64s) -> Int64s:
        """How often all counts were reset before each `seq`."""
        return np.searchsorted(self._resets, seq, side="right").astype(np.int64)

    def counted_from(self, seq: Int64s) -> Mask:
        """Whether the recording holds every reference since all counts were 0."""
        return mask((self.era_of(seq) > 0) | self._whole)

    @cached_property
    def runs(self) -> Runs:
        """By page."""
        return Runs(self.pool, self.page, self.era)

    @cached_property
    def expected(self) -> Int64s:
        """The count that is due, by the count told last and what was taken and given up since; NULL if unknown."""
        total = self.runs.total(self.delta)
        last = self.runs.latest(self.told != NULL)
        base = np.append(self.told - total, 0)[last]
        return np.where((last >= 0) | self.whole, base + total, NULL)

    @cached_property
    def count(self) -> Int64s:
        """References left after each entry: as told, else as expected, NULL if neither is known."""
        return np.where(self.told == NULL, self.expected, self.told)

    @property
    def taken(self) -> Int64s:
        """1 for an entry behind which the page has its first reference, -1 for one behind which it has none any more."""
        holds = (self.count > 0).astype(np.int64)
        before: Int64s = np.append(holds, 0)[self.runs.before]
        return np.asarray(holds - before, dtype=np.int64)

    @cached_property
    def miscounted(self) -> Mask:
        """Entries after which the engine's count is another than the due one."""
        return mask((self.told != NULL) & (self.expected != NULL) & (self.told != self.expected))

    @property
    def negative(self) -> Mask:
        """Entries after which the engine's count is below 0."""
        return mask((self.told != NULL) & (self.told < 0))

    # ---- by holder ------------------------------------------------------------------------------

    @cached_property
    def holder(self) -> Int64s:
        """Number of the holder, -1 if not recorded; all nodes of the tree are one, since a split hands pages on."""
        names = ["tree" if name.startswith(TREE) else name for name in self._holders]
        number = {name: at for at, name in enumerate(dict.fromkeys(names))}
        found: Int64s = np.array([*(number[name] for name in names), -1], dtype=np.int64)[self._codes]
        return found

    @cached_property
    def row(self) -> Int64s:
        """The request row that holds, NULL of another holder."""
        rows = [*(row_of(name) for name in self._holders), NULL]
        found: Int64s = np.array(rows, dtype=np.int64)[self._codes]
        return found

    def name(self, entry: int) -> str | None:
        """The holder as recorded."""
        code = int(self._codes[entry])
        return None if code < 0 else self._holders[code]

    @cached_property
    def hands(self) -> Runs:
        """By holder and page."""
        return Runs(self.holder, self.pool, self.page, self.era)

    @cached_property
    def unseen(self) -> Int64s:
        """1 for a release whose retain lies before the recording, 0 for other entries."""
        return ((self.hands.before < 0) & (self.delta < 0) & ~self.whole).astype(np.int64)

    @cached_property
    def held(self) -> Int64s:
        """References of the holder to the page after each entry."""
        return self.hands.total(self.delta + self.unseen)

    @cached_property
    def unheld(self) -> Mask:
        """Releases by a holder that does not hold the page."""
        return mask((self.delta < 0) & (self.holder >= 0) & (self.held < 0))

    @cached_property
    def twice(self) -> Mask:
        """Retains by a holder, other than the tree, that holds the page already."""
        names = [name.startswith(TREE) for name in self._holders]
        tree = np.array([*names, True], dtype=np.bool_)[self._codes]
        return mask((self.delta > 0) & ~tree & (self.held > 1))

    @cached_property
    def swapped(self) -> Mask:
        """Retains of a page that the same holder released by the event before: the release came first."""
        before = self.hands.before
        released = (before >= 0) & (np.append(self.delta, 0)[before] < 0)
        next_to = self.event == np.append(self.event, NULL)[before] + 1
        return mask(released & next_to & (self.delta > 0) & (self.holder >= 0))


def row_of(holder: str) -> int:
    """The row of `row:N`, NULL of another holder."""
    number = holder.removeprefix(ROW)
    return int(number) if holder.startswith(ROW) and number.isascii() and number.isdigit() else NULL
