"""Lives of request rows that nothing speaks against: one pass over a window's events in the order of `seq`.

Each handler knows what the laws over lives ask of its event, and counts the instances that they have there. It answers
False where a law might not be kept, or where its answer might be another than "kept": the columns of the scopes are then
judged instead. So it may be stricter than the laws, never less strict. All handlers stand in one file, since numba keeps
compiled code until the file of the calling function changes. They are handed arrays, and no tuples or views of them: each
look into one of these counts a reference.
"""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.compiling import Array, compiled, inlined, uncounted
from speckv_debug.replay.plain_tables import (
    ACCEPTED,
    AHEAD_BY,
    BONUS,
    CAUSE,
    CHAIN,
    CHECKED,
    CHILDREN,
    CHILDREN_END,
    COMMIT,
    CUT,
    DECODE,
    DRAFT_POSITIONS,
    DRAFT_POSITIONS_END,
    DRAFTS,
    DRAFTS_END,
    ENDING,
    EXTEND,
    EXTENDING,
    FLAGS,
    FORGETTING,
    GROWING,
    GROWN,
    LENGTH,
    MAIN,
    NEW_LENGTH,
    OF_EPOCH,
    ORIGIN,
    OWN_ALLOCATED,
    OWN_COMMITTED,
    OWN_PAGE_SIZE,
    PADDING,
    PATH,
    PATH_END,
    PLAIN,
    POSITIONS_END,
    POSITIONS_FROM,
    PREPARE,
    REPORT_ALLOCATED,
    REPORT_COMMITTED,
    REQUEST,
    RESERVING,
    ROW,
    ROWS,
    SAMPLED,
    SEQ,
    SIBLINGS,
    SIBLINGS_END,
    SLOTS_END,
    SLOTS_FROM,
    START,
    STEP,
    TOKENS_END,
    TOKENS_FROM,
    WRITTEN,
)

NULL = int(np.iinfo(np.int64).min)
NEVER = int(np.iinfo(np.int64).max)
VERIFIES, FORWARDS, REPORTS, RESERVES, GRANTS, WRITES, RELEASES, ROW_ALLOCS, ROW_FREES, STATS = range(10)
"""Tables, in the order in which `sweep` takes them."""
DRAFTED, DRAFTED_AT, ACCEPT_INDEX, TOKENS, POSITIONS, GRANTED_SLOTS, WRITTEN_SLOTS, CHILD, SIBLING = range(9)
"""Values of lists, in the order in which `sweep` takes them."""
WAITING_MOST = 4
"""Verifies of a life whose results wait to be committed, and grants that wait to be written: at most so many."""
FIELDS = (
    "epoch", "held", "ended", "released", "owner", "due", "told", "committed", "allocated", "reset", "room",
    "token_at", "token", "accepted_at", "verified_at", "verify", "prepared_at", "decided", "decided_from",
    "decided_to", "granted", "grants_made", "other_grants", "reports_made", "reported", "unwritten", "end_due",
    "results", "begun",
)  # fmt: skip
(
    EPOCH, HELD, ENDED, RELEASED, OWNER, DUE, TOLD, COMMITTED, ALLOCATED, RESET, ROOM,
    TOKEN_AT, TOKEN, ACCEPTED_AT, VERIFIED_AT, VERIFY, PREPARED_AT, DECIDED, DECIDED_FROM,
    DECIDED_TO, GRANTED, GRANTS_MADE, OTHER_GRANTS, REPORTS_MADE, REPORTED, UNWRITTEN, END_DUE,
    RESULTS, BEGUN,
) = range(len(FIELDS))  # fmt: skip
"""What is kept of a row: its life, whether it is held, over or released, and whose; the length at which the next verify
begins; the last report; the room that is known of; the token that is handed on, and where to; the steps of the last verify
and of its forward, and where that stands in the window; its decode preparation: the step, what was decided, granted and
reported; grants that no write has taken, and the end that is to be reported; verifies whose results are not
committed; whether the next verify begins where an extend or plain decode ended."""
QUEUES = len(FIELDS)
"""From here on: grants that wait, then steps of verifies that wait, then how many rows each accepted, then
where each ended."""
WAITING_STEPS, WAITING_ROWS = QUEUES + WAITING_MOST, QUEUES + 2 * WAITING_MOST
WAITING_ENDS = QUEUES + 3 * WAITING_MOST
WIDTH = QUEUES + 4 * WAITING_MOST
COUNTS = (
    "successions", "bounds", "commits", "late_commits", "growths", "tokens", "reaches", "row_grants",
    "unsaid", "unhanded", "untold",
)  # fmt: skip
(
    SUCCESSIONS, BOUNDS, COMMITS, LATE_COMMITS, GROWTHS, OF_TOKENS, REACHES, ROW_GRANTS,
    UNSAID, UNHANDED, UNTOLD,
) = range(len(COUNTS))  # fmt: skip
"""Instances by scope; of tokens those that have none, and that nothing was handed on to; of reaches those without a room."""
LEAVING, LEAVING_SINCE, PREPARED, HIGHEST = range(len(COUNTS), len(COUNTS) + 4)
"""Rows that were released and have to come back, since which step; the last step prepared before the window, and now."""
FORM, PAGE_SIZE, ROW_WIDTH, COMPUTED = range(4)
PLAIN_FORM, ROUNDED_FORM, EITHER_FORM = range(3)
"""How the engine grows a row; `COMPUTED` says that each verify has a forward."""


