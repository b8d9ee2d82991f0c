"""LEN-COMMIT: a commit without a verify or apart from it, and a verify without its commit or with two."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.length_evidence import lengths_of
from speckv_debug.checks.rule import Details, Judgement
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Evidence
from speckv_debug.model.text import quantity
from speckv_debug.replay.lengths import Commits
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.pool_commits import PoolCommits
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.repeats import Repeats

NO_LIFE = "the event names no row and epoch"
NO_ACCEPT = "no accept of the same step and row"
NO_EARLIER = "no earlier length of the request to measure from"
NO_NUMBERS = "no accept_len or committed"
OTHER_UNITS = "the lengths of the pool may count other units than tokens"
OFFSET = "where the pool's cache ends beside the target's shows from its second commit on"


def judge_beside(commits: PoolCommits) -> Judgement:
    """A pool beside the main one grows by what the verify accepted."""
    n, before, now = commits.accept_len, commits.committed_before, commits.ints("committed")
    measured = (n != NULL) & (before != NULL) & (now != NULL) & (commits.life >= 0) & commits.counts_tokens
    short = np.where(measured, n, 0) - np.where(measured, now - before, 0)
    wrong = measured & (short != 0) & ~(commits.cut & (short > 0) & (short <= n))
    near = wrong & commits.first & (np.abs(short) <= 1)
    reasons = {
        NO_LIFE: commits.life < 0,
        OTHER_UNITS: ~commits.counts_tokens,
        NO_ACCEPT: commits.accept < 0,
        NO_EARLIER: before == NULL,
        NO_NUMBERS: ~measured,
        OFFSET: near,
    }
    return verdict(wrong & ~near, lambda i: explain_count(commits, i), reasons)


def explain_count(commits: Commits | PoolCommits, i: int) -> Details:
    """A commit of another number of tokens than the verify accepted."""
    now, before = _step(commits, i)
    n, cut = int(commits.accept_len[i]), commits.columns.text_at("cut", int(commits.index[i]))
    where = f" in pool {commits.place(i).pool}" if isinstance(commits, PoolCommits) else ""
    return Details(
        message=f"the verify accepted {quantity(n, 'row')}, the host committed {now - before}{where}",
        expected=f"committed {before + n} = {before} + accept_len {n}"
        + (f", or less (cut: {cut})" if cut else ""),
        actual=f"committed {now} = {before} + {now - before}",
        evidence=_around(commits, i),
    )


def explain_unverified(commits: Commits, i: int) -> Details:
    """A commit of a step in which the request accepted nothing; it stands at the verify's launch, where that is told."""
    now, before = _step(commits, i)
    return Details(
        message=f"the host committed {now - before} tokens, and no verify of the step accepted any for the request",
        expected=f"committed {before}, or an accept of the step",
        actual=f"committed {now} = {before} + {now - before}",
        evidence=_around(commits, i),
        place=_launch(commits, i),
    )


def _step(commits: Commits | PoolCommits, i: int) -> tuple[int, int]:
    """The committed length behind the commit, and before it."""
    return int(commits.ints("committed")[i]), int(commits.committed_before[i])


def _around(commits: Commits | PoolCommits, i: int) -> tuple[Evidence]:
    """The lengths that the host told of the request around the commit."""
    return (lengths_of(commits.lengths, commits.life[i], int(commits.seq[i])),)


def _launch(commits: Commits, i: int) -> Place | None:
    """The forward of the verify that the commit is about, None if it is not recorded."""
    forward, life = commits.lengths.columns("forward"), commits.lengths.lives.of("forward")
    mine = (life == commits.life[i]) & (forward.ints("step") == commits.ints("step")[i])
    found = np.flatnonzero(mine & forward.texts("mode").equal("target_verify"))
    return place_of(forward, int(found[0])) if len(found) else None


def place_of_missing(repeats: Repeats, i: int) -> Place | None:
    """The verify whose commit alone explains what a report finds, None if there is none: its own report is missing."""
    verifies, accepts = repeats.lengths.verifies, repeats.lengths.columns("accept")
    due, now = int(repeats.due("committed")[i]), int(repeats.now("committed")[i])
    own = (repeats.lengths.lives.of("accept") == repeats.life[i]) & (verifies.seq_len == due)
    own &= (verifies.accepted == now - due) & (accepts.ints("seq") < repeats.seq[i])
    found = np.flatnonzero(own & (now > due))
    return place_of(accepts, int(found[-1])) if len(found) else None


def explain_passed_over(commits: Commits, i: int) -> Details:
    """A verify whose result was not committed, though that of a later one was; it stands at the verify."""
    accepts, at = commits.lengths.columns("accept"), int(commits.passed_over[i])
    place = place_of(accepts, at)
    n = int(commits.lengths.verifies.accepted[at])
    return Details(
        message=f"the {n} rows that the verify accepted are not committed, those of the next one are",
        expected=f"a commit of step {place.step}",
        actual=f"the next commit of the request is of step {commits.place(i).step}",
        evidence=_around(commits, i),
        place=place,
    )


def explain_repeated(commits: Commits, i: int) -> Details:
    """A result that was committed before."""
    now, before = _step(commits, i)
    step = commits.place(i).step
    return Details(
        message=f"the result of step {step} is committed a second time, with {now - before} more tokens",
        expected=f"committed {before}",
        actual=f"committed {now} = {before} + {now - before}",
        evidence=_around(commits, i),
    )


def explain_apart(commits: Commits, i: int) -> Details:
    """A committed length that is not where the verify ended."""
    now, ahead = int(commits.ints("committed")[i]), int(commits.ahead[i])
    return Details(
        message=f"the verify ended at length {now - ahead}, the host has {now} committed",
        expected=f"committed {now - ahead} = seq_len + accept_len",
        actual=f"committed {now}",
        evidence=_around(commits, i),
    )
