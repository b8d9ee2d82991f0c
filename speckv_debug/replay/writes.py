"""What each forward writes where: one instance a request's rows in one forward."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Pool, Process
from speckv_debug.replay.columns import Columns, Texts
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, frozen, joined, mask
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.worthwhile import worth_compiling

ROOMY = 16
"""Entries of a table, for each slot written, up to which each slot has a place in it."""


def reserved(pool: Pool | None) -> int:
    """Slots `[0, reserved)` are the dummy that pads write to; slot 0 where the pool does not say."""
    return 1 if pool is None or pool.reserved_slots is None else pool.reserved_slots


def of_drafter(forward: Columns, info: Process) -> Mask:
    """Rows of `forward` that write into a drafter's pool."""
    return forward.texts("pool").equal(*info.draft_pools)


def by_pool(pools: Texts, info: Process, of: Mapping[str, int], default: int) -> Int64s:
    """`of[name]` for each event's pool (the main one where absent), `default` for a pool that is not in `of`."""
    known = [of.get(name, default) for name in (*pools.names, info.main_pool)]
    return np.array(known, dtype=np.int64)[pools.codes]


class ForwardWrites:
    """One instance a row of `forward`, and a verify of `accept` that has none there.

    Rows that pad a batch are left out. `forward` numbers the forwards: one step, mode, pool and KV group;
    the rows that one request has more than one of there (draft steps) are forwards of their own.
    """

    reads = ("forward", "accept")
    rests_on: Mapping[str, tuple[str, ...]] = {"forward": ("mode", "row", "step"), "accept": ("row", "step")}

    def __init__(self, forward: Columns, verifies: VerifyBatch, info: Process) -> None:
        self.columns, self.verifies, self.info = forward, verifies, info
        self._rows = np.flatnonzero(_writing(forward))
        self._accepts = np.flatnonzero(not_forwarded(forward, verifies))
        seq = np.concatenate((forward.ints("seq")[self._rows], verifies.seq[self._accepts]))
        rising = not len(self._accepts) and bool((seq[1:] >= seq[:-1]).all())
        self._order = np.arange(len(seq)) if rising else np.argsort(seq, kind="stable")
        self.seq = seq[self._order]

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the row stands."""
        at = int(self._order[index])
        if at < len(self._rows):
            return place_of(self.columns, int(self._rows[at]))
        return self.verifies.place(int(self._accepts[at - len(self._rows)]))

    @cached_property
    def slots(self) -> Ragged:
        """The slots written; of an accept, its out_cache_loc."""
        written = self.columns.lists("slots").take(self._rows)
        return joined(written, self.verifies.ragged("out_cache_loc").take(self._accepts)).take(self._order)

    @cached_property
    def dummy(self) -> Int64s:
        """Slots below this are the pool's dummy, where pads may meet."""
        sizes = {pool.name: reserved(pool) for pool in self.info.pools}
        of_rows = by_pool(self.columns.texts("pool"), self.info, sizes, 1)[self._rows]
        of_accepts = np.full(len(self._accepts), sizes.get(self.info.main_pool, 1), dtype=np.int64)
        return self._both(of_rows, of_accepts)

    @cached_property
    def forward(self) -> Int64s:
        """Which forward each row belongs to, numbered from 0."""
        keys = np.stack([self._step, self._mode, self._pool, self._group])
        whose = numbered(np.vstack((keys, self._who)))
        order = np.argsort(whose, kind="stable")
        new = np.ones(len(self), dtype=np.bool_)
        new[1:] = whose[order][1:] != whose[order][:-1]
        run_start = np.maximum.accumulate(np.where(new, np.arange(len(self)), 0))
        turn = np.empty(len(self), dtype=np.int64)
        turn[order] = np.arange(len(self)) - run_start
        return numbered(np.vstack((keys, turn)))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the first to the last row of the same forward."""
        count = int(self.forward.max(initial=-1)) + 1
        first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, -1, dtype=np.int64)
        np.minimum.at(first, self.forward, self.seq)
        np.maximum.at(last, self.forward, self.seq)
        return first[self.forward], last[self.forward]

    @cached_property
    def distinct(self) -> bool:
        """Whether it is plain that no slot is written twice by one forward; False where it takes a closer look."""
        low, high = int(self.slots.values.min(initial=0)), int(self.slots.values.max(initial=0))
        room = ROOMY * len(self.slots.values)
        if not worth_compiling(len(self.slots.values)) or low < 0 or high > room:
            return False
        from speckv_debug.replay.stamping import all_in_order, all_stamped_once

        values, offsets, dummy = (
            frozen(each) for each in (self.slots.values, self.slots.offsets, self.dummy)
        )
        if self._alike and all_in_order(values, offsets, frozen(self._step), dummy, high + 1):
            return True
        forward, order = frozen(self.forward), frozen(np.argsort(self.forward, kind="stable"))
        return bool(all_stamped_once(values, offsets, forward, dummy, order, high + 1))

    @property
    def _alike(self) -> bool:
        """Whether all rows say their step and write into one pool, so that no two forwards of a step differ in their pool."""
        pool = self._pool
        return bool((pool == pool[:1]).all() and self._step.min(initial=0) >= 0)

    def _both(self, of_rows: Int64s, of_accepts: Int64s) -> Int64s:
        return np.concatenate((of_rows, of_accepts))[self._order]

    @property
    def _step(self) -> Int64s:
        """The step; a row without one is a forward of its own."""
        step = self._both(self.columns.ints("step")[self._rows], self.verifies.step[self._accepts])
        return np.where(step == NULL, NULL + 1 + np.arange(len(self)), step)

    @cached_property
    def alone(self) -> Mask:
        """Rows without a step: what else their forward writes is not known."""
        step = self._both(self.columns.ints("step")[self._rows], self.verifies.step[self._accepts])
        return mask(step == NULL)

    @property
    def _mode(self) -> Int64s:
        """The mode; an extend, a decode and a verify of one step are one forward of the target (mixed chunks)."""
        mode = self.columns.texts("mode")
        number = np.where(mode.equal("extend", "decode", "target_verify"), -1, mode.codes.astype(np.int64))
        return self._both(number[self._rows], np.full(len(self._accepts), -1))

    @property
    def _pool(self) -> Int64s:
        pools = self.columns.texts("pool")
        main = self.info.main_pool
        number = {main: -1} | {name: code for code, name in enumerate(pools.names) if name != main}
        return self._both(by_pool(pools, self.info, number, -1)[self._rows], np.full(len(self._accepts), -1))

    @property
    def _group(self) -> Int64s:
        codes = self.columns.texts("group").codes[self._rows].astype(np.int64)
        return self._both(codes, np.full(len(self._accepts), -1))

    @property
    def _who(self) -> Int64s:
        row = self._both(self.columns.ints("row")[self._rows], self.verifies.row[self._accepts])
        unnamed = -2 - self._both(
            self.columns.texts("request").codes[self._rows].astype(np.int64),
            self.verifies.request.codes[self._accepts].astype(np.int64)
            + len(self.columns.texts("request").names),
        )
        return np.where(row == NULL, unnamed, row)


def padding_rows(forward: Columns) -> Mask:
    """Rows of `forward` that stand for no request: padded or idle ones."""
    return mask(forward.texts("mode").equal("idle") | (forward.flags("padded") == 1))


def of_first_row(events: Columns) -> Mask:
    """Events of request row 0 that name no request: they pad a batch as well, where the row is reserved."""
    return mask(~events.texts("request").known & (events.ints("row") == 0))


def _writing(forward: Columns) -> Mask:
    """Rows for a request; a `target_verify` row without slots is left to its accept."""
    idle = padding_rows(forward)
    left = forward.texts("mode").equal("target_verify") & ~forward.lists("slots").present
    return mask(~idle & ~left)


def not_forwarded(forward: Columns, verifies: VerifyBatch) -> Mask:
    """Verifies of which no `target_verify` row of the same step and request row says where they write."""
    verify = _writing(forward) & forward.texts("mode").equal("target_verify") & (forward.ints("step") != NULL)
    seen = np.stack([forward.ints("step")[verify], forward.ints("row")[verify]])
    wanted = np.stack([verifies.step, verifies.row])
    if np.array_equal(seen, wanted):
        return mask(np.zeros(len(verifies)))
    number = numbered(np.hstack([seen, wanted]))
    repeated = np.isin(number[seen.shape[1] :], number[: seen.shape[1]])
    return mask(~verifies.padding & ~repeated)