@inlined
def runs_for(at: int, of: Array, lives: Array) -> bool:
    """The event is of the life that its row has, and of no other request; its step is known."""
    row, request = of[ROW, at], of[REQUEST, at]
    if row < 1 or row >= len(lives) or of[STEP, at] == NULL:
        return False
    epoch = lives[row, EPOCH]
    return bool(epoch >= 0 and of[OF_EPOCH, at] == epoch and (request < 0 or request == lives[row, OWNER]))


@inlined
def settled(row: int, lives: Array) -> bool:
    """What a preparation decided was granted and reported; the next one may begin."""
    kept = True
    if lives[row, DECIDED]:
        grown = lives[row, DECIDED_TO] - lives[row, DECIDED_FROM]
        told = lives[row, GRANTS_MADE] > 0 or lives[row, OTHER_GRANTS] == 0
        kept = lives[row, GRANTED] == grown if told else grown <= 0
        if lives[row, REPORTS_MADE] == 1 and lives[row, REPORTED] != lives[row, DECIDED_TO]:
            kept = False
    lives[row, DECIDED] = lives[row, GRANTED] = lives[row, GRANTS_MADE] = 0
    lives[row, OTHER_GRANTS] = lives[row, REPORTS_MADE] = 0
    return kept


@inlined
def prepares(row: int, step: int, lives: Array, now: Array) -> bool:
    """The event is of a preparation of this step; False if it comes late, or the one before it was not as due."""
    if step <= now[PREPARED] or step < lives[row, PREPARED_AT]:
        return False
    kept = True
    if step > lives[row, PREPARED_AT]:
        kept = settled(row, lives)
        lives[row, PREPARED_AT] = step
    return kept


@inlined
def repeats(row: int, committed: int, allocated: int, lives: Array, now: Array) -> bool:
    """Lengths are as they were reported last; NULL is not asked for."""
    if not lives[row, TOLD] or lives[row, RESET] or lives[row, ENDED]:
        return True
    now[BOUNDS] += 1
    same = committed == NULL or committed == lives[row, COMMITTED]
    return same and (allocated == NULL or allocated == lives[row, ALLOCATED])


@inlined
def rises(start: int, values: Array, first: int, end: int, linear: bool) -> bool:
    """Positions rise by one from the start; of a tree, only its root is looked at: see `branches`."""
    stop = end if linear else min(first + 1, end)
    wrong = 0
    for at in range(first, stop):
        wrong += values[at] != start + at - first
    return wrong == 0


@inlined
def branches(values: Array, first: int, end: int, links: Array, begin: int, stop: int, rise: int) -> bool:
    """The row that each row of a tree is linked to stands `rise` positions behind it."""
    if stop - begin != end - first:
        return True
    wrong = 0
    for row in range(end - first):
        link = links[begin + row]
        if 0 <= link < end - first:
            wrong += values[first + link] != values[first + row] + rise
    return wrong == 0


