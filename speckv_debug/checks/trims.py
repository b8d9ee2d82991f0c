"""OWN-TRIM: what a session keeps when its row is trimmed."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.length_evidence import lengths_of
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Evidence
from speckv_debug.model.text import quantity
from speckv_debug.replay.ragged import NULL, mask
from speckv_debug.replay.session_trims import CURSORS, SessionTrims

NO_TARGET = "the trim does not tell which length it keeps"
NO_LENGTHS = "the lengths behind the trim were not recorded"
NAMES = {
    "committed": "the committed length",
    "allocated": "the allocated length",
    "swa_evicted": "the window's cursor",
}


@rule(
    "OWN-TRIM",
    severity=ERROR,
    needs=("release", "lengths"),
    scope="session_trims",
    look_at="StreamingSession._trim_overshoot, _free_tail",
    follows=("LEN-COMMIT", "OWN-ROW"),
)
def nothing_kept_past_the_target(trims: SessionTrims) -> Judgement:
    """After the trim of a session's row no length and no cursor reaches past the target.

    Judged by the lengths that the host reports next, or by those before the trim where the session is saved without others:
    committed and the window's cursor end at the target, what is allocated at the end of the target's page.

    Exceptions: cursors that end earlier: the window's cursor takes the rest of a page along, which the next turn prefills
    again, and a retracted turn tries again one token short.
    """
    broken = mask(np.any([trims.past(name) for name in CURSORS], axis=0))
    told = (trims.after >= 0) & (trims.cursor("committed") != NULL) & (trims.cursor("allocated") != NULL)
    reasons = {NO_TARGET: trims.target == NULL, NO_LENGTHS: ~told & ~broken}
    return verdict(broken, lambda i: _explain(trims, i), reasons)


def _explain(trims: SessionTrims, i: int) -> Details:
    past = [name for name in CURSORS if trims.past(name)[i]]
    what = ", ".join(f"{NAMES[name]} is {trims.cursor(name)[i]}" for name in past)
    bounds = ", ".join(f"{name} at most {trims.bound(name)[i]}" for name in past)
    cursors = ", ".join(
        f"{name} {trims.cursor(name)[i]}" for name in CURSORS if trims.cursor(name)[i] != NULL
    )
    seq = int(np.append(trims.lengths.columns("lengths").ints("seq"), 0)[trims.after[i]])
    return Details(
        message=f"the row is trimmed to {quantity(trims.target[i], 'position')}, but {what}",
        expected=bounds,
        actual=cursors,
        evidence=(_cursors(trims, i), lengths_of(trims.lengths, int(trims.life[i]), seq)),
    )


def _cursors(trims: SessionTrims, i: int) -> Evidence:
    rows = tuple(
        (name, number(trims.before(name)[i]), number(trims.bound(name)[i]), number(trims.cursor(name)[i]))
        for name in CURSORS
    )
    marked = tuple(at for at, name in enumerate(CURSORS) if trims.past(name)[i])
    return Evidence(
        title=f"a trim to {trims.target[i]}",
        columns=("cursor", "before", "at most", "after"),
        rows=rows,
        marked=marked,
    )
