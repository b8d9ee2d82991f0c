"""Whose ring a clear empties: the request, or row, of a verify of its step."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.searching import NEVER
from speckv_debug.replay.verifies import VerifyBatch


class ClearOwners:
    """Which clears name a request, or a row where they name none, that no verify of their step has.

    Args:
        step, request, row: Of each clear, int64; the request by its number among those of the verifies, NULL where the
            clear names none.
        seq: Of each clear.
    """

    def __init__(
        self, verifies: VerifyBatch, seq: Int64s, step: Int64s, request: Int64s, row: Int64s
    ) -> None:
        self._verifies, self._seq, self._step = verifies, seq, step
        self._request, self._row = request, row

    @property
    def seen(self) -> Mask:
        """Clears of whose step some verify was seen."""
        return mask(np.isin(self._step, self._verifies.step) & (self._step != NULL))

    @property
    def nobodys(self) -> Mask:
        """Clears of a step that was seen, none of whose verifies has their request, or row."""
        verifies = self._verifies
        named = self._request != NULL
        with_request = self._meets(verifies.request.codes.astype(np.int64), self._request)
        known = named | (self._row != NULL)
        return mask(self.seen & known & ~np.where(named, with_request, self._meets(verifies.row, self._row)))

    def reach(self) -> tuple[Int64s, Int64s]:
        """Between which `seq` the verify of each clear would have been: those of the accepts of other steps around it."""
        order = np.argsort(self._verifies.seq, kind="stable")
        seq, step = self._verifies.seq[order], self._verifies.step[order]
        first, last = self._seq.copy(), self._seq.copy()
        for i in np.flatnonzero(self.nobodys).tolist():
            other = seq[step != self._step[i]]
            at = int(np.searchsorted(other, self._seq[i]))
            first[i] = other[at - 1] if at else 0
            last[i] = other[at] if at < len(other) else NEVER
        return first, last

    @property
    def begun(self) -> Mask:
        """Clears before whose step a verify of another one was seen, so that all of the step's would have been."""
        verifies, found = self._verifies, np.zeros(len(self._seq), dtype=np.bool_)
        for i in np.flatnonzero(self.nobodys).tolist():
            found[i] = bool(((verifies.step != self._step[i]) & (verifies.seq < self._seq[i])).any())
        return mask(found)

    def _meets(self, of_verify: Int64s, asked: Int64s) -> Mask:
        """Clears with a verify of their step that has the asked value."""
        own = np.stack((self._verifies.step, of_verify))
        number = numbered(np.hstack((own, np.stack((self._step, asked)))))
        count = len(self._verifies)
        return np.isin(number[count:], number[:count])