@inlined
def takes_in(
    row: int,
    start: int,
    end: int,
    values: Array,
    first: int,
    last: int,
    extending: bool,
    lives: Array,
    now: Array,
) -> bool:
    """The tokens of a forward of the target: none is a placeholder, the first is the one that was handed on."""
    for at in range(first, last):
        if values[at] == -1 or values[at] == NULL:
            return False
    now[OF_TOKENS] += 1
    now[REACHES] += 1
    if first == last:
        now[UNSAID] += 1
    elif lives[row, TOKEN] != NULL and lives[row, TOKEN_AT] == start:
        if values[first] != lives[row, TOKEN]:
            return False
    elif not extending:
        now[UNHANDED] += 1
    if lives[row, ROOM] == NULL:
        now[UNTOLD] += 1
    return bool(lives[row, ROOM] == NULL or end <= lives[row, ROOM])


@inlined
def computed(
    row: int,
    at: int,
    of: Array,
    drafted: Array,
    drafted_at: Array,
    forwards: Array,
    tokens: Array,
    positions: Array,
    lives: Array,
) -> bool:
    """The forward of a verify took in its draft tokens, at their positions."""
    each = lives[row, VERIFY]
    if each < 0:
        return False
    first, start, end = of[DRAFTS, at], forwards[TOKENS_FROM, each], forwards[TOKENS_END, each]
    if end - start != of[DRAFTS_END, at] - first:
        return False
    wrong = 0
    for place in range(end - start):
        wrong += tokens[start + place] != drafted[first + place]
    begin, stop, due = forwards[POSITIONS_FROM, each], forwards[POSITIONS_END, each], of[DRAFT_POSITIONS, at]
    if begin < stop and stop - begin != of[DRAFT_POSITIONS_END, at] - due:
        return False
    for place in range(stop - begin):
        wrong += positions[begin + place] != drafted_at[due + place]
    return wrong == 0


@inlined
def verify(
    at: int,
    of: Array,
    drafted: Array,
    drafted_at: Array,
    index: Array,
    child: Array,
    sibling: Array,
    forwards: Array,
    tokens: Array,
    positions: Array,
    lives: Array,
    now: Array,
    facts: Array,
) -> bool:
    """A verify of a request."""
    if not runs_for(at, of, lives) or of[REQUEST, at] < 0:
        return False
    row, step, length, n, width = of[ROW, at], of[STEP, at], of[LENGTH, at], of[ACCEPTED, at], of[ROWS, at]
    late = step <= lives[row, ACCEPTED_AT] or step < lives[row, VERIFIED_AT]
    if late or length == NULL or width == NULL or of[ORIGIN, at] == NULL:
        return False
    path, origin = of[PATH, at], of[ORIGIN, at]
    if n < 1 or n > width or n > of[PATH_END, at] - path:
        return False
    for each in range(path, path + n):
        if index[each] < origin or index[each] >= origin + width:
            return False
    if of[NEW_LENGTH, at] != NULL and of[NEW_LENGTH, at] != length + n:
        return False
    if lives[row, DUE] != NULL and lives[row, DUE] != length:
        return False
    first, last = of[DRAFTS, at], of[DRAFTS_END, at]
    place, end = of[DRAFT_POSITIONS, at], of[DRAFT_POSITIONS_END, at]
    if end - place == last - first:
        if not rises(length, drafted_at, place, end, of[CHAIN, at] > 0):
            return False
        if not of[CHAIN, at]:
            if not branches(drafted_at, place, end, child, of[CHILDREN, at], of[CHILDREN_END, at], 1):
                return False
            if not branches(drafted_at, place, end, sibling, of[SIBLINGS, at], of[SIBLINGS_END, at], 0):
                return False
    if not takes_in(row, length, length + width, drafted, first, last, False, lives, now):
        return False
    if lives[row, VERIFIED_AT] == step:
        if not computed(row, at, of, drafted, drafted_at, forwards, tokens, positions, lives):
            return False
        now[OF_TOKENS] += 1
    elif facts[COMPUTED]:
        return False
    now[SUCCESSIONS] += 1
    lives[row, VERIFY], lives[row, ACCEPTED_AT] = -1, step
    lives[row, DUE] = lives[row, TOKEN_AT] = length + n
    lives[row, BEGUN] = 0
    lives[row, TOKEN] = of[BONUS, at] if first < last else NULL
    if not lives[row, ENDED]:
        waiting = lives[row, RESULTS]
        if waiting == WAITING_MOST:
            return False
        lives[row, WAITING_STEPS + waiting], lives[row, WAITING_ROWS + waiting] = step, n
        lives[row, WAITING_ENDS + waiting] = length + n
        lives[row, RESULTS] += 1
    return True


