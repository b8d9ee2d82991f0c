"""A window's tables as the sweep over plain lives reads them: one row of numbers a column, one column an event.

Each table begins with `SEQ` to `REQUEST`; what follows is its own, and means what the names below say.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.ragged import NULL, Int64s, Mask
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import of_drafter, padding_rows

SEQ, STEP, ROW, OF_EPOCH, REQUEST = range(5)
VERIFY_LISTS = ("draft_tokens", "positions", "accept_index", "next_token", "next_sibling")
FLAGS, START = 5, 6
"""Of tables that have them."""
LENGTH, NEW_LENGTH, ACCEPTED, BONUS, ROWS, ORIGIN, CHAIN = range(5, 12)
DRAFTS, DRAFTS_END, DRAFT_POSITIONS, DRAFT_POSITIONS_END, PATH, PATH_END = range(12, 18)
CHILDREN, CHILDREN_END, SIBLINGS, SIBLINGS_END = range(18, 22)
"""Of `accept`; where its lists begin and end."""
WRITTEN, SAMPLED, TOKENS_FROM, TOKENS_END, POSITIONS_FROM, POSITIONS_END = range(7, 13)
"""Of `forward`: slots that are written, the token that was sampled, where its lists begin and end."""
SLOTS_FROM, SLOTS_END = 7, 8
"""Of `alloc` and `table_write`."""
CAUSE, REPORT_COMMITTED, REPORT_ALLOCATED = range(6, 9)
"""Of `lengths`."""
OWN_COMMITTED, OWN_ALLOCATED, AHEAD_BY, OWN_PAGE_SIZE, GROWN = range(5, 10)
"""Of `reserve`; the first two of `release` too."""

PADDING, PLAIN, EXTENDING, CHECKED = 1, 2, 4, 8
"""Rows of `forward`: of no request; an extend or plain decode of the target; an extend; a verify."""
MAIN, CUT, FORGETTING = 1, 2, 4
"""Reports of `lengths`: of the main pool; fewer than accepted were kept; tokens that were handed on are forgotten."""
GROWING, RESERVING = 2, 4
"""Rows of `alloc` beside MAIN: grants to a row that grows; those of a decode preparation."""
EXTEND, DECODE, PREPARE, COMMIT, ENDING = range(1, 6)
CAUSES = {
    "extend": EXTEND, "decode": DECODE, "spec_prepare": PREPARE, "verify_commit": COMMIT, "finish": ENDING,
    "retract": ENDING,
}  # fmt: skip
FORGOTTEN = ("session_trim", "session_restore", "retract", "finish")
GROWTHS = ("extend", "decode", "spec_reserve")


def rows_of(columns: Columns, requests: Int64s | None, *own: Int64s) -> tuple[Int64s, ...]:
    """One row of numbers a column: what all tables have, with the number of the request, and what is the table's own."""
    nothing = np.full(len(columns), NULL)
    shared = (columns.ints(n) if columns.has(n) else nothing for n in ("seq", "step", "row", "epoch"))
    return (*shared, nothing if requests is None else requests, *own)


def of_verifies(batch: VerifyBatch) -> list[Int64s]:
    """Rows of `accept`."""
    chain = batch.of("layout", "chain").astype(np.int64)
    numbers = [batch.seq_len, batch.new_seq_len, batch.accept_len, batch.bonus_token]
    lists = _bounds(batch.columns, *VERIFY_LISTS)
    return [*numbers, batch.columns.ints("width"), batch.origin, chain, *lists]


def of_forwards(columns: Columns, batch: VerifyBatch, spaces: Namespaces) -> list[Int64s]:
    """Rows of `forward`."""
    mode, pool, padding = columns.texts("mode"), columns.texts("pool"), padding_rows(columns)
    filling, main = mode.equal("extend", "decode"), ~pool.known | pool.equal(spaces.main_name)
    flags = {
        PADDING: padding,
        PLAIN: filling & main & ~padding,
        EXTENDING: mode.equal("extend"),
        CHECKED: mode.equal("target_verify") & ~of_drafter(columns, batch.info),
    }
    slots, tokens = columns.native("slots"), columns.native("tokens")
    count = np.where(slots.present, slots.lengths, np.where(tokens.present, tokens.lengths, NULL))
    numbers = [_flags(flags), columns.ints("start"), count, columns.ints("next_token")]
    return [*numbers, *_bounds(columns, "tokens", "positions")]


def of_reports(columns: Columns, main: Mask) -> list[Int64s]:
    """Rows of `lengths`."""
    cause = columns.texts("cause")
    flags = {MAIN: main, CUT: columns.texts("cut").known, FORGETTING: cause.equal(*FORGOTTEN)}
    lengths = [columns.ints(name) for name in ("committed", "allocated")]
    return [_flags(flags), cause.numbered(CAUSES), *lengths]


def of_reserves(columns: Columns) -> list[Int64s]:
    """Rows of `reserve`."""
    names = ("committed", "allocated", "reserve", "page_size", "new_allocated")
    return [columns.ints(name) for name in names]


def of_grants(columns: Columns, spaces: Namespaces) -> list[Int64s]:
    """Rows of `alloc`."""
    reason, main = columns.texts("reason"), _of_main(columns, spaces)
    flags = {MAIN: main, GROWING: reason.equal(*GROWTHS), RESERVING: reason.equal("spec_reserve")}
    return [_flags(flags), np.zeros(len(columns), dtype=np.int64), *_bounds(columns, "slots")]


def of_writes(columns: Columns, spaces: Namespaces) -> list[Int64s]:
    """Rows of `table_write`."""
    flags = _flags({MAIN: _of_main(columns, spaces)})
    return [flags, columns.ints("start"), *_bounds(columns, "slots")]


def of_ends(columns: Columns) -> list[Int64s]:
    """Rows of `release`."""
    return [columns.ints("committed"), columns.ints("allocated")]


def _of_main(columns: Columns, spaces: Namespaces) -> Mask:
    return np.asarray(spaces.indices(columns.texts("pool")) == spaces.main)


def _flags(of: Mapping[int, Mask]) -> Int64s:
    return np.asarray(np.sum([mask.astype(np.int64) * flag for flag, mask in of.items()], axis=0))


def _bounds(columns: Columns, *names: str) -> list[Int64s]:
    """Where each list of these columns begins and ends in its values."""
    offsets = [columns.native(name).offsets for name in names]
    return [bound for each in offsets for bound in (each[:-1], each[1:])]
