"""What became of a tensor that was staged: values that are here, or that a load will bring."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from speckv_debug.collectors.loads import Load
from speckv_debug.collectors.parcels import Lost


class Staged:
    """A tensor's values as they were when `stage` was called, flattened.

    Attributes:
        count: How many values.
    """

    __slots__ = ("_load", "_place", "_values", "count")

    def __init__(
        self,
        values: npt.NDArray[Any] | None = None,
        count: int = 0,
        load: Load | None = None,
        place: int = 0,
    ) -> None:
        self._values, self._load, self._place = values, load, place
        self.count = count if values is None else len(values)

    def ready(self) -> bool:
        """Whether `resolve` gives the values now."""
        return self._values is not None or (self._load is not None and self._load.ready())

    def resolve(self) -> npt.NDArray[Any]:
        """The values as a flat array.

        Raises:
            Lost: They are not here.
        """
        if self._values is None:
            if self._load is None:
                raise Lost("the values never left the device")
            self._values, self._load = self._load.values(self._place), None
        return self._values

    def part(self, start: int, stop: int) -> Derived:
        """The values `[start, stop)`."""
        return Derived(lambda: self.resolve()[start:stop], self.ready)

    def item(self, index: int) -> Derived:
        """One value as an integer."""
        return Derived(lambda: int(self.resolve()[index]), self.ready)


class Derived:
    """A value worked out from staged ones by whoever resolves it."""

    __slots__ = ("_make", "ready")

    def __init__(self, make: Any, ready: Any = lambda: True) -> None:
        self._make, self.ready = make, ready

    def resolve(self) -> Any:
        """The value."""
        return self._make()