@inlined
def forward(at: int, of: Array, tokens: Array, positions: Array, lives: Array, now: Array) -> bool:
    """A row of a forward."""
    flags, step = of[FLAGS, at], of[STEP, at]
    if now[LEAVING] and step > now[LEAVING_SINCE]:
        return False
    if flags & PADDING:
        return bool(of[OF_EPOCH, at] == NULL)
    if not runs_for(at, of, lives):
        return False
    row, first, last = of[ROW, at], of[TOKENS_FROM, at], of[TOKENS_END, at]
    if flags & CHECKED:
        if step <= lives[row, VERIFIED_AT] or step <= lives[row, ACCEPTED_AT] or first == last:
            return False
        lives[row, VERIFIED_AT], lives[row, VERIFY] = step, at
    if flags & PLAIN:
        start, written = of[START, at], of[WRITTEN, at]
        if start == NULL or written == NULL:
            return False
        place, end = of[POSITIONS_FROM, at], of[POSITIONS_END, at]
        if end - place == last - first and not rises(start, positions, place, end, True):
            return False
        extending = (flags & EXTENDING) > 0
        if not takes_in(row, start, start + written, tokens, first, last, extending, lives, now):
            return False
        lives[row, DUE], lives[row, BEGUN] = start + written, 1
        lives[row, TOKEN_AT] = start + last - first
        lives[row, TOKEN] = of[SAMPLED, at] if first < last else NULL
    return True


@inlined
def commits(row: int, at: int, of: Array, lives: Array, now: Array) -> bool:
    """The result of the verify that waits longest is committed: what it accepted, or less where the output was cut."""
    now[COMMITS] += 1
    waiting, n = lives[row, RESULTS] - 1, lives[row, WAITING_ROWS]
    if not lives[row, TOLD] or waiting < 0 or lives[row, WAITING_STEPS] != of[STEP, at]:
        return False
    end = lives[row, WAITING_ENDS]
    lives[row, RESULTS] = waiting
    for place in range(waiting):
        lives[row, WAITING_STEPS + place] = lives[row, WAITING_STEPS + place + 1]
        lives[row, WAITING_ROWS + place] = lives[row, WAITING_ROWS + place + 1]
        lives[row, WAITING_ENDS + place] = lives[row, WAITING_ENDS + place + 1]
    grown = of[REPORT_COMMITTED, at] - lives[row, COMMITTED]
    cut = (of[FLAGS, at] & CUT) > 0 and 0 <= grown < n
    return bool((cut and of[REPORT_COMMITTED, at] < end) or (grown == n and of[REPORT_COMMITTED, at] == end))


@inlined
def leads_on(row: int, cause: int, flags: int, committed: int, lives: Array) -> None:
    """What a report says of the length at which the next verify begins; of a forward that was seen it says nothing new."""
    if flags & CUT or cause == ENDING:
        lives[row, DUE], lives[row, BEGUN] = NULL, 0
    elif EXTEND <= cause <= DECODE:
        if not lives[row, BEGUN]:
            lives[row, DUE] = committed
    elif cause != PREPARE and cause != COMMIT:
        lives[row, DUE], lives[row, BEGUN] = committed, 0


