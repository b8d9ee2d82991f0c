"""Lists of values whose lengths are on the device like the values themselves."""

from __future__ import annotations

import numpy as np

from speckv_debug.collectors.staging import Derived, Staged
from speckv_debug.recording.blocks import Each


def cut_ragged(values: Staged, lengths: Staged, count: int, stride: int | None = None) -> Each:
    """A list a request, when all has arrived.

    Args:
        values: Flat; the lists lie end to end, or `stride` apart.
        lengths: Values of each request; those behind `count` pad the batch.
        count: Requests.
        stride: Distance of two lists' first values, where it is fixed.
    """

    def lists() -> list[list[int]]:
        flat, own = values.resolve(), lengths.resolve()[:count].astype(int)
        starts = np.cumsum(own) - own if stride is None else stride * np.arange(count)
        return [flat[at : at + n].tolist() for at, n in zip(starts, own, strict=True)]

    return Each(Derived(lists, lambda: values.ready() and lengths.ready()))
