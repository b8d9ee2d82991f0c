"""From masks over a scope to a `Judgement`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from speckv_debug.checks.rule import Details, Indices, Judgement
from speckv_debug.replay.ragged import Mask
from speckv_debug.replay.united import United


def verdict(
    failed: Mask, explain: Callable[[int], Details], unknown: Mapping[str, Mask] | None = None
) -> Judgement:
    """Instances that failed, and why others can't be judged.

    A broken law is one whatever else is missing; an instance with several reasons is named with the first.
    """
    named, taken = {}, failed.copy()
    for why, mask in (unknown or {}).items():
        if (rest := mask & ~taken).any():
            named[why] = np.flatnonzero(rest)
            taken |= rest
    return Judgement(failed=np.flatnonzero(failed), unknown=named, explain=explain)


def kept(count: int) -> Judgement:
    """All of so many instances keep the law."""
    return unjudged({}, count)


def unjudged(unknown: Mapping[str, Mask], count: int) -> Judgement:
    """Of so many instances none breaks the law, and why some can't be judged."""

    def explain(index: int) -> Details:
        raise IndexError(index)

    return verdict(np.zeros(count, dtype=np.bool_), explain, unknown)


def united_verdict(scope: United, judged: Sequence[Judgement]) -> Judgement:
    """The judgements of each part as one over the joined instances."""
    failed = np.concatenate([scope.first(n) + each.failed for n, each in enumerate(judged)])
    unknown: dict[str, Indices] = {}
    for number, each in enumerate(judged):
        for why, indices in each.unknown.items():
            before = unknown.get(why, np.empty(0, dtype=np.int64))
            unknown[why] = np.concatenate((before, scope.first(number) + indices))

    def explain(index: int) -> Details:
        number, own = scope.part(index)
        return judged[number].explain(own)

    return Judgement(failed=failed.astype(np.int64), unknown=unknown, explain=explain)