@inlined
def report(at: int, of: Array, lives: Array, now: Array, facts: Array) -> bool:
    """Lengths as the host has them."""
    if not runs_for(at, of, lives):
        return False
    row, cause, flags = of[ROW, at], of[CAUSE, at], of[FLAGS, at]
    committed, allocated = of[REPORT_COMMITTED, at], of[REPORT_ALLOCATED, at]
    if not lives[row, HELD] and cause != ENDING:
        return False
    if committed < 0 or committed > allocated or allocated > facts[ROW_WIDTH]:
        return False
    now[BOUNDS] += 1
    if not flags & MAIN:
        return bool(cause != PREPARE and cause != COMMIT)
    if cause == PREPARE:
        if not prepares(row, of[STEP, at], lives, now) or not repeats(row, committed, NULL, lives, now):
            return False
        lives[row, REPORTS_MADE] += 1
        lives[row, REPORTED] = allocated
    elif cause == COMMIT:
        now[LATE_COMMITS] += 1
        if lives[row, ENDED] or not repeats(row, NULL, allocated, lives, now):
            return False
        if not commits(row, at, of, lives, now):
            return False
    elif cause == DECODE:
        now[LATE_COMMITS] += 1
        if lives[row, ENDED]:
            return False
    if EXTEND <= cause <= PREPARE and lives[row, END_DUE] != NULL:
        if allocated != lives[row, END_DUE]:
            return False
        lives[row, END_DUE] = NULL
    leads_on(row, cause, flags, committed, lives)
    if flags & (CUT | FORGETTING):
        lives[row, TOKEN] = NULL
    if cause != ENDING and not lives[row, ENDED]:
        lives[row, ROOM] = allocated
    lives[row, TOLD], lives[row, RESET] = 1, cause == ENDING
    lives[row, COMMITTED], lives[row, ALLOCATED] = committed, allocated
    return True


@inlined
def reserve(at: int, of: Array, lives: Array, now: Array, facts: Array) -> bool:
    """What a decode preparation decides."""
    if not runs_for(at, of, lives):
        return False
    row, step, ahead = of[ROW, at], of[STEP, at], of[AHEAD_BY, at]
    if lives[row, ENDED] or not prepares(row, step, lives, now) or lives[row, DECIDED]:
        return False
    committed, allocated, grown = of[OWN_COMMITTED, at], of[OWN_ALLOCATED, at], of[GROWN, at]
    if committed < 0 or committed > allocated or ahead == NULL or grown > facts[ROW_WIDTH]:
        return False
    if of[OWN_PAGE_SIZE, at] != NULL and of[OWN_PAGE_SIZE, at] != facts[PAGE_SIZE]:
        return False
    now[BOUNDS] += 1
    now[GROWTHS] += 1
    if not repeats(row, committed, allocated, lives, now):
        return False
    plain, size = committed + ahead, facts[PAGE_SIZE]
    rounded = (plain + size - 1) // size * size
    as_plain = facts[FORM] != ROUNDED_FORM and grown == max(allocated, plain)
    if not as_plain and (facts[FORM] == PLAIN_FORM or grown != max(allocated, rounded)):
        return False
    lives[row, DECIDED], lives[row, DECIDED_FROM], lives[row, DECIDED_TO] = 1, allocated, grown
    lives[row, ROOM] = grown
    now[HIGHEST] = max(now[HIGHEST], step)
    return True


@inlined
def grant(at: int, of: Array, lives: Array, now: Array) -> bool:
    """Slots for a request."""
    if not runs_for(at, of, lives):
        return False
    row, flags, count = of[ROW, at], of[FLAGS, at], of[SLOTS_END, at] - of[SLOTS_FROM, at]
    if lives[row, ENDED] or not prepares(row, of[STEP, at], lives, now):
        return False
    if flags & MAIN and flags & RESERVING:
        lives[row, GRANTED] += count
        lives[row, GRANTS_MADE] += 1
    elif flags & MAIN:
        lives[row, OTHER_GRANTS] += 1
    if flags & MAIN and flags & GROWING and count > 0:
        waiting = lives[row, UNWRITTEN]
        if lives[row, END_DUE] != NULL or waiting == WAITING_MOST:
            return False
        lives[row, QUEUES + waiting] = at
        lives[row, UNWRITTEN] += 1
        now[GROWTHS] += 1
    return True


