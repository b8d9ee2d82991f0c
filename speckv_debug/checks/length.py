"""LEN: committed and allocated lengths of a request, and what its verifies start from."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.length_commits import (
    NO_ACCEPT,
    NO_EARLIER,
    NO_LIFE,
    NO_NUMBERS,
    explain_apart,
    explain_count,
    explain_passed_over,
    explain_repeated,
    explain_unverified,
    judge_beside,
)
from speckv_debug.checks.length_evidence import lengths_of, two_verifies
from speckv_debug.checks.length_growth import judge_grants, judge_growth
from speckv_debug.checks.length_order import judge_order, judge_repeats
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import united_verdict, verdict
from speckv_debug.model.text import quantity
from speckv_debug.replay.continuity import Successions
from speckv_debug.replay.engine_version import preclaims
from speckv_debug.replay.lengths import Commits, LateCommits
from speckv_debug.replay.ragged import NULL, Int64s, Mask
from speckv_debug.replay.united import United
from speckv_debug.replay.verify_starts import ACCEPT, CHANGE, FORWARD, REPORT

RESULT = "batch_result_processor (committed += accepted rows, of live requests only)"
RESERVE = "eagle_prepare_for_decode → page_aligned_decode_alloc_lens, alloc_for_spec_decode"
STARTS = {
    ACCEPT: "the one before it ended at",
    FORWARD: "the prefill or decode before it ended at",
    CHANGE: "the host had gone to",
    REPORT: "the host had committed",
}
"""What a verify starts from, by what it is known from."""


@rule(
    "LEN-SEQ",
    severity=ERROR,
    needs=("accept",),
    scope="successions",
    look_at="eagle_worker verify (new_seq_lens = seq_lens + accept_lens)",
    follows=("ACC-COUNT", "LEN-SEQ", "LEN-COMMIT", "OWN-ROW"),
)
def sequence_grows_by_accepted(verifies: Successions) -> Judgement:
    """The length after a verify is the length before plus the accepted rows, and the next verify starts from it.

    Behind a prefill or a plain decode it starts where that ended, behind a session's trim or restore where the host left
    off.

    Exceptions: what a cut between two verifies keeps is not known; a retracted request starts over with a new row; UNO
    verifies from one past the frontier.
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
        before = STARTS[int(verifies.starts.source[i])]
        return Details(
            message=f"the verify starts from length {length}, {before} {due}",
            expected=f"seq_len {due}",
            actual=f"seq_len {length}",
            evidence=(shown,),
        )
    return Details(
        message=f"{quantity(n, 'row was', 'rows were')} accepted on top of length {length}, the new length is {told}",
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
    follows=("LEN-ALLOC", "LEN-COMMIT", "LEN-SEQ", "LEN-ORDER", "OWN-TRIM", "LOC-WIDTH"),
)
def committed_within_allocated(told: United) -> Judgement:
    """0 <= committed <= allocated <= width of the request row, at every report; what changes neither repeats both.

    Reports are those of every pool, of preparations and of releases; the width is that of pools with the row's own slots.
    A preparation and a release find the committed length that was reported last, a commit and a release the allocated one.

    Exceptions: a record that is reset as its request ends; builds before SGLang 0.5.15 commit the bonus while they
    prepare, ahead of its allocation; workers of builds before 0.5.14 may free what was rejected, and set the allocated
    length back to the committed one.
    """
    bounds, repeats = told.parts
    return united_verdict(told, (judge_order(bounds), judge_repeats(repeats)))


@rule(
    "LEN-COMMIT",
    severity=ERROR,
    needs=("lengths", "accept"),
    scope="commits",
    look_at=RESULT,
    follows=("ACC-COUNT", "LEN-ORDER", "LEN-COMMIT", "OWN-ROW"),
)
def commit_equals_accepted(told: United) -> Judgement:
    """Processing the result of a verify commits as many tokens as the verify accepted.

    The commit is compared with the accept of its own step: under overlap the host lags one verify behind. Each commit has
    its accept, and no verify is passed over or committed twice: results are committed in order. The committed length is
    then where the verify ended. A pool beside the main one grows by as many; where it ends is its own.

    Exceptions: fewer, where the engine cut the output (stop, grammar, max_len); an accept without a commit, because the
    request had ended; builds before SGLang 0.5.15 commit the bonus ahead of the result; pools that count other units than
    tokens are unknown, and so is a draft cache of which the first commit is one token apart.
    """
    commits, beside = told.parts
    return united_verdict(told, (_judge_commits(commits), judge_beside(beside)))


def _judge_commits(commits: Commits) -> Judgement:
    n, before, now = commits.accept_len, commits.committed_before, commits.ints("committed")
    measured = (n != NULL) & (before != NULL) & (now != NULL)
    fits = _fits(commits, now - np.where(before == NULL, 0, before), n)
    published = (before == NULL) & (now != NULL) & (now == commits.new_seq_len)
    wrong = measured & ~fits & (commits.life >= 0) | commits.unverified | (commits.passed_over >= 0)
    wrong |= commits.repeated | commits.apart
    reasons = {
        NO_LIFE: commits.life < 0,
        NO_ACCEPT: commits.accept < 0,
        NO_EARLIER: (before == NULL) & ~published,
        NO_NUMBERS: ~measured & ~published,
    }
    return verdict(wrong, lambda i: _explain_commit(commits, i), reasons)


def _fits(commits: Commits, grown: Int64s, n: Int64s) -> Mask:
    """Whether the growth is what this build commits for n accepted rows."""
    fits = grown == n
    if preclaims(commits.info):
        fits = np.where(commits.preclaimed, grown == n - 1, fits | (commits.first & (grown == n + 1)))
    return np.asarray(fits | (commits.cut & (grown >= 0) & (grown < n)), dtype=np.bool_)


def _explain_commit(commits: Commits, i: int) -> Details:
    if commits.unverified[i]:
        return explain_unverified(commits, i)
    if commits.passed_over[i] >= 0:
        return explain_passed_over(commits, i)
    if commits.repeated[i]:
        return explain_repeated(commits, i)
    n, before, now = (
        int(v[i]) for v in (commits.accept_len, commits.committed_before, commits.ints("committed"))
    )
    return explain_apart(commits, i) if now - before == n else explain_count(commits, i)


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
        message=f"a late result commits {quantity(now - before, 'token')} to a request that had ended at event {end}",
        expected=f"committed stays {before}",
        actual=f"committed {now}",
        evidence=(lengths_of(commits.lengths, commits.life[i], int(commits.ints("seq")[i])),),
    )


@rule(
    "LEN-ALLOC",
    severity=ERROR,
    needs=(),
    scope="growths",
    look_at=RESERVE,
    follows=("LEN-ALLOC", "LOC-WIDTH", "OWN-ALIAS"),
)
def reserve_grows_as_due(growths: United) -> Judgement:
    """A decode preparation grows the row to max(K, ceil(C + reserve)), rounded to the allocator's page, and gets that.

    What is granted to a request, for whatever growth, enters its row, and the row's new end is reported as allocated.

    Exceptions: the room stays after a reject; SGLang 0.5.12 to 0.5.15 do not round up; without an engine version either
    form is accepted; depth and page padding of the reserve are the engine's; a refused allocation; grants that no row
    takes (loads from the host, roll-backs). Where no allocations are recorded (level 1), the length that the host reports
    behind the growth says what it got.
    """
    reserves, grants = growths.parts
    return united_verdict(growths, (judge_growth(reserves), judge_grants(grants)))
