"""ST-DRAFT: the drafter finds draft KV for all that it reads of a request's past."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import WARNING, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Evidence
from speckv_debug.model.text import plural
from speckv_debug.replay.draft_reads import DraftReads
from speckv_debug.replay.ragged import NULL


@rule(
    "ST-DRAFT",
    severity=WARNING,
    needs=("forward",),
    scope="draft_reads",
    look_at="forward_draft_extend, forward_draft_extend_after_decode",
    follows=(
        "ST-DRAFT",
        "LEN-SEQ",
        "LEN-TOKEN",
        "LOC-ROW",
        "OWN-ALIAS",
        "OWN-UAF",
        "OWN-PAGESAFE",
        "OWN-ROW",
    ),
)
def drafts_stand_on_draft_kv(drafts: DraftReads) -> Judgement:
    """Draft KV of every position that the drafter reads was written, loaded or copied since its slot was granted.

    Judged at a draft extend, a prefill of the draft model and the first draft step of a round. Without it drafts come out
    worse and are rejected: tokens stay right, so that this is a warning.

    Exceptions: drafters without KV (n-grams) or with the target's; what a round drafts stands on the draft's own features
    until the draft extend behind the verify; a prefix from the tree has the draft KV of who computed it; a drafter with a
    window (`draft_window`) reads no further back; a hand-over of KV that does not name the draft pool leaves it unknown, and
    so do DFlash and DSpark, whose worker writes the draft KV of what was accepted beside all forwards.

    Not judged: whether draft KV holds NaN, which no recording tells, so that this is never an error; a loss of acceptance
    that an engine declares, after a load from the host without draft KV, is told in no event and is a warning all the same.
    """
    if not len(drafts):
        return verdict(np.zeros(0, dtype=np.bool_), lambda i: _explain(drafts, i))
    missing, unseen = drafts.outcome[:, 1] > 0, drafts.outcome[:, 2] > 0
    reasons = {
        "the forward says no start and no positions": drafts.reach[drafts.index] == NULL,
        "the request rows are too many to follow": np.full(len(drafts), not drafts.followed),
        "what the draft pool holds there was not seen": unseen,
    }
    return verdict(missing, lambda i: _explain(drafts, i), reasons)


def _explain(drafts: DraftReads, i: int) -> Details:
    first, count, unseen = (int(v) for v in drafts.outcome[i])
    mode, end = drafts.kind(i), number(drafts.reach[drafts.index[i]])
    rows = (
        ("positions read", end),
        ("without draft KV", count),
        ("first of them", first),
        ("not seen", unseen),
    )
    return Details(
        message=f"the {mode.replace('_', ' ')} reads positions [0, {end}), {count} of them, from {first} on, {plural(count, 'has', 'have')} no draft KV",
        expected=f"draft KV of positions [0, {end})",
        actual=f"none of position {first}" + (f" and {count - 1} more" if count > 1 else ""),
        evidence=(Evidence(title="coverage by draft KV", columns=("", "positions"), rows=rows, marked=(1,)),),
    )
