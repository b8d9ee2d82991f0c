"""OWN: who holds a page, and when it may go back to the free list."""

from __future__ import annotations

from speckv_debug.checks.ownership_evidence import (
    explain_again,
    explain_alias,
    explain_leak,
    explain_orphan,
    explain_unsafe,
    explain_use,
)
from speckv_debug.checks.rule import ERROR, Judgement, rule
from speckv_debug.replay.ownership import EventFacts, RequestEnds

FREE = "BaseTokenToKVPoolAllocator.free, free_group_end"
RELEASE = "release_kv_cache, _release_overallocated_kv_indices"


@rule(
    "OWN-DFREE",
    severity=ERROR,
    needs=("free", "alloc"),
    scope="frees",
    look_at=FREE,
    follows=("OWN-DFREE", "OWN-PAGESAFE", "OWN-ROW", "OWN-PUBLISH", "OWN-REF"),
)
def freed_once(frees: EventFacts) -> Judgement:
    """A page goes to the free list only if it is not there already.

    A free inside a group takes effect at the group's end, and the page is granted again behind it. At page size 1 a slot
    named twice is freed twice, in one event or in one group; above, two slots of one page named within a group are one free.
    A page that is kept by references (C128) goes back once too; that it is the last reference which lets it go is OWN-REF's.

    Exceptions: the dummy page, which engines leave out; a page whose holder was never recorded is unknown.
    """
    return Judgement(failed=frees.failed, unknown=frees.unknown, explain=lambda i: explain_again(frees, i))


@rule(
    "OWN-PAGESAFE",
    severity=ERROR,
    needs=("free",),
    scope="reclaims",
    look_at=RELEASE,
    follows=("OWN-PAGESAFE", "LEN-COMMIT", "OWN-ALIAS", "OWN-ROW", "OWN-PUBLISH", "LOC-WIDTH"),
)
def no_live_page_freed(reclaims: EventFacts) -> Judgement:
    """The free of a tail starts at the page boundary behind what is kept, and no freed page holds a live position.

    Live are the positions of running requests, of nodes that the tree has not evicted, and what a session trim keeps.
    The boundary is the allocator's.

    Exceptions: a boundary beyond the allocated length frees nothing; the head of a tail's first page may
    go back in the same free group; duplicates of a prefix are freed before the row drops them, and a free of a request's
    own that names no request is judged at the page's next use; under decode context parallelism SGLang before 0.5.17
    aligned with the server's page size.
    """
    return Judgement(
        failed=reclaims.failed, unknown=reclaims.unknown, explain=lambda i: explain_unsafe(reclaims, i)
    )


@rule(
    "OWN-UAF",
    severity=ERROR,
    needs=("alloc", "free"),
    scope="uses",
    look_at=FREE,
    follows=("OWN-PAGESAFE", "OWN-DFREE", "OWN-UAF", "OWN-ALIAS", "LEN-REACH", "OWN-ROW", "OWN-CONSERVE"),
)
def no_use_after_free(uses: EventFacts) -> Judgement:
    """No row, session or tree node that is used refers to a page in the free list.

    Judged when it is used: at a forward, a verify, a match, an insert, a session's save and restore, and where a transfer
    begins that reads (`send`, `d2h`, `to_host`); one that writes may come before there is a row. So are forwards and
    transfers of pools beside the main one whose grants are recorded; of others they are unknown.

    Exceptions: row entries behind the allocated length are stale; a duplicate is freed before the table write that drops
    it; the pages of an ended request are freed while its last verify is in flight.
    """
    return Judgement(failed=uses.failed, unknown=uses.unknown, explain=lambda i: explain_use(uses, i))


@rule(
    "OWN-ALIAS",
    severity=ERROR,
    needs=("alloc", "free", "table_write"),
    scope="holds",
    look_at="alloc_for_extend, alloc_for_spec_decode (req_to_token writes)",
    follows=("OWN-DFREE", "OWN-PAGESAFE", "OWN-ALIAS", "OWN-ROW"),
)
def one_live_holder(holds: EventFacts) -> Judgement:
    """Two running requests hold one page only if it lies in a prefix that they share through the tree.

    Judged when a page is granted, which is free then and not the tree's, and when a row names it. A page of the tree is
    shared only at the tree's positions.

    Of pools beside the main one, holders are not followed: a grant there is unknown.

    Exceptions: a session's row that runs again; the draft pool uses the ids of the target; pages loaded back from the
    host.
    """
    return Judgement(failed=holds.failed, unknown=holds.unknown, explain=lambda i: explain_alias(holds, i))


@rule(
    "OWN-ORPHAN",
    severity=ERROR,
    needs=("table_write", "alloc", "free"),
    scope="overwrites",
    look_at="alloc_for_extend, cache_unfinished_req (req_to_token writes)",
    follows=("OWN-ALIAS", "OWN-ORPHAN", "LEN-ALLOC", "LEN-ORDER", "LOC-WIDTH", "OWN-ROW"),
)
def overwritten_slots_have_a_holder(overwrites: EventFacts) -> Judgement:
    """A slot that a running request's row names no more is free already, or has another holder.

    Judged by pages, at the settled point that follows the write.

    Exceptions: the same slot written again; a prefix that moves to the tree's copy, whose duplicate is freed in the same
    group; slots that the row, another row, the tree, a session or a transfer still holds; entries behind the allocated length.
    """
    return Judgement(
        failed=overwrites.failed, unknown=overwrites.unknown, explain=lambda i: explain_orphan(overwrites, i)
    )


@rule(
    "OWN-LEAK",
    severity=ERROR,
    needs=("alloc", "free"),
    scope="request_ends",
    look_at=RELEASE,
    follows=("OWN-ALIAS", "OWN-ORPHAN", "LEN-COMMIT", "LEN-ALLOC", "OWN-ROW", "OWN-PUBLISH", "LOC-WIDTH"),
)
def nothing_left_behind(ends: RequestEnds) -> Judgement:
    """After a request has ended, every page that it ever held is free or held by someone else.

    Judged at the next quiet point: a pool_stat outside a free group, or a launch of a later step; of a page also when it is
    granted again. A free group that is open in the step behind its own has no end. Holders are the tree, a
    session, a transfer, a free group that has not ended, and other running requests.

    Of pools beside the main one, holders are not followed: what an ended request has left there is unknown. Peers in the pool
    of a sliding window are OWN-MAP's, counted pages OWN-REF's.

    Exceptions: a reject frees nothing while the request runs; what the tree, a session or the host retains.
    """
    return Judgement(failed=ends.failed, unknown=ends.unknown, explain=lambda i: explain_leak(ends, i))
