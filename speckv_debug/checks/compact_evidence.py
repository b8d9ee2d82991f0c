"""What a finding of MOV-COMPACT says about the lists themselves: cut, or of something else than the verify's."""

from __future__ import annotations

from speckv_debug.checks.rule import Details
from speckv_debug.model.finding import Evidence
from speckv_debug.replay.compactions import Compactions


def explain_cut(scope: Compactions, i: int) -> Details:
    """A list that does not hold the whole batch."""
    before, after = (int(lists.lengths[scope.event[i]]) for lists in (scope.before, scope.after))
    batch = scope.verifies.width[scope.verify[scope.event == scope.event[i]]].tolist()
    return Details(
        message=f"{scope.kind(i)} has {before} rows before its compaction and {after} behind it: the batch has {sum(batch)}",
        expected=f"{sum(batch)} rows, blocks of {', '.join(map(str, batch))}",
        actual=f"{before} rows, then {after}",
    )


def explain_predicted(scope: Compactions, i: int, predicted: list[int], found: list[int]) -> Details:
    """What goes into the compaction is not what the verify predicted; both are given for each accepted row."""
    path = scope.verifies.path[int(scope.verify[i])].tolist()
    rows = tuple(
        (k, row, want, have, "" if want == have else "✗")
        for k, (row, want, have) in enumerate(zip(path, predicted, found, strict=True))
    )
    marked = tuple(k for k, row in enumerate(rows) if row[-1])
    return Details(
        message=f"what is compacted as predictions is not what the verify predicted in accepted row {path[marked[0]]}",
        expected=f"{predicted}",
        actual=f"{found}",
        evidence=(
            Evidence(
                title="predictions of the accepted rows",
                columns=("k", "verify row", "predicted", "before the compaction", ""),
                rows=rows,
                marked=marked,
            ),
        ),
    )
