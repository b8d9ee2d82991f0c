"""What each look at the shadow cache found, beside what is due."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.shadow import UNWRITTEN
from speckv_debug.replay.shadow_dues import Dues
from speckv_debug.replay.shadow_looks import Looks, placeless
from speckv_debug.replay.shadow_rows import RowEntries
from speckv_debug.replay.shadow_steps import versions_found
from speckv_debug.replay.shadow_units import ShadowUnits


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What one position held when it was looked at.

    `due` and `found` are written rows (elements of the writes), -1 where unknown or nothing; `token` is the one due, NULL
    if unknown; `arrived` is a touch, -1 for none.
    """

    position: int
    slot: int
    due: int
    token: int
    found: int
    arrived: int


class ShadowFinds:
    """One entry a look; all arrays are parallel to `looks`.

    Where a request wrote the position into a slot that was its own, that very row is due (`exact`). Elsewhere, in a
    cached prefix or after the row was pointed at other slots, a row of that position and token is, which came before the
    request row named the slot.
    """

    def __init__(
        self, looks: Looks, dues: Dues, entries: RowEntries, units: ShadowUnits, info: Process, device: str
    ) -> None:
        self.looks, self.dues, self.entries, self.units, self._info = looks, dues, entries, units, info
        self.writes, self._device = units.writes, device

    def held(self, look: int) -> Held:
        """What one look found."""
        due = int(self.looks.due[look])
        return Held(
            position=int(self.dues.position[due]),
            slot=int(self._slot[look]),
            due=int(self.dues.element[due]),
            token=int(self._token[look]),
            found=int(self.found[look]),
            arrived=int(self._arrived[look]),
        )

    @cached_property
    def found(self) -> Int64s:
        """The version found."""
        return versions_found(self.units, self._slot, self.looks.unit, self._device)

    @cached_property
    def wrong(self) -> Mask:
        """Something was found that must not be there."""
        exact = self.exact & ~self._right & ~(self.placeless | self.unmoved | self._filled)
        return mask(exact | (self._suspect & ~self.exact & self._certain & ~self.placeless))

    @cached_property
    def unshown(self) -> Mask:
        """The recording does not show what was written there, or may lack what put it right."""
        nothing = ~self.exact & (self.found == UNWRITTEN)
        return mask(nothing | self._filled | (self._suspect & ~self.exact & ~self._certain))

    @property
    def _slot(self) -> Int64s:
        return self.entries.slot[self.looks.entry]

    @cached_property
    def _owner(self) -> Int64s:
        """Event of each element; -1 behind the last, for `UNWRITTEN`."""
        return np.append(self.writes.owners, -1)

    @cached_property
    def exact(self) -> Mask:
        """Looks at a row that this request wrote into a slot that was its own then, so that this very row is due."""
        due = self.looks.due
        own = self.dues.seen[due] & (self.dues.element[due] >= 0)
        return mask(own & (self.entries.seq[self.looks.entry] < self.dues.committed_at[due]))

    @cached_property
    def _right(self) -> Mask:
        """The very row, or the same one written again later."""
        due = self.dues.element[self.looks.due]
        later = self._values(self.found, self.writes.time) > self._values(due, self.writes.time)
        return mask((self.found == due) | (later & self._own & ~self._differs))

    @cached_property
    def _own(self) -> Mask:
        """The row found was written by this request row."""
        life = self.dues.readers.life[self.dues.reader[self.looks.due]]
        return mask(self._values(self.found, self.writes.life) == life)

    @cached_property
    def _differs(self) -> Mask:
        """Position or token found are not those due."""
        position = np.append(self.writes.positions, NULL)[self.found]
        token = np.append(self.writes.tokens, NULL)[self.found]
        other = (position != NULL) & (position != self.dues.position[self.looks.due])
        return mask(other | ((token != NULL) & (self._token != NULL) & (token != self._token)))

    @cached_property
    def _token(self) -> Int64s:
        """The token due; where no commit was seen, the one that the first look found."""
        due = self.looks.due
        token = self.dues.token[due]
        _, first = np.unique(due, return_index=True)
        seen = np.full(len(self.dues), NULL, dtype=np.int64)
        seen[due[first]] = np.append(self.writes.tokens, NULL)[self.found[first]]
        return np.where(token == NULL, seen[due], token)

    @cached_property
    def _arrived(self) -> Int64s:
        """The touch that brought what was found, -1 if there was none."""
        slots = self.units.number(self._slot)
        return np.where(slots < 0, -1, self.units.touches.last(slots, self.looks.unit))

    @cached_property
    def _late(self) -> Mask:
        """What was found came after the request row had named the slot."""
        seq = np.append(self.units.touches.seq, -1)[self._arrived]
        return mask((self._arrived >= 0) & (seq > self.entries.seq[self.looks.entry]))

    @cached_property
    def _suspect(self) -> Mask:
        """Another position or token than due, or another request's row that came late."""
        return mask((self.found != UNWRITTEN) & ~self._filled & (self._differs | (self._late & ~self._own)))

    @property
    def _certain(self) -> Mask:
        """No event that is not in the recording can have put things right."""
        forwards = all(self._info.records("forward", mode) for mode in ("extend", "decode"))
        return mask((self._late & ~self._own) | (self._whole_moves & (self._late | forwards)))

    @property
    def _whole_moves(self) -> bool:
        return self._info.records("move", "accept")

    @cached_property
    def unmoved(self) -> Mask:
        """Looks at a row that has to be moved, where a move may be missing from the recording."""
        due = self.looks.due
        return mask(self.exact & ~self._right & ~self.dues.in_place[due] & (not self._whole_moves))

    @cached_property
    def _filled(self) -> Mask:
        """The content came from where nobody sees it."""
        return mask(self._values(self.found, self.writes.unseen.astype(np.int64)) == 1)

    @cached_property
    def placeless(self) -> Mask:
        """Looks at the pool's dummy, or of a row that was written to it: nothing is held there."""
        return placeless(self.looks.due, self.looks.entry, self.dues, self.entries)

    def _values(self, elements: Int64s, of_event: Int64s) -> Int64s:
        """A value of the events that wrote `elements`, -1 where there is none."""
        return np.append(of_event, -1)[self._owner[elements]]

    @cached_property
    def named_since(self) -> Int64s:
        """Since when the row is known to name the slot: the verify's own snapshot says so anew."""
        named, verify = self.entries.seq[self.looks.entry], self.writes.verify[self.dues.readers.event]
        reader = self.dues.reader[self.looks.due]
        within = self.dues.position[self.looks.due] - self.dues.readers.start[reader]
        table = self.writes.snapshot
        if not len(table):
            return named
        again = mask(table.at(np.maximum(verify[reader], 0), within) == self._slot)
        again &= (verify[reader] >= 0) & self.exact
        return np.where(again, self.dues.committed_at[self.looks.due], named)

    @cached_property
    def found_since(self) -> Int64s:
        """When what was found was written, the look itself where nothing was."""
        seq = np.append(self.writes.time, np.iinfo(np.int64).max)[self._owner[self.found]]
        return np.where(self.found == UNWRITTEN, self.looks.seq, seq)
