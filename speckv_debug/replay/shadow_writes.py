"""What is written to the slots of the target pool, row by row: the forwards of one process as one list of events."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns, Texts
from speckv_debug.replay.lives import Lives
from speckv_debug.replay.not_said import NotSaid, not_said
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, joined, mask
from speckv_debug.replay.trees import depths
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import not_forwarded, padding_rows, reserved

WRITING = ("extend", "decode", "target_verify")
SOURCES = ("forward", "accept", "alloc", "transfer")


class ShadowWrites:
    """One event a forward of a request (or of padding), a verify without a recorded forward, and what fills slots unseen.

    In the order of `time`: the `seq` of the event, for a verify that was reported after its mover call, the call's.
    Unseen are a load from the host and a transfer: nobody knows what the slots hold then.

    Attributes:
        source, row: Table (index into `SOURCES`) and row of each event.
        seq, step, time: Of each event.
        life: Life of the request row, -1 if none is named.
        start: First position written, NULL if unknown.
        verify: Row of `accept`, -1 of other events.
        slots: Slots written; element i of the flat values is what `version` i names.
    """

    def __init__(
        self, columns: Callable[[str], Columns], verifies: VerifyBatch, lives: Lives, info: Process
    ) -> None:
        self._columns, self._verifies, self._info = columns, verifies, info
        tables = [columns(name) for name in SOURCES]
        chosen = [self._forwards, self._accepts, self._loads, self._transfers]
        rows = [np.flatnonzero(each) for each in chosen]
        source = np.repeat(np.arange(len(SOURCES)), [len(each) for each in rows])
        at, seq = (
            np.concatenate(rows),
            np.concatenate([t.ints("seq")[r] for t, r in zip(tables, rows, strict=True)]),
        )
        step = np.concatenate([t.ints("step")[r] for t, r in zip(tables, rows, strict=True)])
        time = np.where(source == 1, np.minimum(seq, self._first_move(step)), seq)
        order = np.lexsort((seq, time))
        self.source, self.row, self.seq, self.step = source[order], at[order], seq[order], step[order]
        self.time = time[order]
        nobody = [np.full(len(each), -1, dtype=np.int64) for each in rows]
        life = [lives.of("forward")[rows[0]], lives.of("accept")[rows[1]], *nobody[2:]]
        self.life: Int64s = np.concatenate(life)[order]
        unknown = [np.full(len(each), NULL, dtype=np.int64) for each in rows]
        first = [tables[0].ints("start")[rows[0]], verifies.seq_len[rows[1]], *unknown[2:]]
        self.start: Int64s = np.concatenate(first)[order]
        self.verify: Int64s = np.concatenate([self._verify_of[rows[0]], rows[1], *nobody[2:]])[order]
        lists = [
            t.lists(name).take(r)
            for t, name, r in zip(tables, ("slots", "out_cache_loc", "slots", "slots"), rows, strict=True)
        ]
        self.slots = joined(joined(lists[0], lists[1]), joined(lists[2], lists[3])).take(order)

    def __len__(self) -> int:
        return len(self.seq)

    @property
    def not_said(self) -> NotSaid:
        """Forwards of the target of which it is not known whose positions they write."""
        forward = self._columns("forward")
        which = self._forwards & ~padding_rows(forward)
        return not_said("forward", forward, "row", "epoch", "start", which=mask(which))

    def place(self, event: int) -> Place:
        """Where the event stands."""
        return place_of(self._columns(SOURCES[int(self.source[event])]), int(self.row[event]))

    @cached_property
    def owners(self) -> Int64s:
        """Event of each element."""
        return self.slots.owners

    @property
    def snapshot(self) -> Ragged:
        """What the request row held where each verify of `accept` writes, as it stood then."""
        return self._verifies.ragged("table_slots")

    @property
    def bound(self) -> int | None:
        """Exclusive bound of the pool's slot ids, None if its size is unknown."""
        pool = self._info.pool(None)
        return None if pool is None else pool.id_bound

    @property
    def least(self) -> int:
        """The least slot id that can be somebody's: those below are the pool's dummy."""
        return reserved(self._info.pool(None))

    @cached_property
    def padded(self) -> Mask:
        """Events that stand for no request."""
        forward = self._columns("forward")
        pads = padding_rows(forward)
        found = np.zeros(len(self), dtype=np.bool_)
        found[self.source == 0] = pads[self.row[self.source == 0]]
        return found

    @cached_property
    def unseen(self) -> Mask:
        """Events after which nobody knows what their slots hold."""
        return mask(self.source >= 2)

    @cached_property
    def mode(self) -> Mask:
        """Events that are target verifies."""
        verify = self._columns("forward").texts("mode").equal("target_verify")
        found = self.source == 1
        found[self.source == 0] = verify[self.row[self.source == 0]]
        return mask(found)

    @cached_property
    def tokens(self) -> Int64s:
        """Token of each element, NULL where unknown (a placeholder counts as unknown)."""
        own, draft = self._values("tokens"), self._of_verify("draft_tokens")
        found = np.where(own == NULL, draft, own)
        return np.where(found < 0, NULL, found)

    @cached_property
    def positions(self) -> Int64s:
        """Position of each element: as recorded, else the place in a prompt or the depth in the draft tree; NULL if unknown."""
        found, owners = self._values("positions"), self.owners
        found = np.where(found == NULL, self._of_verify("positions"), found)
        start = self.start[owners]
        plain = np.where(self.mode[owners], self._depth, self.slots.within)
        derived = np.where((start == NULL) | (plain == NULL) | self.unseen[owners], NULL, start + plain)
        return np.where(found == NULL, derived, found)

    @cached_property
    def request(self) -> tuple[Int64s, tuple[str, ...]]:
        """Request of each event as a number (-1 none), and the names that the numbers stand for."""
        texts = [self._columns(name).texts("request") for name in SOURCES]
        names = tuple(sorted({name for each in texts for name in each.names}))
        found = np.full(len(self), -1, dtype=np.int64)
        for number, each in enumerate(texts):
            mine = self.source == number
            found[mine] = _renumbered(each, names)[self.row[mine]]
        return found, names

    @cached_property
    def epoch(self) -> Int64s:
        """Epoch of each event's request row, -1 if none."""
        found = np.full(len(self), -1, dtype=np.int64)
        for number, name in enumerate(SOURCES[:2]):
            mine = self.source == number
            found[mine] = self._columns(name).ints("epoch")[self.row[mine]]
        return np.where(found == NULL, -1, found)

    def is_target(self, pools: Texts) -> Mask:
        """Which events of a column of pool names are about the pool that req_to_token draws from."""
        return pools.equal(self._info.main_pool) | ~pools.known

    def lives_of(self, table: Columns) -> Int64s:
        """The life that each event of another table belongs to, -1 where none of these events names its row and epoch."""
        named = np.flatnonzero(self.life >= 0)
        rows = np.full(len(self), NULL, dtype=np.int64)
        for number, name in enumerate(SOURCES[:2]):
            mine = self.source == number
            rows[mine] = self._columns(name).ints("row")[self.row[mine]]
        keys = [
            np.concatenate((rows[named], table.ints("row"))),
            np.concatenate((self.epoch[named], table.ints("epoch"))),
        ]
        number_of = numbered(np.stack(keys))
        life = np.full(int(number_of.max(initial=-1)) + 1, -1, dtype=np.int64)
        life[number_of[: len(named)]] = self.life[named]
        return life[number_of[len(named) :]]

    @property
    def _forwards(self) -> Mask:
        forward = self._columns("forward")
        mode = forward.texts("mode").equal(*WRITING, "idle")
        return mask(mode & self.is_target(forward.texts("pool")) & forward.lists("slots").present)

    @property
    def _accepts(self) -> Mask:
        located = self._verifies.ragged("out_cache_loc").present
        return mask(not_forwarded(self._columns("forward"), self._verifies) & located)

    @property
    def _loads(self) -> Mask:
        alloc = self._columns("alloc")
        loaded = alloc.texts("reason").equal("load_back") & (alloc.flags("granted") != 0)
        return mask(loaded & self.is_target(alloc.texts("pool")))

    @property
    def _transfers(self) -> Mask:
        return self.is_target(self._columns("transfer").texts("pool"))

    def _first_move(self, step: Int64s) -> Int64s:
        """`seq` of the first mover call of an accept in each step, a large one where there is none."""
        move, last = self._columns("move"), np.iinfo(np.int64).max
        calls = np.flatnonzero(
            (move.ints("step") != NULL) & ~move.texts("caller").equal("draft_tail", "other")
        )
        calls = calls[self.is_target(move.texts("pool"))[calls]]
        steps, first = np.unique(move.ints("step")[calls], return_index=True)
        at = np.searchsorted(steps, step)
        known = np.append(steps, NULL)[at] == step
        return np.where(known & (step != NULL), np.append(move.ints("seq")[calls][first], last)[at], last)

    @cached_property
    def _verify_of(self) -> Int64s:
        """Row of `accept` of each `target_verify` row of `forward`: the same step, request row and epoch; -1 if none."""
        forward, batch = self._columns("forward"), self._verifies
        keys = [np.concatenate((batch.columns.ints(n), forward.ints(n))) for n in ("step", "row", "epoch")]
        number = numbered(np.stack(keys))
        found = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
        found[number[: len(batch)][::-1]] = np.arange(len(batch))[::-1]
        mine = found[number[len(batch) :]]
        verify = forward.texts("mode").equal("target_verify") & (forward.ints("step") != NULL)
        return np.where(verify & (forward.flags("padded") != 1), mine, -1)

    def _values(self, name: str) -> Int64s:
        """A list column of the event's own table, one value an element."""
        found, owners, within = self._unknown, self.owners, self.slots.within
        for number, column in ((0, name), (1, "draft_tokens" if name == "tokens" else name)):
            mine = self.source[owners] == number
            lists = self._columns(SOURCES[number]).lists(column)
            found[mine] = lists.at(self.row[owners[mine]], within[mine])
        return found

    def _of_verify(self, name: str) -> Int64s:
        """A list column of the event's verify, one value an element."""
        owners = self.owners
        return _at(self._verifies.ragged(name), self.verify[owners], self.slots.within)

    @property
    def _depth(self) -> Int64s:
        """Depth of each element in its verify's draft tree, NULL where unknown."""
        return _at(depths(self._verifies.parents), self.verify[self.owners], self.slots.within)

    @property
    def _unknown(self) -> Int64s:
        return np.full(len(self.slots.values), NULL, dtype=np.int64)


def _at(lists: Ragged, owners: Int64s, within: Int64s) -> Int64s:
    found = np.full(len(owners), NULL, dtype=np.int64)
    known = owners >= 0
    found[known] = lists.at(owners[known], within[known])
    return found


def _renumbered(texts: Texts, names: tuple[str, ...]) -> Int64s:
    where = {name: at for at, name in enumerate(names)}
    return np.array([where[name] for name in texts.names] + [-1], dtype=np.int64)[texts.codes]
