"""TRC: whether the recording itself is whole."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.rule import WARNING, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.replay.stream import Stretches


@rule("TRC-GAP", severity=WARNING, needs=(), scope="stretches")
def no_hole(stretches: Stretches) -> Judgement:
    """The events of a process are numbered without a hole, so a hole is a loss.

    A stream may start at any number. Rows that the recorder dropped and an end that was cut off are losses too, but
    known ones: they make what they touch unknown and are no finding.
    """
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
    )
