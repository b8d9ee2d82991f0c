"""The committed prefixes of one process, looked at in a shadow cache that is replayed step by step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.lives import Lives
from speckv_debug.replay.moves import CALLS, MoveCalls
from speckv_debug.replay.places import Place, place_at
from speckv_debug.replay.ragged import Int64s, Mask, Ragged, any_per_list, mask
from speckv_debug.replay.shadow_dues import Dues, Readers
from speckv_debug.replay.shadow_finds import Held, ShadowFinds
from speckv_debug.replay.shadow_looks import all_in_place, all_looks
from speckv_debug.replay.shadow_rows import RowEntries
from speckv_debug.replay.shadow_units import ShadowUnits, applied_calls
from speckv_debug.replay.shadow_writes import ShadowWrites
from speckv_debug.replay.verifies import VerifyBatch


class ShadowReplay:
    """One instance a forward that reads a committed prefix: what was committed or changed since the one before it.

    And one a last verify, whose rows nobody reads, after its moves.

    Args:
        columns, verifies, moves, lives, info: Of the process.
        paths: Local rows that each verify accepts, root first.
        device: Where the shadow lies, `cpu` or `cuda`.
    """

    reads = ("accept", "forward", "move", "table_write")
    columns_from = ("alloc", "transfer", "release", "row_alloc", "row_free")
    rests_on = CALLS | {
        "accept": ("row", "epoch", "step"),
        "forward": ("mode", "row", "epoch", "slots"),
        "table_write": ("row", "epoch", "start", "slots"),
    }

    def __init__(
        self,
        columns: Callable[[str], Columns],
        verifies: VerifyBatch,
        moves: MoveCalls,
        lives: Lives,
        info: Process,
        paths: Ragged,
        device: str = "cpu",
    ) -> None:
        self.moves = moves
        self.writes = writes = ShadowWrites(columns, verifies, lives, info)
        self.not_said = writes.not_said
        self.units = units = ShadowUnits(writes, moves, applied_calls(writes, moves))
        self.entries = RowEntries(writes, columns("table_write"), info, verifies)
        self.readers = Readers(writes, units, lives)
        self.dues = Dues(self.readers, writes, self.entries, paths)
        self.looks = all_looks(self.dues, self.entries, units, lives)
        self.finds = ShadowFinds(self.looks, self.dues, self.entries, units, info, device)

    def __len__(self) -> int:
        return len(self._instances[0])

    def place(self, index: int) -> Place:
        """The forward's place, at the event after which it was looked."""
        event, seq = int(self._event[index]), int(self._seq[index])
        return place_at(self.writes.place(event), seq)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the oldest of what is due, the row entry that names it and the content found, to the look."""
        first = self._seq.copy()
        for since in (
            self.dues.committed_at[self.looks.due],
            self.finds.named_since,
            self.finds.found_since,
        ):
            np.minimum.at(first, self._of_look, since)
        return first, self._seq

    @cached_property
    def failed(self) -> Mask:
        """Instances with a look that found what must not be there."""
        return self._with(self.finds.wrong)

    @cached_property
    def unknown(self) -> dict[str, Mask]:
        """Why → instances of which a position can't be judged."""
        unread, unmapped = self._unjudged
        return {
            "nobody reads the rows before the recording ends": unread,
            "the recording does not show which slots the request row names": unmapped,
            "an accepted row has no slot of its own (the dummy slot, or an unknown entry)": self._with(
                self.finds.placeless
            ),
            "move was not recorded whole": self._with(self.finds.unmoved),
            "the recording does not show what was written to the slots": self._with(self.finds.unshown),
        }

    def wrong(self, index: int) -> list[Held]:
        """The wrong positions of one instance, ascending."""
        owners, looks = self._wrong_looks
        mine = slice(*np.searchsorted(owners, (index, index + 1)).tolist())
        return [self.finds.held(look) for look in looks[mine].tolist()]

    @cached_property
    def _wrong_looks(self) -> tuple[Int64s, Int64s]:
        """Instance and number of each wrong look, by instance, then position."""
        looks = np.flatnonzero(self.finds.wrong)
        owners = self._of_look[looks]
        order = np.lexsort((self.dues.position[self.looks.due[looks]], owners))
        return owners[order], looks[order]

    def _with(self, looks: Mask) -> Mask:
        return any_per_list(looks, self._of_look, len(self))

    @cached_property
    def _instances(self) -> tuple[Int64s, Int64s, Int64s]:
        """Key and `seq` of each instance, and the instance of each look."""
        looks, (unread, unmapped) = self.looks, self._lone
        key = np.concatenate((looks.event * 2 + looks.settled, unread * 2 + 1, unmapped * 2))
        seq = np.concatenate((looks.seq, self.writes.time[unread], self.writes.time[unmapped]))
        keys, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        order = np.lexsort((keys, seq[first]))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return keys[order], seq[first][order], rank[inverse.reshape(-1)]

    @property
    def _event(self) -> Int64s:
        return self._instances[0] // 2

    @property
    def _seq(self) -> Int64s:
        return self._instances[1]

    @property
    def _of_look(self) -> Int64s:
        return self._instances[2][: len(self.looks)]

    @cached_property
    def _lone(self) -> tuple[Int64s, Int64s]:
        """Events that can't be judged though nothing was looked at: unread verifies, readers of unknown slots."""
        readers = self.readers
        last = (readers.last == np.arange(len(readers))) | (not self.entries.listed)
        unread = readers.event[last & ~all_in_place(self.dues)]
        looked = self.looks.event[self.looks.settled]
        return np.setdiff1d(unread, looked), readers.event[self.dues.unmapped]

    @property
    def _unjudged(self) -> tuple[Mask, Mask]:
        of = self._instances[2][len(self.looks) :]
        unread = len(self._lone[0])
        count = np.arange(len(self))
        return mask(np.isin(count, of[:unread])), mask(np.isin(count, of[unread:]))