@inlined
def write(at: int, of: Array, slots: Array, grants: Array, granted: Array, lives: Array) -> bool:
    """Slots that enter a row: those that were granted since the last such event are its last ones."""
    row = of[ROW, at]
    if row < 1 or row >= len(lives) or not of[FLAGS, at] & MAIN:
        return True
    if of[OF_EPOCH, at] != lives[row, EPOCH] or not lives[row, UNWRITTEN]:
        return True
    place, begin = of[SLOTS_END, at], of[SLOTS_FROM, at]
    lives[row, END_DUE] = of[START, at] + place - begin
    for back in range(lives[row, UNWRITTEN]):
        each = lives[row, QUEUES + lives[row, UNWRITTEN] - 1 - back]
        first, count = grants[SLOTS_FROM, each], grants[SLOTS_END, each] - grants[SLOTS_FROM, each]
        place -= count
        if place < begin:
            return False
        for slot in range(count):
            if granted[first + slot] != slots[place + slot]:
                return False
    lives[row, UNWRITTEN] = 0
    return bool(of[START, at] != NULL)


@inlined
def ends(row: int, lives: Array) -> bool:
    """The life is over: nothing that was granted to it waits."""
    lives[row, ENDED], lives[row, RESULTS] = 1, 0
    return bool(lives[row, UNWRITTEN] == 0 and lives[row, END_DUE] == NULL)


@inlined
def release(at: int, of: Array, lives: Array, now: Array, facts: Array) -> bool:
    """A request ends; its row has to come back."""
    if not runs_for(at, of, lives):
        return False
    row, committed, allocated = of[ROW, at], of[OWN_COMMITTED, at], of[OWN_ALLOCATED, at]
    if committed < 0 or committed > allocated or allocated > facts[ROW_WIDTH]:
        return False
    now[BOUNDS] += 1
    if lives[row, ENDED] or not repeats(row, committed, allocated, lives, now):
        return False
    now[LEAVING_SINCE] = min(now[LEAVING_SINCE], of[STEP, at])
    now[LEAVING] += 1
    now[ROW_GRANTS] += 1
    lives[row, RELEASED], lives[row, DUE], lives[row, TOKEN], lives[row, BEGUN] = 1, NULL, NULL, 0
    return ends(row, lives)


@inlined
def row_alloc(at: int, of: Array, lives: Array, held: Array, now: Array) -> bool:
    """A row is handed out, or asked for again by a prompt in chunks."""
    row, epoch, request = of[ROW, at], of[OF_EPOCH, at], of[REQUEST, at]
    if row < 1 or row >= len(lives) or epoch < 0 or request < 0:
        return False
    now[ROW_GRANTS] += 1
    if lives[row, HELD]:
        return lives[row, EPOCH] == epoch and lives[row, OWNER] == request and not lives[row, ENDED]
    if epoch <= lives[row, EPOCH] or held[request] >= 0 or not settled(row, lives):
        return False
    accepted, verified = lives[row, ACCEPTED_AT], lives[row, VERIFIED_AT]
    for field in range(WIDTH):
        lives[row, field] = 0
    lives[row, EPOCH], lives[row, OWNER], lives[row, HELD], lives[row, VERIFY] = epoch, request, 1, -1
    lives[row, ACCEPTED_AT], lives[row, VERIFIED_AT], lives[row, PREPARED_AT] = accepted, verified, NULL
    lives[row, DUE] = lives[row, ROOM] = lives[row, END_DUE] = NULL
    lives[row, TOKEN] = lives[row, TOKEN_AT] = NULL
    held[request] = row
    now[ROW_GRANTS] += 1
    return True


@inlined
def row_free(at: int, of: Array, lives: Array, held: Array, now: Array) -> bool:
    """A row comes back from the life that holds it."""
    row, request = of[ROW, at], of[REQUEST, at]
    if row < 1 or row >= len(lives) or not lives[row, HELD]:
        return False
    if of[OF_EPOCH, at] != lives[row, EPOCH] or (request >= 0 and request != lives[row, OWNER]):
        return False
    now[ROW_GRANTS] += 1
    if lives[row, RELEASED]:
        now[LEAVING] -= 1
        if not now[LEAVING]:
            now[LEAVING_SINCE] = NEVER
    lives[row, HELD] = lives[row, RELEASED] = 0
    held[lives[row, OWNER]] = -1
    return ends(row, lives)


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
