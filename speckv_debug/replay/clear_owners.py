"""Whose ring a clear empties: the request, or row, of a verify of its step."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.searching import beside_others
from speckv_debug.replay.verifies import VerifyBatch


class ClearOwners:
    """Which clears name a request, or a row where they name none, that no verify of their step has.

    A verify that lacks its request may be that of any, so it goes by its row.

    Args:
        step, request, row: Of each clear, int64; the request by its number among those of the verifies, -1 where none has
            it, NULL where the clear names none.
        seq: Of each clear.
    """

    def __init__(
        self, verifies: VerifyBatch, seq: Int64s, step: Int64s, request: Int64s, row: Int64s
    ) -> None:
        self._verifies, self._seq, self._step = verifies, seq, step
        self._request, self._row = request, row
        self._named, self._rowed = request != NULL, row != NULL

    @cached_property
    def seen(self) -> Mask:
        """Clears of whose step some verify was seen."""
        return mask(np.isin(self._step, self._verifies.step) & (self._step != NULL))

    @cached_property
    def nobodys(self) -> Mask:
        """Clears of a step that was seen, none of whose verifies has, or may have, their request, or row."""
        return mask(self._strange & ~self._maybe)

    @cached_property
    def unsure(self) -> Mask:
        """Clears of a step that was seen, whose verify may be one that lacks its request, or row."""
        return mask(self._strange & self._maybe)

    def reach(self) -> tuple[Int64s, Int64s]:
        """Between which `seq` the verify of each clear would have been: those of the accepts of other steps around it."""
        before, behind = self._around
        return np.where(self.nobodys, np.maximum(before, 0), self._seq), np.where(
            self.nobodys, behind, self._seq
        )

    @property
    def begun(self) -> Mask:
        """Clears before whose step a verify of another one was seen, so that all of the step's would have been."""
        return mask(self.nobodys & (self._around[0] >= 0))

    @cached_property
    def _strange(self) -> Mask:
        """Clears of a step that was seen, that go with none of its verifies by what these say."""
        row, codes = self._verifies.row, self._verifies.request.codes.astype(np.int64)
        by_request = self._meets(codes, self._request, mask(codes >= 0))
        by_row = self._meets(row, self._row, mask((codes < 0) & (row != NULL)))
        of_any = self._meets(row, self._row, mask(row != NULL))
        met = np.where(self._named, by_request | by_row, of_any)
        return mask(self.seen & (self._named | self._rowed) & ~met)

    @cached_property
    def _maybe(self) -> Mask:
        """Clears of whose step a verify lacks what would tell that it is not theirs."""
        rowless = self._verifies.row == NULL
        nameless = ~self._verifies.request.known & ~self._verifies.padding
        by_row = np.where(self._named, self._beside(nameless & rowless), self._beside(rowless))
        return mask(np.where(self._rowed, by_row, self._beside(nameless)))

    def _beside(self, which: Mask) -> Mask:
        """Clears with one of these verifies in their step."""
        return mask(np.isin(self._step, self._verifies.step[which]))

    @cached_property
    def _around(self) -> tuple[Int64s, Int64s]:
        """`seq` of the nearest verifies of other steps before and behind each clear."""
        return beside_others(self._verifies.seq, self._verifies.step, self._seq, self._step)

    def _meets(self, of_verify: Int64s, asked: Int64s, which: Mask) -> Mask:
        """Clears with one of these verifies, of their step, that has the asked value."""
        own = np.stack((self._verifies.step[which], of_verify[which]))
        number = numbered(np.hstack((own, np.stack((self._step, asked)))))
        count = own.shape[1]
        return np.isin(number[count:], number[:count])
