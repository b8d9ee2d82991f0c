"""TRC: whether the recording itself is whole."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.rule import WARNING, Details, Judgement, rule
from speckv_debug.checks.verdict import united_verdict, unjudged, verdict
from speckv_debug.model.finding import Evidence
from speckv_debug.replay.stream import Stretches
from speckv_debug.replay.told_whole import Loose, Origin
from speckv_debug.replay.united import United

NO_FORMAT = "the recording does not say in which format it is written"
NO_ADAPTER = "the process does not name the adapter that wrote its events"
STRANGE_ADAPTER = "the adapter that wrote the events is none that this program knows"
NO_POOL = "the grant is of a pool that the process does not declare"
NO_ACCEPT = "the verify has no accept of its step and row"


@rule("TRC-GAP", severity=WARNING, needs=(), scope="stretches")
def told_whole(told: United) -> Judgement:
    """The events of a process are numbered without a hole, so a hole is a loss.

    A stream may start at any number. Rows that the recorder dropped and an end that was cut off are losses too, but
    known ones: they make what they touch unknown and are no finding. So are a format or an adapter that this program does not
    know, a grant of a pool that the process does not declare, and a verify of the target without its accept.
    """
    stretches, origin, grants, verifies = told.parts
    judged = (_judge_stretches(stretches), _judge_origin(origin))
    return united_verdict(told, (*judged, _judge_loose(grants, NO_POOL), _judge_loose(verifies, NO_ACCEPT)))


def _judge_origin(origin: Origin) -> Judgement:
    every = np.ones(len(origin), dtype=np.bool_)
    reasons = {
        NO_FORMAT: every & (not origin.formatted),
        NO_ADAPTER: every & (not origin.named),
        STRANGE_ADAPTER: every & (not origin.known),
    }
    return unjudged(reasons, len(origin))


def _judge_loose(events: Loose, why: str) -> Judgement:
    return unjudged({why: np.ones(len(events), dtype=np.bool_)}, len(events))


def _judge_stretches(stretches: Stretches) -> Judgement:
    failed = np.arange(len(stretches)) > 0
    reasons = {
        "the recorder dropped rows, which take no number": stretches.dropped,
        "the end of the stream is missing": stretches.unfinished,
    }
    return verdict(failed, lambda i: _explain(stretches, i), reasons)


def _explain(stretches: Stretches, i: int) -> Details:
    first, end = stretches.gaps[i - 1]
    many = end - first
    what = "event is" if many == 1 else "events are"
    numbers = f"{first}" if many == 1 else f"{first} to {end - 1}"
    before, after = stretches.step_at(first, before=True), stretches.step_at(end, before=False)
    return Details(
        message=f"{many} {what} missing ({numbers}): what depends on them is unknown, not wrong",
        expected=f"an event numbered {first} behind {first - 1}",
        actual=f"the next event is numbered {end}; the hole lies between step {before} and step {after}",
        evidence=(
            Evidence(
                title="numbers of the events",
                columns=("", "event"),
                rows=(("last before the hole", first - 1), ("first missing", first), ("next recorded", end)),
                marked=(1,),
            ),
        ),
    )
