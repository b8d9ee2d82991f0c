"""What the sweep over plain lives keeps of a row, and what it counts, each by its number."""

from __future__ import annotations

import numpy as np

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
