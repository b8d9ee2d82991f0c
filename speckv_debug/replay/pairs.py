"""Due and actual (source, target) pairs of accepted rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.moves import Relocations
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask, any_per_list, mask, spread
from speckv_debug.replay.verifies import VerifyBatch


class DuePairs:
    """For each accepted row k of each verify: `source = out_cache_loc[path[k]]`, `target = row[L + k]`.

    All arrays are parallel to `verifies.path.values`, NULL where a slot is not known. The target is what the request
    row holds there (`table_slots`), the front of the verify window (`out_cache_loc`) where that was not recorded.
    """

    def __init__(self, verifies: VerifyBatch) -> None:
        path, loc = verifies.path, verifies.ragged("out_cache_loc")
        self.owners, self.k = path.owners, path.within
        self.source = loc.at(self.owners, path.values)
        self.window = loc.at(self.owners, self.k)
        self.row = path.values
        table = verifies.ragged("table_slots").at(self.owners, self.k)
        self.target = np.where(table == NULL, self.window, table)

    @property
    def moving(self) -> Mask:
        """Pairs whose row is not the k-th of its block and not in place; those with an unknown end are left out."""
        known = (self.source != NULL) & (self.target != NULL)
        return mask(known & (self.source != self.target) & (self.row != self.k))


class PairMatch:
    """One instance a verify and a mover call of its step, as in `Relocations`.

    Arrays beside `owners` hold each instance's due pairs (`at`, an index into `DuePairs`) and the pairs that stand at
    their place in the mover's packed list (`src`, `tgt`).
    """

    reads = ("accept", "move")

    def __init__(self, due: DuePairs, relocations: Relocations) -> None:
        self.due, self.relocations = due, relocations
        path = relocations.verifies.path
        self.counts = path.lengths[relocations.verify]
        self.at = np.repeat(path.offsets[:-1][relocations.verify], self.counts) + spread(self.counts)
        self.owners = np.repeat(np.arange(len(relocations), dtype=np.int64), self.counts)
        place = relocations.start[self.owners] + spread(self.counts)
        call = relocations.call[self.owners]
        self.src, self.tgt = relocations.moves.src.at(call, place), relocations.moves.tgt.at(call, place)

    def __len__(self) -> int:
        return len(self.relocations)

    def place(self, index: int) -> Place:
        """The verify's place, at the `seq` of the mover call."""
        return self.relocations.place(index)

    @property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the first to the last of the batch's accepts and the call."""
        return self.relocations.spans

    @cached_property
    def in_order(self) -> Mask:
        """Instances whose list is exactly what is due, pair for pair, by the table or by the window."""
        due, count = self.due, len(self.relocations)
        wrong = any_per_list(self.src != due.source[self.at], self.owners, count)
        by_table = any_per_list(self.tgt != due.target[self.at], self.owners, count)
        by_window = any_per_list(self.tgt != due.window[self.at], self.owners, count)
        return ~wrong & ~(by_table & by_window) & self.relocations.whole

    def due_of(self, index: int, *, window: bool = False) -> list[tuple[int, int]]:
        """Due (source, target) of one instance, in the order of k."""
        start, end = self._range(int(self.relocations.verify[index]))
        targets = self.due.window if window else self.due.target
        return list(zip(self.due.source[start:end].tolist(), targets[start:end].tolist(), strict=True))

    def _range(self, verify: int) -> tuple[int, int]:
        offsets = self.relocations.verifies.path.offsets
        return int(offsets[verify]), int(offsets[verify + 1])

    def problems(self, index: int) -> list[str]:
        """What is wrong with the pairs of one instance, in words; empty if all that has to move does, and nothing else.

        Pairs of one slot with itself change nothing: an engine may leave them out, but not one of several, nor one
        that it passes elsewhere for a request of which nothing moves.
        """
        mine, call = self.mine(index), int(self.relocations.call[index])
        in_place = {slot for slot, target in self.relocations.moves.pairs(call) if slot == target}
        tables = [self._differences(index, mine, in_place, window=window) for window in (False, True)]
        return min(tables, key=len)

    def _differences(
        self, index: int, mine: list[tuple[int, int]], in_place: set[int], *, window: bool
    ) -> list[str]:
        due = self.due_of(index, window=window)
        moving, staying = [p for p in due if p[0] != p[1]], [p[0] for p in due if p[0] == p[1]]
        left_out = [slot for slot in staying if slot not in in_place]
        missing = [f"{t} <- {s} is missing" for s, t in moving if (s, t) not in mine]
        if self._lists_in_place or len(left_out) < len(staying):
            missing += [f"{slot} <- {slot} is missing" for slot in left_out]
        extra = [f"{t} <- {s} is not due" for s, t in mine if (s, t) not in due]
        return [*missing, *extra]

    @cached_property
    def _lists_in_place(self) -> bool:
        """Whether the engine passes pairs even for a request whose rows are all in place."""
        moving = any_per_list(self.due.moving[self.at], self.owners, len(self))
        return bool((self.in_order & ~moving & (self.counts > 0)).any())

    def mine(self, index: int) -> list[tuple[int, int]]:
        """The pairs of the call that write into the request's window, or read from it and write nowhere due."""
        call = int(self.relocations.call[index])
        own, others = self._window(int(self.relocations.verify[index])), self._windows_of_call(call)
        pairs = [p for p in self.relocations.moves.pairs(call) if p[0] != p[1]]
        return [
            p
            for p in pairs
            if p[1] in own or (p[1] not in others and (p[0] in own or self._falls_to(index, p)))
        ]

    def content_of(self, index: int, slot: int) -> int | None:
        """Local verify row of the request whose KV `slot` holds after the call; None if it is no row of its window."""
        call, verify = int(self.relocations.call[index]), int(self.relocations.verify[index])
        written = [s for s, t in self.relocations.moves.pairs(call) if t == slot]
        loc = self.relocations.verifies.ragged("out_cache_loc")[verify].tolist()
        source = written[-1] if written else slot
        return loc.index(source) if source in loc else None

    def _falls_to(self, index: int, pair: tuple[int, int]) -> bool:
        """Whether a pair that touches no window of the batch stands at this instance's place in the list."""
        call = int(self.relocations.call[index])
        if pair[0] in self._windows_of_call(call):
            return False
        place = self.relocations.moves.pairs(call).index(pair)
        start = int(self.relocations.start[index])
        later = self.relocations.start[self.relocations.call == call]
        return start <= place and not bool(((later > start) & (later <= place)).any())

    def _window(self, verify: int) -> set[int]:
        batch = self.relocations.verifies
        return {
            *batch.ragged("out_cache_loc")[verify].tolist(),
            *batch.ragged("table_slots")[verify].tolist(),
        }

    def _windows_of_call(self, call: int) -> set[int]:
        if call not in self._windows:
            verifies = self.relocations.verify[self.relocations.call == call].tolist()
            self._windows[call] = set().union(*(self._window(v) for v in verifies))
        return self._windows[call]

    @cached_property
    def _windows(self) -> dict[int, set[int]]:
        return {}
