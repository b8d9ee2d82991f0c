"""LEN: committed and allocated lengths of a request, and what its verifies start from."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.length_evidence import explain_growth, lengths_of, two_verifies
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.replay.bounds import Bounds, Reserves
from speckv_debug.replay.continuity import Successions
from speckv_debug.replay.engine_version import preclaims, sglang_version
from speckv_debug.replay.lengths import Commits, LateCommits
from speckv_debug.replay.ragged import NULL, Int64s, Mask

RESULT = "batch_result_processor (committed += accepted rows, of live requests only)"
RESERVE = "eagle_prepare_for_decode → page_aligned_decode_alloc_lens, alloc_for_spec_decode"
NO_LIFE = "the event names no row and epoch"


@rule(
    "LEN-SEQ",
    severity=ERROR,
    needs=("accept",),
    scope="successions",
    look_at="eagle_worker verify (new_seq_lens = seq_lens + accept_lens)",
    follows=("ACC-COUNT", "LEN-SEQ", "OWN-ROW"),
)
def sequence_grows_by_accepted(verifies: Successions) -> Judgement:
    """The length after a verify is the length before plus the accepted rows, and the next verify starts from it.

    Exceptions: what a prefill, a plain decode, a session trim or a cut between two verifies changes; a retracted request
    starts over with a new row; UNO verifies from one past the frontier.
    """
    length, n, told = verifies.ints("seq_len"), verifies.accepted, verifies.ints("new_seq_len")
    known = (length != NULL) & (n != NULL)
    uno = np.array([a == "uno" for a in verifies.columns.texts("algorithm").names] + [False], dtype=np.bool_)
    other = uno[verifies.columns.texts("algorithm").codes[verifies.index]]
    sums = known & (told != NULL) & (told != length + n) & ~other
    jump = (length != NULL) & (verifies.due != NULL) & (length != verifies.due) & ~other
    reasons = {
        "the engine's algorithm verifies from one past the frontier": other,
        "what comes between two verifies was not recorded": jump & (not verifies.told),
        "no seq_len or accept_len": ~known,
    }
    return verdict(sums | (jump & verifies.told), lambda i: _explain_seq(verifies, i), reasons)


def _explain_seq(verifies: Successions, i: int) -> Details:
    length, n = number(verifies.ints("seq_len")[i]), number(verifies.accepted[i])
    told, due = number(verifies.ints("new_seq_len")[i]), number(verifies.due[i])
    shown = two_verifies(verifies, i)
    if due is not None and length != due:
        return Details(
            message=f"the verify starts from length {length}, the one before it ended at {due}",
            expected=f"seq_len {due}",
            actual=f"seq_len {length}",
            evidence=(shown,),
        )
    return Details(
        message=f"{n} rows were accepted on top of length {length}, the new length is {told}",
        expected=f"new_seq_len {(length or 0) + (n or 0)} = seq_len {length} + accept_len {n}",
        actual=f"new_seq_len {told}",
        evidence=(shown,),
    )


@rule(
    "LEN-ORDER",
    severity=ERROR,
    needs=("lengths",),
    scope="bounds",
    look_at=RESERVE,
    follows=("LEN-ALLOC", "LEN-COMMIT", "LEN-SEQ", "LEN-ORDER", "OWN-TRIM"),
)
def committed_within_allocated(bounds: Bounds) -> Judgement:
    """0 <= committed <= allocated <= width of the request row, at every report of lengths.

    Exceptions: a record that is reset as its request ends; builds before SGLang 0.5.15 commit the bonus while they
    prepare, ahead of its allocation.
    """
    c, k, width = bounds.committed, bounds.allocated, bounds.info.settings.get("row_width")
    both = (c != NULL) & (k != NULL) & ~bounds.ending
    slack = np.where(bounds.preparing & _may_preclaim(bounds), 1, 0)
    failed = both & (c > k + slack)
    failed |= ((c != NULL) & (c < 0)) | ((k != NULL) & (k < 0))
    if isinstance(width, int):
        failed |= (bounds.highest != NULL) & (bounds.highest > width)
    return verdict(failed, lambda i: _explain_order(bounds, i), {"no lengths": (c == NULL) & (k == NULL)})


def _may_preclaim(bounds: Bounds) -> bool:
    engine = (bounds.info.engine or "").lower()
    return preclaims(bounds.info) or (engine == "sglang" and sglang_version(bounds.info) is None)


def _explain_order(bounds: Bounds, i: int) -> Details:
    c, k, highest = number(bounds.committed[i]), number(bounds.allocated[i]), number(bounds.highest[i])
    width = bounds.info.settings.get("row_width")
    if c is not None and k is not None and c > k:
        message = f"{c} positions are committed, only {k} are allocated"
    elif highest is not None and isinstance(width, int) and highest > width:
        message = f"{highest} positions are allocated in a row of {width} columns"
    else:
        message = f"a length is negative: committed {c}, allocated {k}"
    return Details(
        message=message,
        expected="0 <= committed <= allocated <= row width",
        actual=f"committed {c}, allocated {highest}, row width {'unknown' if width is None else width}",
    )


@rule(
    "LEN-COMMIT",
    severity=ERROR,
    needs=("lengths", "accept"),
    scope="commits",
    look_at=RESULT,
    follows=("ACC-COUNT", "LEN-COMMIT", "OWN-ROW"),
)
def commit_equals_accepted(commits: Commits) -> Judgement:
    """Processing the result of a verify commits as many tokens as the verify accepted.

    The commit is compared with the accept of its own step: under overlap the host lags one verify behind.

    Exceptions: fewer, where the engine cut the output (stop, grammar, max_len); an accept without a commit, because the
    request had ended; builds before SGLang 0.5.15 commit the bonus ahead of the result.
    """
    n, before, now = commits.accept_len, commits.committed_before, commits.ints("committed")
    measured = (n != NULL) & (before != NULL) & (now != NULL)
    fits = _fits(commits, now - np.where(before == NULL, 0, before), n)
    published = (before == NULL) & (now != NULL) & (now == commits.new_seq_len)
    reasons = {
        NO_LIFE: commits.life < 0,
        "no accept of the same step and row": commits.accept < 0,
        "no earlier length of the request to measure from": (before == NULL) & ~published,
        "no accept_len or committed": ~measured & ~published,
    }
    return verdict(measured & ~fits & (commits.life >= 0), lambda i: _explain_commit(commits, i), reasons)


def _fits(commits: Commits, grown: Int64s, n: Int64s) -> Mask:
    """Whether the growth is what this build commits for n accepted rows."""
    fits = grown == n
    if preclaims(commits.info):
        fits = np.where(commits.preclaimed, grown == n - 1, fits | (commits.first & (grown == n + 1)))
    return np.asarray(fits | (commits.cut & (grown >= 0) & (grown < n)), dtype=np.bool_)


def _explain_commit(commits: Commits, i: int) -> Details:
    n, before, now = (
        int(v[i]) for v in (commits.accept_len, commits.committed_before, commits.ints("committed"))
    )
    cut = commits.columns.text_at("cut", int(commits.index[i]))
    return Details(
        message=f"the verify accepted {n} rows, the host committed {now - before}",
        expected=f"committed {before + n} = {before} + accept_len {n}"
        + (f", or less (cut: {cut})" if cut else ""),
        actual=f"committed {now} = {before} + {now - before}",
        evidence=(lengths_of(commits.lengths, commits.life[i], int(commits.ints("seq")[i])),),
    )


@rule(
    "LEN-STALE",
    severity=ERROR,
    needs=("lengths",),
    scope="late_commits",
    look_at=RESULT,
    follows=("LEN-STALE", "OWN-ROW"),
)
def nothing_committed_after_end(commits: LateCommits) -> Judgement:
    """A result that arrives after its request was finished, aborted or retracted commits nothing.

    Exceptions: a report that changes nothing, or of a record that was reset; builds before SGLang 0.5.15 take back the
    bonus that they committed ahead of the result.
    """
    now, before = commits.ints("committed"), commits.committed_before
    changed = commits.ended & (now != NULL) & (before != NULL) & (now != before) & (now != 0)
    if preclaims(commits.info):
        changed &= now != before - 1
    ends = commits.info.records("release") or commits.info.records("row_free")
    reasons = {
        NO_LIFE: commits.life < 0,
        "ends of requests were not recorded whole": ~commits.ended & (not ends),
        "no committed length before the end": commits.ended & ((before == NULL) | (now == NULL)),
    }
    return verdict(changed, lambda i: _explain_stale(commits, i), reasons)


def _explain_stale(commits: LateCommits, i: int) -> Details:
    now, before, end = (
        int(commits.ints("committed")[i]),
        int(commits.committed_before[i]),
        int(commits.end[i]),
    )
    return Details(
        message=f"a late result commits {now - before} tokens to a request that had ended at event {end}",
        expected=f"committed stays {before}",
        actual=f"committed {now}",
        evidence=(lengths_of(commits.lengths, commits.life[i], int(commits.ints("seq")[i])),),
    )


@rule(
    "LEN-ALLOC", severity=ERROR, needs=("reserve",), scope="reserves", look_at=RESERVE, follows=("LEN-ALLOC",)
)
def reserve_grows_as_due(reserves: Reserves) -> Judgement:
    """A decode preparation grows the row to max(K, ceil(C + reserve)), rounded to the allocator's page, and gets that.

    Exceptions: the room stays after a reject; SGLang 0.5.12 to 0.5.15 do not round up; without an engine version either
    form is accepted; depth and page padding of the reserve are the engine's; a refused allocation. Where no allocations
    are recorded (level 1), the length that the host reports behind the growth says what it got.
    """
    k, grown = reserves.ints("allocated"), reserves.ints("new_allocated")
    formula = reserves.known & ~reserves.as_due
    granted = reserves.known & (reserves.granted != NULL) & (reserves.granted != grown - k)
    reported = reserves.known & (reserves.reported != NULL) & (reserves.reported != grown)
    no_size = (reserves.page_size == NULL) & (grown != reserves.plain) & (reserves.form != "plain")
    open_grant = reserves.known & (grown > k) & (reserves.granted == NULL) & ~reserves.refused
    if not reserves.info.records("alloc"):
        open_grant &= reserves.reported != grown
    reasons = {
        "no lengths or reserve": ~reserves.known,
        "the page size is unknown": no_size,
        "what was granted for the growth is not known": open_grant,
    }
    failed = (formula & ~no_size) | granted | reported | reserves.foreign_page
    return verdict(failed, lambda i: explain_growth(reserves, i), reasons)
