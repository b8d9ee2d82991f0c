"""What the drafter reads of a request's past, against the draft KV that was written, loaded or copied there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from speckv_debug.model.process import DRAFT, Process
from speckv_debug.replay import draft_fold
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.namespaces import SLOT_LIMIT, Namespaces
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, mask

MODES = ("draft_extend", "extend", "draft")
COMPILED_FROM = 20_000
"""Slots from which on compiled code is worth the time to load it."""
CELLS = 1 << 26
"""Cells of req_to_token up to which rows are followed."""


class DraftReads:
    """One instance a draft extend, a prefill of the draft model, and the first draft step of a round.

    Later steps of a round read what the round itself has drafted. Drafters without KV of their own have no pool of kind
    draft, and no instance.
    """

    reads = ("forward", "alloc", "table_write", "move", "transfer", "row_alloc")
    columns_from = reads
    rests_on: Mapping[str, tuple[str, ...]] = {
        "forward": ("mode", "slots"),
        "table_write": ("row", "start", "slots"),
        "move": ("src", "tgt"),
        "row_alloc": ("row",),
    }

    def __init__(self, columns: Callable[[str], Columns], info: Process) -> None:
        self.columns, self.info, self.spaces = columns, info, Namespaces(info)
        self.forward = columns("forward")
        self.pools = {pool.name for pool in info.pools if pool.kind == DRAFT}
        self._drafting = np.empty(0, dtype=np.int64)
        if self.pools:
            modes = self.forward.texts("mode").equal(*MODES)
            mine = self.forward.texts("pool").equal(*self.pools) & modes & (self.forward.flags("padded") != 1)
            self._drafting = np.flatnonzero(mine).astype(np.int64)
        self.index = (
            self._drafting[~self._later_step[self._drafting]] if len(self._drafting) else self._drafting
        )

    def __len__(self) -> int:
        return len(self.index)

    def place(self, index: int) -> Place:
        """Where the forward stands."""
        return place_of(self.forward, int(self.index[index]))

    def kind(self, index: int) -> str:
        """The forward's mode."""
        return self.forward.text_at("mode", int(self.index[index])) or ""

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the beginning: draft KV stays as long as its slot."""
        seq = self.forward.ints("seq")[self.index]
        return np.zeros(len(self), dtype=np.int64), seq

    @property
    def told(self) -> bool:
        """Whether all forwards, grants and writes into rows are recorded, so that KV that was not seen is missing.

        DFlash and DSpark project the target's hidden states into draft KV without a forward (`DFlashWorkerV2._append_target_hidden_to_draft_kv_by_loc`).
        """
        beside = str(self.info.settings.get("algorithm") or "").lower() in ("dflash", "dspark")
        return not beside and all(self.info.records(name) for name in ("forward", "alloc", "table_write"))

    @cached_property
    def _later_step(self) -> Mask:
        """Draft steps, over all forwards, of a row that has drafted since it was last extended."""
        rows, draft = self.forward.ints("row"), self.forward.texts("mode").equal("draft")
        order = self._drafting[np.argsort(rows[self._drafting], kind="stable")]
        later = np.zeros(len(self.forward), dtype=np.bool_)
        same = rows[order][1:] == rows[order][:-1]
        later[order[1:]] = same & draft[order][1:] & draft[order][:-1]
        return later

    @cached_property
    def reach(self) -> Int64s:
        """Exclusive end of the past that each drafting forward reads, over all forwards; NULL if unknown.

        What it writes itself begins there; the rows of a draft step share one position.
        """
        positions = self.forward.lists("positions")
        at = np.arange(len(self.forward))
        first = positions.at(at, np.zeros(len(at), dtype=np.int64))
        start = self.forward.ints("start")
        return np.where(start == NULL, first, start)

    @property
    def drafts_cover(self) -> bool:
        """Whether KV that draft steps wrote stays right once accepted: not where they stand on the draft's own features.

        An EAGLE or MTP drafter is followed by a draft extend with the target's.
        """
        algorithm = str(self.info.settings.get("algorithm") or "").lower()
        return not algorithm.startswith(("eagle", "mtp", "nextn"))

    @property
    def _drafted(self) -> int:
        """State of a slot that a draft step wrote: the draft extend that makes it right may not be recorded."""
        if self.drafts_cover:
            return draft_fold.COVERED
        return draft_fold.MISSING if self.told else draft_fold.UNSEEN

    # ---- the fold -------------------------------------------------------------------------------

    @cached_property
    def outcome(self) -> Int64s:
        """First missing position (-1 if none), how many are missing, how many were not seen: int64[len(self), 3]."""
        found = np.tile(np.array([-1, 0, 0], dtype=np.int64), (len(self.forward), 1))
        if not self.followed:
            return found[self.index]
        events, slots, forward = self._events()
        state = np.full(self._bound, draft_fold.UNSEEN, dtype=np.int8)
        results = np.tile(np.array([-1, 0, 0], dtype=np.int64), (len(events), 1))
        table = np.full(self._shape, -1, dtype=np.int32)
        fold(len(slots))(events, slots, table, state, self._drafted, results)
        found[forward[forward >= 0]] = results[forward >= 0]
        return found[self.index]

    @property
    def followed(self) -> bool:
        """Whether the request rows are few enough to follow."""
        rows, width = self._shape
        return rows * width <= CELLS

    @cached_property
    def _shape(self) -> tuple[int, int]:
        writes = self.columns("table_write")
        slots, start, row = writes.lists("slots"), writes.ints("start"), writes.ints("row")
        return int(row.max(initial=0)) + 1, max(0, int((start + slots.lengths).max(initial=0)))

    @property
    def _bound(self) -> int:
        named = [self.columns(name).lists("slots").values for name in ("alloc", "table_write", "forward")]
        top = max((int(values.max(initial=0)) for values in named), default=0)
        return min(top + 1, SLOT_LIMIT)

    def _events(self) -> tuple[Int64s, Int64s, Int64s]:
        """All events by `seq`, their slots, and the forward of each, -1 of others."""
        parts = [
            *self._of_slots(),
            self._of_moves(),
            self._of_rows(),
            self._of_forwards(),
            self._of_poolless(),
        ]
        sizes = np.concatenate([part[2].lengths for part in parts])
        slots = np.concatenate([part[2].values for part in parts])
        ends = np.cumsum(sizes)
        columns = [np.concatenate([part[1][k] for part in parts]) for k in range(5)]
        kind, row, start, reads, window = columns
        events = np.stack((kind, row, start, ends - sizes, ends, reads, window), axis=1)
        forward = np.concatenate([part[3] for part in parts])
        order = np.argsort(np.concatenate([part[0] for part in parts]), kind="stable")
        return np.ascontiguousarray(events[order]), slots, forward[order]

    def _of_slots(self) -> list[Any]:
        """Grants, writes into rows, transfers."""
        alloc, writes, transfer = (self.columns(name) for name in ("alloc", "table_write", "transfer"))
        found = []
        for table, kind, which in (
            (alloc, draft_fold.GRANT, self._main(alloc) & alloc.lists("slots").present),
            (writes, draft_fold.NAME, self._main(writes) & writes.lists("slots").filled),
            (transfer, draft_fold.LOAD, transfer.lists("slots").present),
        ):
            at = np.flatnonzero(which)
            start = (
                table.ints("start")[at] if kind == draft_fold.NAME else np.full(len(at), draft_fold.UNSEEN)
            )
            if kind == draft_fold.LOAD:
                start = np.where(table.texts("pool").equal(*self.pools)[at], draft_fold.COVERED, start)
            if kind == draft_fold.GRANT and not self.told:
                kind = draft_fold.LOAD  # what writes there may not be seen
            found.append(_part(table, at, kind, start, table.lists("slots").take(at)))
        return found

    def _of_moves(self) -> Any:
        move = self.columns("move")
        src, tgt = move.lists("src"), move.lists("tgt")
        one_each = src.filled & tgt.filled & (src.lengths == tgt.lengths)
        at = np.flatnonzero(move.texts("pool").equal(*self.pools) & one_each)
        return _part(
            move, at, draft_fold.COPY, np.zeros(len(at), dtype=np.int64), _after(src.take(at), tgt.take(at))
        )

    def _of_rows(self) -> Any:
        rows = self.columns("row_alloc")
        at = np.arange(len(rows))
        none = Ragged(
            np.empty(0, dtype=np.int64),
            np.zeros(len(at) + 1, dtype=np.int64),
            np.ones(len(at), dtype=np.bool_),
        )
        return _part(rows, at, draft_fold.BEGIN, np.maximum(rows.ints("epoch"), -1), none)

    def _of_forwards(self) -> Any:
        at = self._drafting
        draft = self.forward.texts("mode").equal("draft")[at]
        seq, columns, slots, _ = _part(
            self.forward,
            at,
            draft_fold.WRITE,
            np.zeros(len(at), np.int64),
            self.forward.lists("slots").take(at),
        )
        columns[0][draft] = draft_fold.DRAFT
        reach = self.reach[at]
        columns[3][:] = np.where(reach == NULL, -1, reach)
        window = self.info.settings.get("draft_window")
        columns[4][:] = window if isinstance(window, int) else 0
        return seq, columns, slots, at

    def _of_poolless(self) -> Any:
        """Forwards that do not say their pool: they may have written draft KV."""
        modes = self.forward.texts("mode").equal("draft_extend", "extend")
        at = np.flatnonzero(modes & ~self.forward.texts("pool").known)
        start = np.zeros(len(at), dtype=np.int64)
        slots = self.forward.lists("slots").take(at)
        seq, columns, slots, _ = _part(self.forward, at, draft_fold.HIDE, start, slots)
        return seq, columns, slots, np.full(len(at), -1)

    def _main(self, table: Columns) -> Mask:
        return mask(self.spaces.indices(table.texts("pool")) == self.spaces.main)


def fold(count: int) -> Callable[..., None]:
    """The fold, compiled where there are many slots."""
    if count < COMPILED_FROM:
        return draft_fold.fold
    from speckv_debug.replay.compiling import compiled

    return compiled(draft_fold.fold)


def _part(table: Columns, at: Int64s, kind: int, start: Int64s, slots: Ragged) -> Any:
    """`seq`, (kind, row, start, reads, window), slots and forward of some events of a table."""
    count = len(at)
    row = table.ints("row")[at] if table.has("row") else np.full(count, -1)
    whole = (
        np.full(count, kind),
        np.where(row == NULL, -1, row),
        start,
        np.full(count, -1),
        np.zeros(count, np.int64),
    )
    return (
        table.ints("seq")[at],
        [np.array(column, dtype=np.int64) for column in whole],
        slots,
        np.full(count, -1),
    )


def _after(first: Ragged, second: Ragged) -> Ragged:
    """Each list of `first` with that of `second` behind it; both of one length."""
    lengths = first.lengths
    values = np.empty(2 * len(first.values), dtype=np.int64)
    begin = 2 * first.offsets[:-1]
    values[np.repeat(begin, lengths) + first.within] = first.values
    values[np.repeat(begin + lengths, lengths) + second.within] = second.values
    return Ragged(values, 2 * first.offsets, first.present)
