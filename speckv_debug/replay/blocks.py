"""Where the blocks of one verify lie among the flat rows of its batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask

if TYPE_CHECKING:
    from speckv_debug.replay.verifies import VerifyBatch


def due_starts(batch: VerifyBatch) -> Int64s:
    """Row at which each block has to begin at the earliest, of those that begin elsewhere; NULL of all others.

    Blocks of one step are disjoint. Where requests verify `num_draft_tokens` rows each, one block begins where that of
    the request before it in the batch ends, and the first at row 0; a ragged batch may leave rows out between two.

    Returns:
        int64[verifies].
    """
    due = np.full(len(batch), NULL, dtype=np.int64)
    if batch.local_rows or not len(batch):
        return due
    known = (batch.step != NULL) & (batch.block_start != NULL) & (batch.width > 0) & ~batch.padding
    whole = known & (batch.width == _usual(batch))
    due[whole & (batch.batch_index == 0) & (batch.block_start != 0)] = 0
    if not _in_line(batch, mask(known)):
        _overlapping(batch, np.flatnonzero(known), due)
        _behind(batch, np.flatnonzero(whole & (batch.batch_index != NULL)), due)
    return due


def _usual(batch: VerifyBatch) -> int:
    rows = batch.info.settings.get("num_draft_tokens")
    return rows if type(rows) is int else 0


def _in_line(batch: VerifyBatch, known: Mask) -> bool:
    """Whether each block begins where the one recorded before it ends, or is the first of a later step."""
    step, start = batch.step, batch.block_start
    on = (step[1:] > step[:-1]) | ((step[1:] == step[:-1]) & (start[1:] == (start + batch.width)[:-1]))
    return bool(known.all() and on.all())


def _overlapping(batch: VerifyBatch, at: Int64s, due: Int64s) -> None:
    """A block that begins inside another request's; a verify recorded twice is another matter."""
    order = at[np.lexsort((at, batch.batch_index[at], batch.block_start[at], batch.step[at]))]
    first, second = order[:-1], order[1:]
    end = batch.block_start[first] + batch.width[first]
    names = (batch.row, batch.epoch, batch.request.codes)
    other = np.any([name[first] != name[second] for name in names], axis=0)
    over = (batch.step[first] == batch.step[second]) & other & (batch.block_start[second] < end)
    due[second[over]] = end[over]


def _behind(batch: VerifyBatch, at: Int64s, due: Int64s) -> None:
    """A block that does not begin where the one before it in the batch ends."""
    order = at[np.lexsort((batch.batch_index[at], batch.step[at]))]
    first, second = order[:-1], order[1:]
    end = batch.block_start[first] + batch.width[first]
    next_to = (batch.step[first] == batch.step[second]) & (
        batch.batch_index[second] == batch.batch_index[first] + 1
    )
    off = next_to & (batch.block_start[second] != end)
    due[second[off]] = end[off]
