"""Tensors that leave together, and their values once they are here."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from speckv_debug.collectors.parcels import Lost, Parcel
from speckv_debug.collectors.patience import Unit

Values = npt.NDArray[Any]
EMPTY = -1
"""The place of a tensor without values."""
OVERDUE_S = 1.0
"""How long what was asked for may wait for further steps."""


class Load:
    """Tensors that leave together, or values that are here already.

    Attributes:
        tensors: What waits to leave.
        streams: The stream of the tensors from a place on, one entry a change.
        units: The groups among them that wait for those of other steps.
        parcels: What they are on their way with; empty before that.
        places: The parcel and the place in it of each, where there are several parcels.
        spoilt: Why the values are not what was staged, None if they are.
        asked: When it was first asked for before it left, seconds; None if it wasn't.
    """

    __slots__ = ("_here", "_overdue", "asked", "parcels", "places", "spoilt", "streams", "tensors", "units")

    def __init__(
        self, here: list[npt.NDArray[Any]] | None = None, overdue: Callable[[Load], None] | None = None
    ) -> None:
        self._here, self._overdue = here, overdue
        self.tensors: list[Any] = []
        self.streams: list[tuple[int, int]] = []
        self.units: list[Unit] = []
        self.parcels: list[Parcel] = []
        self.places: list[tuple[Parcel, int]] | None = None
        self.spoilt: str | None = None
        self.asked: float | None = None

    def ready(self) -> bool:
        """Whether `values` needs no waiting."""
        if self._here is not None or self.spoilt is not None:
            return True
        if not self.parcels:
            self._wait()
        return bool(self.parcels) and all(parcel.arrived() for parcel in self.parcels)

    def _wait(self) -> None:
        """It waits for steps that may never come: whoever asks for it has it sent after a while."""
        now = time.monotonic()
        if self.asked is None:
            self.asked = now
        elif self._overdue is not None and now - self.asked > OVERDUE_S:
            self.asked = now
            self._overdue(self)

    def values(self, place: int) -> npt.NDArray[Any]:
        """The values of one tensor, flat.

        Raises:
            Lost: They are not here.
        """
        if place == EMPTY:
            return np.empty(0, np.int64)
        if self._here is not None:
            return self._here[place]
        if self.spoilt is not None or not self.parcels:
            raise Lost(self.spoilt or "the values never left the device")
        parcel, place = (self.parcels[0], place) if self.places is None else self.places[place]
        return parcel.values(place)


def stacked(groups: Sequence[tuple[Load, range]]) -> list[Values] | None:
    """The values of groups of tensors that are laid out alike, each [groups, values]; None if they are not.

    Raises:
        Lost: Some of them are not here.
    """
    if any(load.places is not None or len(load.parcels) != 1 or load.spoilt for load, _ in groups):
        return None
    parts = [load.parcels[0].plan.part(places) for load, places in groups]
    (begin, end, (sizes, kinds)), (load, places) = parts[0], groups[0]
    if any(stop - start != end - begin or layout != (sizes, kinds) for start, stop, layout in parts):
        return None
    cut = [
        load.parcels[0].take()[start:stop] for (load, _), (start, stop, _) in zip(groups, parts, strict=True)
    ]
    taken, starts = np.stack(cut), load.parcels[0].plan.starts
    where = (
        (starts[place] - begin, size, kind) for place, size, kind in zip(places, sizes, kinds, strict=True)
    )
    return [np.ascontiguousarray(taken[:, at : at + size]).view(kind) for at, size, kind in where]
