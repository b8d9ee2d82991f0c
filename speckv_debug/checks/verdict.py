"""From masks over a scope to a `Judgement`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from speckv_debug.checks.rule import Details, Judgement
from speckv_debug.replay.ragged import Mask


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
