"""What stands behind one verify: its tensors before and after compaction, and its result computed again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.view import ProcessView


@dataclass(frozen=True, slots=True)
class CompactedTensor:
    """One tensor of a verify; both sides have one value an accepted row, None where a list does not reach so far.

    Attributes:
        tensor: Such as `predict` or `hidden_states`.
        rows: Accepted local verify rows, root first.
        before: Values in these rows: token ids of predict, fingerprints of anything wider.
        after: Values at the front of the request's block, place by place.
    """

    tensor: str
    rows: tuple[int, ...]
    before: tuple[int | None, ...]
    after: tuple[int | None, ...]

    @property
    def moved_right(self) -> bool | None:
        """Whether every row arrived at its place; None where a value is not known."""
        if any(
            a is not None and b is not None and a != b for a, b in zip(self.before, self.after, strict=True)
        ):
            return False
        return None if None in (*self.before, *self.after) else True


@dataclass(frozen=True, slots=True)
class Recomputed:
    """One result of a verify as it was recorded and as the kernels have it, in words; `same` None where not comparable."""

    what: str
    recorded: str
    replayed: str
    same: bool | None


def compacted(view: ProcessView, index: int) -> tuple[CompactedTensor, ...]:
    """The compactions of a verify, by its place in the view; none where no compaction was recorded."""
    found = view.compactions
    instances = np.flatnonzero(found.verify == index).tolist()
    if not instances:
        return ()
    owners, due, after = found.due_and_found()
    rows = tuple(view.verifies.path[index].tolist())
    return tuple(
        CompactedTensor(found.kind(i), rows, _values(due[owners == i]), _values(after[owners == i]))
        for i in instances
    )


def recomputed(view: ProcessView, index: int) -> tuple[Recomputed, ...]:
    """What the kernels make of a verify's inputs beside what was recorded of its result; imports torch.

    What can't be computed again says why in place of a value.
    """
    if (missing := view.kernels.missing) is not None:
        return (Recomputed("accepted rows", "", f"not computed: {missing}", None),)
    accepts, verifies = view.replayed_accepts, view.verifies
    told = accepts.rows_told(index)
    recorded = None if told is None else [row for row in told if row is not None]
    why = next((why for why, where in accepts.recomputed.unknown.items() if where[index]), None)
    if why is None:
        due: list[int] | None = accepts.rows_due(index)
        exact = bool(accepts.recomputed.exact[index])
        same = None if not exact else not bool(accepts.path_differs[index] or accepts.tokens_differ[index])
        rows = Recomputed(f"accepted rows ({accepts.kernel(index)})", _listed(recorded), _listed(due), same)
    else:
        rows = Recomputed("accepted rows", _listed(recorded), f"not computed: {why}", None)
    lengths = (
        ("bonus token", verifies.bonus_token[index], accepts.bonus[index]),
        ("new seq_len", verifies.new_seq_len[index], accepts.new_seq_len[index]),
    )
    return (rows, *(_number(what, int(told), int(due)) for what, told, due in lengths))


def _number(what: str, told: int, due: int) -> Recomputed:
    same = None if NULL in (told, due) else told == due
    return Recomputed(what, _known(told), _known(due), same)


def _known(value: int) -> str:
    return "unknown" if value == NULL else str(value)


def _listed(rows: list[int] | None) -> str:
    return "not recorded" if rows is None else " ".join(map(str, rows)) or "none"


def _values(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[int | None, ...]:
    return tuple(None if value == NULL else value for value in values.tolist())
