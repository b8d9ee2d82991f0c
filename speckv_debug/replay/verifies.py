"""All target verifies of one process as columns, with the accepted paths and the draft trees worked out."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.blocks import due_starts
from speckv_debug.replay.columns import Columns, Texts
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import (
    NULL,
    Int64s,
    Mask,
    Ragged,
    any_per_list,
    expanded,
    frozen,
    joined,
    mask,
    starts,
)
from speckv_debug.replay.trees import WIDEST, parents_of
from speckv_debug.replay.worthwhile import worth_compiling

BARE = 256
"""Rows of a verify that its width alone may say: a list of that length has to bear out more."""
PLAIN_LISTS = (
    "accept_index", "next_token", "next_sibling", "target_predict", "predict", "draft_tokens", "out_cache_loc",
    "table_slots",
)  # fmt: skip
"""What `verifies_compiled` looks at, in its order."""
ROW_LISTS = ("draft_tokens", "positions", "out_cache_loc", "table_slots", "next_token", "target_predict")
"""Inputs that have one entry a row."""


class _Ints:
    """An integer column of the table as an attribute; it is read when it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, verifies: VerifyBatch, owner: type[VerifyBatch]) -> Int64s:
        return verifies.columns.ints(self._name)


class VerifyBatch:
    """One instance a row of `accept`: one request in one target verify.

    Names are those of the table. Rows of the flat verify batch become local rows `[0, w)` in `path`
    and `parents`, whichever convention `settings.accept_index_rows` says that the engine uses.
    """

    def __init__(self, accept: Columns, info: Process) -> None:
        self.columns = accept
        self.info = info

    seq, step = _Ints("seq"), _Ints("step")
    row, epoch = _Ints("row"), _Ints("epoch")
    batch_index, block_start = _Ints("batch_index"), _Ints("block_start")
    seq_len, new_seq_len = _Ints("seq_len"), _Ints("new_seq_len")
    accept_len, num_correct = _Ints("accept_len"), _Ints("num_correct_drafts")
    bonus_token = _Ints("bonus_token")

    def __len__(self) -> int:
        return len(self.columns)

    def place(self, index: int) -> Place:
        """Where the verify stands."""
        return place_of(self.columns, index)

    @property
    def request(self) -> Texts:
        """The engine's request ids."""
        return self.columns.texts("request")

    def ragged(self, name: str) -> Ragged:
        """A list column of `accept` by its name."""
        return self.columns.lists(name)

    @cached_property
    def width(self) -> Int64s:
        """Rows that each request verifies, w; from the lists where the column is absent, else NULL."""
        width = self.columns.ints("width").copy()
        for name in ("draft_tokens", "out_cache_loc", "positions"):
            if not (width == NULL).any():
                break
            column = self.ragged(name)
            width = np.where((width == NULL) & column.present, column.lengths, width)
        return width

    @cached_property
    def sized(self) -> Mask:
        """Verifies of which it is known how many rows they have: a damaged width asks for no memory."""
        known = (self.width >= 1) & (self.width <= WIDEST)
        wide = np.flatnonzero(known & (self.width > BARE))
        if len(wide):
            longest = np.max([self.ragged(name).lengths[wide] for name in ROW_LISTS], axis=0)
            known[wide[self.width[wide] > longest]] = False
        return mask(known)

    @cached_property
    def padding(self) -> Mask:
        """Rows that pad the batch: no request, and the reserved request row 0."""
        return mask(~self.request.known & (self.row == 0))

    @cached_property
    def plain(self) -> bool:
        """Whether it is plain that all verifies keep the laws on single verifies; False where it takes a closer look.

        Those are ACC-COUNT, ACC-BLOCK, ACC-CHAIN, ACC-SHIFT and LOC-ROW, of verifies that tell all that these look at.
        """
        lists = [self.columns.native(name) for name in PLAIN_LISTS]
        odd = self.non_draft is None or self.tokens_rewritten
        if not worth_compiling(len(lists[0].values)) or odd or self.padding.any() or self.simulated.any():
            return False
        from speckv_debug.replay.verifies_compiled import all_plain

        numbers = np.stack(
            (self.accept_len, self.num_correct, self.columns.ints("width"), self.origin, self.bonus_token)
        )
        flags = np.stack((self.of("layout", "chain"), self.of("sampling", "greedy")))
        present, offsets = np.stack([each.present for each in lists]), np.stack([e.offsets for e in lists])
        values = tuple(frozen(each.values) for each in lists)
        plain = all_plain(numbers, flags, present, offsets, values, self.non_draft or 0)
        return bool(plain and (due_starts(self) == NULL).all())

    @property
    def plain_paths(self) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """Of plain verifies, what says which rows they accepted: n, the root's row, entries and where each list begins."""
        index = self.columns.native("accept_index")
        found = (self.accept_len, self.origin, index.values, index.offsets)
        return (frozen(found[0]), frozen(found[1]), frozen(found[2]), frozen(found[3]))

    def of(self, column: str, *texts: str) -> Mask:
        """Where a text column is one of `texts`."""
        return self.columns.texts(column).equal(*texts)

    @cached_property
    def simulated(self) -> Mask:
        """Verifies whose accept length was set by the engine's simulation."""
        by_default = self.info.settings.get("simulate_acc_len") is not None
        return self.of("sampling", "simulated") | (~self.columns.texts("sampling").known & by_default)

    @property
    def local_rows(self) -> bool:
        """Whether accept_index holds rows of the request's own block instead of the whole batch."""
        return bool(self.info.settings.get("accept_index_rows") == "local")

    @cached_property
    def origin(self) -> Int64s:
        """What accept_index calls the request's root row: `block_start`, or 0 if rows are local; NULL if unknown."""
        return np.zeros(len(self), dtype=np.int64) if self.local_rows else self.block_start

    @cached_property
    def filled(self) -> Int64s:
        """How many entries of accept_index are not -1."""
        index = self.ragged("accept_index")
        return np.bincount(index.owners[index.values != -1], minlength=len(self)).astype(np.int64)

    @cached_property
    def accepted(self) -> Int64s:
        """n: accept_len, or the filled entries of accept_index where it is absent, else NULL."""
        if not (self.accept_len == NULL).any():
            return self.accept_len
        counted = np.where(self.ragged("accept_index").present, self.filled, NULL)
        return np.where(self.accept_len == NULL, counted, self.accept_len)

    @cached_property
    def lengths_only(self) -> Mask:
        """Chain engines that give lengths and no accept_index (DSpark, DFlash): the path is rows 0 .. n-1."""
        return ~self.ragged("accept_index").present & self.of("layout", "chain")

    @cached_property
    def path_known(self) -> Mask:
        """Where the first n entries of accept_index are n rows of the request's own block."""
        n, index = self.accepted, self.ragged("accept_index")
        inside = (n >= 0) & (n <= self.width) & (self.width != NULL)
        whole = inside & index.present & (n <= index.lengths) & (self.origin != NULL)
        wrong = self._strays(np.where(whole, n, 0))
        return mask((whole & ~wrong) | (inside & self.lengths_only & self.sized))

    def _strays(self, n: Int64s) -> Mask:
        """Verifies of which one of the first n entries of accept_index is no row of the request's own block."""
        index, origin, width = self.ragged("accept_index"), self.origin, self.width
        if worth_compiling(len(index.values)):
            from speckv_debug.replay.gathering import any_outside

            end = origin + np.where(origin == NULL, 0, width)
            parts = (index.values, index.offsets, n, origin, end)
            return mask(any_outside(*(frozen(part) for part in parts)))
        local = index.values - origin[index.owners]
        outside = (local < 0) | (local >= width[index.owners])
        return any_per_list(outside & (index.within < n[index.owners]), index.owners, len(self))

    @cached_property
    def path(self) -> Ragged:
        """Local rows of the accepted path, root first; absent where `path_known` is false."""
        n = np.where(self.path_known, self.accepted, 0)
        owners, within = expanded(n)
        found = self.ragged("accept_index").at(owners, within) - self.origin[owners]
        return Ragged(np.where(self.lengths_only[owners], within, found), starts(n), self.path_known)

    @cached_property
    def parents(self) -> Ragged:
        """Parent of each local row: -1 of the root, -2 of a row that no link reaches; absent where unknown."""
        return parents_of(self.ragged("next_token"), self.ragged("next_sibling"), self.width, self._chain)

    def parents_at(self, verifies: Int64s) -> Ragged:
        """The same for the rows of some verifies alone."""
        child, sibling = (self.ragged(name).take(verifies) for name in ("next_token", "next_sibling"))
        return parents_of(child, sibling, self.width[verifies], self._chain[verifies])

    @property
    def _chain(self) -> Mask:
        return self.of("layout", "chain") & self.sized

    def on_path(self, name: str) -> Int64s:
        """Values of a list column at the rows of `path`, parallel to `path.values`, NULL where absent."""
        return self.ragged(name).at(self.path.owners, self.path.values)

    @cached_property
    def chosen(self) -> Ragged:
        """The target's choice at each local row: `target_predict`, else `predict`."""
        target, predict = self.ragged("target_predict"), self.ragged("predict")
        if target.present.all() or not target.present.any():
            return target if target.present.any() else predict
        both, count = joined(target, predict), len(self)
        return both.take(np.arange(count) + np.where(target.present, 0, count))

    @property
    def non_draft(self) -> int | None:
        """z: accepted rows that are no drafts, 1 for EAGLE; None where the setting is no such number."""
        value = self.info.settings.get("num_non_draft")
        value = 1 if value is None else value
        return value if type(value) is int and 0 <= value <= WIDEST else None

    @property
    def tokens_rewritten(self) -> bool:
        """Whether the engine may rewrite draft ids between sampling and output."""
        return any(self.info.settings.get(name) for name in ("watermark", "vocab_map"))

    def later_in_step(self, index: int) -> Int64s:
        """Verifies of the same step whose block comes after."""
        same = (self.step == self.step[index]) & (self.step != NULL)
        return np.flatnonzero(same & (self.batch_index > self.batch_index[index]))
