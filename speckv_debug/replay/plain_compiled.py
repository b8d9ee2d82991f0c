"""Lives of request rows that nothing speaks against: one pass over a window's events in the order of `seq`.

Each handler (`plain_forwards`, `plain_reports`, `plain_rows`) knows what the laws over lives ask of its event, and counts
the instances that they have there. It answers False where a law might not be kept, or where its answer might be another
than "kept": the columns of the scopes are then judged instead. So it may be stricter than the laws, never less strict. They
are handed arrays, and no tuples or views of them: each look into one of these counts a reference.
"""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.compiling import Array, compiled, uncounted
from speckv_debug.replay.plain_forwards import forward, verify
from speckv_debug.replay.plain_life import settled
from speckv_debug.replay.plain_numbers import (
    FORWARDS,
    GRANTS,
    HIGHEST,
    LEAVING,
    NEVER,
    PREPARED,
    RELEASES,
    REPORTS,
    RESERVES,
    ROW_ALLOCS,
    ROW_FREES,
    UNWRITTEN,
    VERIFIES,
    VERIFY,
    WRITES,
)
from speckv_debug.replay.plain_reports import release, report, reserve
from speckv_debug.replay.plain_rows import grant, row_alloc, row_free, write
from speckv_debug.replay.plain_tables import SEQ


@compiled
def closed(lives: Array, now: Array) -> bool:
    """At the end of a window nothing waits for an event of the next one; its places are not those of the next."""
    for row in range(len(lives)):
        if not settled(row, lives) or lives[row, UNWRITTEN]:
            return False
        lives[row, VERIFY] = -1
    now[PREPARED] = max(now[PREPARED], now[HIGHEST])
    return not now[LEAVING]


@compiled
def sweep(
    tables: tuple[Array, ...],
    lists: tuple[Array, ...],
    lives_of: Array,
    held_by: Array,
    counts: Array,
    known: Array,
) -> bool:
    """Whether all events of a window are plain; `counts` has counted their instances then.

    Args:
        tables: int64[columns, events] each, in the order of their numbers, see `plain_tables`.
        lists: Values of lists, in the order of their numbers.
        lives_of: int64[rows, WIDTH], what is known of the life of each request row.
        held_by: int64[requests], the row that each request holds, -1 if none.
        counts: int64, the counts and what else goes on from event to event.
        known: int64, how the engine grows a row, the allocator's page size, columns of a request row, whether forwards of
            verifies are recorded whole.
    """
    verifies, forwards, reports = uncounted(tables[0]), uncounted(tables[1]), uncounted(tables[2])
    reserves, grants, writes = uncounted(tables[3]), uncounted(tables[4]), uncounted(tables[5])
    releases, allocs, frees, stats = (
        uncounted(tables[6]), uncounted(tables[7]), uncounted(tables[8]), uncounted(tables[9])
    )  # fmt: skip
    drafted, drafted_at, index = uncounted(lists[0]), uncounted(lists[1]), uncounted(lists[2])
    tokens, positions = uncounted(lists[3]), uncounted(lists[4])
    granted, written = uncounted(lists[5]), uncounted(lists[6])
    child, sibling = uncounted(lists[7]), uncounted(lists[8])
    lives, held, now, facts = uncounted(lives_of), uncounted(held_by), uncounted(counts), uncounted(known)
    at, head = np.zeros(len(tables), dtype=np.int64), np.full(len(tables), NEVER)
    for number in range(len(tables)):
        if tables[number].shape[1]:
            head[number] = tables[number][SEQ, 0]
    while True:
        table = 0
        for number in range(1, len(head)):
            if head[number] < head[table]:
                table = number
        if head[table] == NEVER:
            break
        event, done, following = at[table], False, NEVER
        at[table] = after = event + 1
        if table == REPORTS:
            done = report(event, reports, lives, now, facts)
            following = reports[SEQ, after] if after < reports.shape[1] else NEVER
        elif table == RESERVES:
            done = reserve(event, reserves, lives, now, facts)
            following = reserves[SEQ, after] if after < reserves.shape[1] else NEVER
        elif table == FORWARDS:
            done = forward(event, forwards, tokens, positions, lives, now)
            following = forwards[SEQ, after] if after < forwards.shape[1] else NEVER
        elif table == VERIFIES:
            done = verify(
                event,
                verifies,
                drafted,
                drafted_at,
                index,
                child,
                sibling,
                forwards,
                tokens,
                positions,
                lives,
                now,
                facts,
            )
            following = verifies[SEQ, after] if after < verifies.shape[1] else NEVER
        elif table == GRANTS:
            done = grant(event, grants, lives, now)
            following = grants[SEQ, after] if after < grants.shape[1] else NEVER
        elif table == WRITES:
            done = write(event, writes, written, grants, granted, lives)
            following = writes[SEQ, after] if after < writes.shape[1] else NEVER
        elif table == RELEASES:
            done = release(event, releases, lives, now, facts)
            following = releases[SEQ, after] if after < releases.shape[1] else NEVER
        elif table == ROW_ALLOCS:
            done = row_alloc(event, allocs, lives, held, now)
            following = allocs[SEQ, after] if after < allocs.shape[1] else NEVER
        elif table == ROW_FREES:
            done = row_free(event, frees, lives, held, now)
            following = frees[SEQ, after] if after < frees.shape[1] else NEVER
        else:
            done = not now[LEAVING]
            following = stats[SEQ, after] if after < stats.shape[1] else NEVER
        if not done:
            return False
        head[table] = following
    return closed(lives, now)
