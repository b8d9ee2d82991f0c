"""Which slots of the main pool a forward writes the peers of, where it writes to the pool of a sliding window.

Most forwards write the peers of the slots that they write in the main pool: those are judged there. What strays from them is
judged by the slots whose peers it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import pyarrow as pa

from speckv_debug.model.process import Process
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.moved_windows import window_of
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.peer_ops import PeerEntries
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, mask
from speckv_debug.replay.searching import latest_with
from speckv_debug.replay.writes import padding_rows, reserved

NOBODYS = NULL
"""What stands for the slot of the main pool whose peer is written, where the mapping names none."""


class WindowWrites:
    """The rows of `forward`, by the slots of the main pool whose peers they write.

    Args:
        columns: Of any table.
        info: The process.
        spaces: Its allocators.

    Attributes:
        told: Whether there is such a pool, and the recording tells whose peers its slots are.
    """

    def __init__(self, columns: Callable[[str], Columns], info: Process, spaces: Namespaces) -> None:
        self._columns, self._info, self._spaces = columns, info, spaces
        self.pool = window_of(info)
        self._forward = columns("forward")
        self._mapped: dict[int, int] | None = None
        self.told = self.pool is not None and (info.records("swa_map") or len(columns("swa_map")) > 0)
        self._rows = self._written_to_it() if self.told else np.empty(0, dtype=np.int64)

    @cached_property
    def strayed(self) -> Mask:
        """Forwards that write other peers than those of the slots that they write in the main pool."""
        found = np.zeros(len(self._forward), dtype=np.bool_)
        if len(self._rows):
            owners = self._slots.owners
            due = self._siblings.at(owners, self._slots.within)
            apart = (self._full != due) & self._counted
            short = self._slots.lengths != self._siblings.lengths
            found[self._rows] = any_per_list(mask(apart), owners, len(self._rows)) | (
                short & any_per_list(self._counted, owners, len(self._rows))
            )
        return mask(found)

    @cached_property
    def full(self) -> Ragged:
        """For each row of `forward` the slots of the main pool whose peers it writes, `NOBODYS` for one without; empty elsewhere."""
        lengths = np.zeros(len(self._forward), dtype=np.int64)
        lengths[self._rows] = self._slots.lengths
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        return Ragged(np.where(self._counted, self._full, 0), offsets, mask(lengths > 0))

    def since(self, row: int) -> int:
        """`seq` of the earliest change of the mapping that the slots of a row rest on, its own where there is none."""
        seq = int(self._forward.ints("seq")[row])
        mine = self._holder[self._counted & (self._slots.owners == np.searchsorted(self._rows, row))]
        told: list[int] = self._entries.seq[mine[mine >= 0]].tolist()
        return min([seq, *told])

    def untold_before(self, row: int) -> bool:
        """Whether some change of the mapping before a row does not say what it changed."""
        return self.untold_at(int(self._forward.ints("seq")[row]))

    def untold_at(self, seq: int) -> bool:
        """The same before an event."""
        silent = self._columns("swa_map").ints("seq")[~self._entries.told]
        return bool((silent < seq).any())

    def pages_mapped(self, size: int, seq: int) -> int:
        """How many pages of the window's pool hold a peer at a `pool_stat`, by its `seq`."""
        if self._mapped is None:
            stats = self._columns("pool_stat").ints("seq")
            counts = self._entries.pages_mapped(size, stats)
            self._mapped = dict(zip(stats.tolist(), counts.tolist(), strict=True))
        return self._mapped[seq]

    def carried(self) -> Columns:
        """The mapping as it stands behind these events, as one change of it."""
        entries = self._entries
        live = (entries.end == len(entries)) & entries.maps
        columns = {"full_slots": [entries.full[live]], "swa_slots": [entries.swa[live]]}
        row = {"seq": [int(entries.seq.max(initial=-1))], **columns}
        schema = SCHEMAS["swa_map"]
        return Columns(
            pa.table({f.name: pa.array(row.get(f.name, [None]), f.type) for f in schema}, schema=schema)
        )

    def _written_to_it(self) -> Int64s:
        forward, pool = self._forward, self.pool
        assert pool is not None
        mine = self._spaces.indices(forward.texts("pool")) == self._spaces.index(pool.name)
        idle = padding_rows(forward)
        return np.flatnonzero(mine & ~idle & forward.lists("slots").filled)

    @cached_property
    def _entries(self) -> PeerEntries:
        return PeerEntries(self._columns)

    @cached_property
    def _slots(self) -> Ragged:
        return self._forward.lists("slots").take(self._rows)

    @cached_property
    def _counted(self) -> Mask:
        """Slots that are no dummy."""
        return mask(self._slots.values >= reserved(self.pool))

    @cached_property
    def _holder(self) -> Int64s:
        """The entry of the mapping that gives each written slot away at the time, -1 if none does."""
        entries, seq = self._entries, self._forward.ints("seq")[self._rows][self._slots.owners]
        given = np.flatnonzero(entries.maps)
        found = latest_with((entries.swa[given],), entries.seq[given], (self._slots.values,), seq)
        entry = np.append(given, -1)[found]
        ends = np.append(entries.end, len(entries))[entry]
        over = np.append(entries.seq, np.iinfo(np.int64).max)[ends] <= seq
        reset = np.searchsorted(entries.resets, np.append(entries.seq, 0)[entry]) < np.searchsorted(
            entries.resets, seq
        )
        return np.where(over | reset, -1, entry)

    @cached_property
    def _full(self) -> Int64s:
        return np.append(self._entries.full, NOBODYS)[self._holder]

    @cached_property
    def _siblings(self) -> Ragged:
        """What the same forward writes in the main pool: its own row there, else the verify's `out_cache_loc`."""
        forward, accept = self._forward, self._columns("accept")
        main = self._spaces.indices(forward.texts("pool")) == self._spaces.main
        own = np.flatnonzero(main & forward.lists("slots").present)
        mode = forward.texts("mode")
        modes = np.where(mode.equal("extend", "decode", "target_verify"), 0, mode.codes.astype(np.int64) + 1)
        keys = [forward.ints(name) for name in ("step", "row", "epoch")]
        verifies = [accept.ints(name) for name in ("step", "row", "epoch")]
        number = numbered(
            np.hstack(
                (
                    np.stack([*(key[self._rows] for key in keys), modes[self._rows]]),
                    np.stack([*(key[own] for key in keys), modes[own]]),
                    np.stack([*verifies, np.zeros(len(accept), dtype=np.int64)]),
                )
            )
        )
        asked, known = number[: len(self._rows)], number[len(self._rows) :]
        of_number = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
        of_number[known[::-1]] = np.arange(len(known))[::-1]
        lists = _one_behind_another(forward.lists("slots").take(own), accept.lists("out_cache_loc"))
        return lists.take(np.where(of_number[asked] < 0, len(known), of_number[asked]))


def _one_behind_another(first: Ragged, second: Ragged) -> Ragged:
    """The lists of both, then an empty one."""
    offsets = np.concatenate((first.offsets, second.offsets[1:] + first.offsets[-1]))
    return Ragged(
        np.concatenate((first.values, second.values)),
        np.append(offsets, offsets[-1]),
        np.concatenate((first.present, second.present, [False])),
    )
