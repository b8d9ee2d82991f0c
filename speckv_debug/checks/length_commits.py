"""LEN-COMMIT: a commit without a verify or apart from it, and a verify without its commit or with two."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.length_evidence import lengths_of
from speckv_debug.checks.rule import Details
from speckv_debug.model.finding import Evidence
from speckv_debug.replay.lengths import Commits
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.repeats import Repeats


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


def _step(commits: Commits, i: int) -> tuple[int, int]:
    """The committed length behind the commit, and before it."""
    return int(commits.ints("committed")[i]), int(commits.committed_before[i])


def _around(commits: Commits, i: int) -> tuple[Evidence]:
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
