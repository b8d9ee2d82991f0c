"""Where a verify stands among all verifies of a process: by step, by request, by text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from speckv_debug.replay.ragged import Mask
from speckv_debug.replay.verify_table import Requests

Ints = npt.NDArray[np.int64]
LARGEST = int(np.iinfo(np.int64).max) - 1
"""Step numbers beyond it are not looked for."""


class Steps(Protocol):
    """All verifies of one process as columns in the order of `seq` (`replay.steps.StepIndex`).

    A negative number in `step`, `row`, `accept_len` or `width` means that it was not recorded.
    """

    def __len__(self) -> int: ...

    @property
    def seq(self) -> Ints: ...
    @property
    def step(self) -> Ints: ...
    @property
    def row(self) -> Ints: ...
    @property
    def accept_len(self) -> Ints: ...
    @property
    def width(self) -> Ints: ...
    @property
    def simulated(self) -> Mask: ...
    @property
    def request(self) -> Sequence[str | None]: ...


def _coded(requests: Sequence[str | None]) -> tuple[Ints, dict[str | None, int]]:
    """A number for each request, and the number of each name, in order of first occurrence."""
    if isinstance(requests, Requests):
        used, first, code = np.unique(requests.codes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty(len(used), dtype=np.int64)
        number[order] = np.arange(len(used))
        names = [None if each < 0 else requests.names[each] for each in used[order].tolist()]
        return number[code], {name: at for at, name in enumerate(names)}
    codes: dict[str | None, int] = {}
    found = np.fromiter((codes.setdefault(r, len(codes)) for r in requests), np.int64, len(requests))
    return found, codes


class StepLookup:
    """Index arrays over `steps`, made once a process; every method answers with ascending indices."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self._code, self._codes = _coded(steps.request)
        self._by_step = np.argsort(steps.step, kind="stable")
        self._sorted_step = steps.step[self._by_step]

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def requests(self) -> tuple[str | None, ...]:
        """The requests that were verified, in order of their first verify."""
        return tuple(self._codes)

    def all(self) -> Ints:
        """Every index."""
        return np.arange(len(self.steps), dtype=np.int64)

    def at_step(self, step: int) -> Ints:
        """The verifies of one engine step, one a request."""
        if not 0 <= step <= LARGEST:
            return np.empty(0, dtype=np.int64)
        low, high = np.searchsorted(self._sorted_step, [step, step + 1])
        return np.sort(self._by_step[low:high])

    def of_request(self, request: str | None) -> Ints:
        """The verifies of one request, through all its steps."""
        return np.flatnonzero(self._code == self._codes.get(request, -1))

    def matching(self, text: str) -> Ints:
        """The verifies of all requests whose id contains `text`, letter case ignored."""
        wanted = [code for name, code in self._codes.items() if text.lower() in (name or "").lower()]
        return np.flatnonzero(np.isin(self._code, wanted))

    def at_seq(self, seq: int) -> int | None:
        """The verify that was recorded as event `seq`, or None."""
        index = int(np.searchsorted(self.steps.seq, seq))
        return index if index < len(self.steps) and self.steps.seq[index] == seq else None

    @property
    def last_step(self) -> int | None:
        """The highest step number, None without any."""
        return int(self._sorted_step[-1]) if len(self) and self._sorted_step[-1] >= 0 else None

    def nearest_step(self, step: int) -> int | None:
        """The recorded step number nearest to `step` (the lower one of two), or None without any."""
        known = self._sorted_step[self._sorted_step >= 0]
        return int(known[np.argmin(np.abs(known - min(max(step, 0), LARGEST)))]) if len(known) else None
