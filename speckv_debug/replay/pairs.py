"""Due and actual (source, target) pairs of accepted rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.batches import batch_spans
from speckv_debug.replay.moves import CALLS, Relocations
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask, any_per_list, frozen, mask, spread
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import reserved


class DuePairs:
    """For each accepted row k of each verify: `source = out_cache_loc[path[k]]`, `target = row[L + k]`.

    All arrays are parallel to `verifies.path.values`, NULL where a slot is not known. The target is what the request
    row holds there (`table_slots`), the front of the verify window (`out_cache_loc`) where that was not recorded.
    Positions beyond the allocated length have ends that are unknown or the pool's dummy. All are made when asked for.
    """

    def __init__(self, verifies: VerifyBatch) -> None:
        self._verifies = verifies

    @property
    def row(self) -> Int64s:
        """Local row of each pair."""
        return self._verifies.path.values

    @cached_property
    def owners(self) -> Int64s:
        """The verify of each pair."""
        return self._verifies.path.owners

    @cached_property
    def k(self) -> Int64s:
        """Place of each pair in the path of its verify."""
        return self._verifies.path.within

    @cached_property
    def source(self) -> Int64s:
        """Where each accepted row was written."""
        return self._verifies.ragged("out_cache_loc").at(self.owners, self.row)

    @cached_property
    def window(self) -> Int64s:
        """The k-th slot of the verify window."""
        return self._verifies.ragged("out_cache_loc").at(self.owners, self.k)

    @cached_property
    def target(self) -> Int64s:
        """Where the row has to lie for readers of its position."""
        table = self._verifies.ragged("table_slots").at(self.owners, self.k)
        return np.where(table == NULL, self.window, table)

    @cached_property
    def placeless(self) -> Mask:
        """Pairs with an end that is unknown or the pool's dummy."""
        return mask(np.minimum(self.source, self.target) < reserved(self._verifies.info.pool(None)))

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
    rests_on = CALLS

    def __init__(self, due: DuePairs, relocations: Relocations) -> None:
        self.due, self.relocations = due, relocations

    @cached_property
    def plain(self) -> bool:
        """Whether it is plain that the calls move what is due, pair for pair; False where it takes a closer look."""
        relocations, verifies, moves = self.relocations, self.relocations.verifies, self.relocations.moves
        if not verifies.plain or relocations.headless.any():
            return False
        from speckv_debug.replay.paths_compiled import lists_as_due

        lists = (verifies.ragged("out_cache_loc"), verifies.ragged("table_slots"), moves.src, moves.tgt)
        parts = (frozen(part) for each in lists for part in (each.values, each.offsets))
        who = np.stack((relocations.verify, relocations.call, relocations.start))
        return bool(lists_as_due(who, *verifies.plain_paths, *parts))

    @cached_property
    def counts(self) -> Int64s:
        """Due pairs of each instance."""
        found: Int64s = self.relocations.verifies.path.lengths[self.relocations.verify]
        return found

    @cached_property
    def at(self) -> Int64s:
        """The due pairs of all instances."""
        offsets = self.relocations.verifies.path.offsets[:-1]
        return np.repeat(offsets[self.relocations.verify], self.counts) + spread(self.counts)

    @cached_property
    def owners(self) -> Int64s:
        """The instance of each due pair."""
        return np.repeat(np.arange(len(self.relocations), dtype=np.int64), self.counts)

    @cached_property
    def src(self) -> Int64s:
        """What the mover's list has at the pair's place, NULL where it ends before."""
        return self.relocations.moves.src.at(*self._places)

    @cached_property
    def tgt(self) -> Int64s:
        """The same of the targets."""
        return self.relocations.moves.tgt.at(*self._places)

    @property
    def _places(self) -> tuple[Int64s, Int64s]:
        place = self.relocations.start[self.owners] + spread(self.counts)
        return self.relocations.call[self.owners], place

    def __len__(self) -> int:
        return len(self.relocations)

    def place(self, index: int) -> Place:
        """The verify's place, at the `seq` of the mover call."""
        return self.relocations.place(index)

    @property
    def seq(self) -> Int64s:
        """Of each instance's call."""
        return self.relocations.moves.seq[self.relocations.call]

    @property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the first to the last of the batch's accepts and the calls of its step."""
        return batch_spans(*self.relocations.spans, self.relocations.verify)

    @cached_property
    def in_order(self) -> Mask:
        """Instances whose list is exactly what is due, pair for pair, by the table or by the window."""
        due, count = self.due, len(self.relocations)
        if self.plain:
            return np.ones(count, dtype=np.bool_)
        wrong = any_per_list(self.src != due.source[self.at], self.owners, count)
        by_table = any_per_list(self.tgt != due.target[self.at], self.owners, count)
        by_window = any_per_list(self.tgt != due.window[self.at], self.owners, count)
        return ~wrong & ~(by_table & by_window) & self.relocations.whole

    @cached_property
    def placeless(self) -> Mask:
        """Instances of which a row has no slot of its own: where it should go, or come from, can't be told."""
        return any_per_list(self.due.placeless[self.at], self.owners, len(self))

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

        Pairs of one slot with itself change nothing: an engine may leave them out.
        """
        mine = self.mine(index)
        return min((self._differences(index, mine, window=window) for window in (False, True)), key=len)

    def _differences(self, index: int, mine: list[tuple[int, int]], *, window: bool) -> list[str]:
        due = self.due_of(index, window=window)
        missing = [f"{t} <- {s} is missing" for s, t in due if s != t and (s, t) not in mine]
        extra = [f"{t} <- {s} is not due" for s, t in mine if (s, t) not in due]
        return [*missing, *extra]

    def mine(self, index: int) -> list[tuple[int, int]]:
        """The pairs of the call, and of those beside it, that write into the request's window, or read from it and
        write nowhere due.
        """
        return [pair for each in self.beside(index) for pair in self._mine(each)]

    def unclaimed(self, index: int) -> bool:
        """Whether pairs that touch no slot of the batch's requests stand at the instance's place in the list, and may be
        those of requests whose accepts are not in the recording.
        """
        call = int(self.relocations.call[index])
        if self.relocations.batch_is_whole:
            return False
        pairs = [pair for pair in self.relocations.moves.pairs(call) if pair[0] != pair[1]]
        slots = self._windows_of_call(call)
        return any(slots.isdisjoint(pair) and self._stands_at(index, pair) for pair in pairs)

    def loose(self, index: int) -> bool:
        """Whether all that is wrong of an instance are pairs that touch no slot of the batch's several requests: whose
        they are can't be told.
        """
        call, mine = int(self.relocations.call[index]), self.mine(index)
        slots, several = self._windows_of_call(call), int((self.relocations.call == call).sum()) > 1
        for due in (self.due_of(index, window=window) for window in (False, True)):
            strays = [pair for pair in mine if pair not in due]
            moved = all(pair in mine for pair in due if pair[0] != pair[1])
            if several and moved and strays and slots.isdisjoint(slot for pair in strays for slot in pair):
                return True
        return False

    def beside(self, index: int) -> list[int]:
        """Instances of the same verify whose calls move the same components: together they are the verify's move."""
        order, ordered = self._by_verify
        verify = self.relocations.verify[index]
        same = order[
            np.searchsorted(ordered, verify) : np.searchsorted(ordered, verify, side="right")
        ].tolist()
        return [i for i in same if self._components(i) == self._components(index)] if same[1:] else same

    @cached_property
    def _by_verify(self) -> tuple[Int64s, Int64s]:
        """Instances in the order of their verify, and that verify."""
        order = np.argsort(self.relocations.verify, kind="stable")
        return order, self.relocations.verify[order]

    def _components(self, index: int) -> tuple[str, ...] | None:
        return self.relocations.moves.columns.strings("components", int(self.relocations.call[index]))

    def _mine(self, index: int) -> list[tuple[int, int]]:
        call = int(self.relocations.call[index])
        own, others = self._window(int(self.relocations.verify[index])), self._windows_of_call(call)
        pairs = [p for p in self.relocations.moves.pairs(call) if p[0] != p[1]]
        return [
            p
            for p in pairs
            if p[1] in own or (p[1] not in others and (p[0] in own or self._falls_to(index, p)))
        ]

    def content_of(self, index: int, slot: int) -> int | None:
        """Local verify row of the request whose KV `slot` holds after the calls; None if it is no row of its window."""
        verify = int(self.relocations.verify[index])
        calls = [int(self.relocations.call[each]) for each in self.beside(index)]
        written = [s for call in calls for s, t in self.relocations.moves.pairs(call) if t == slot]
        loc = self.relocations.verifies.ragged("out_cache_loc")[verify].tolist()
        source = written[-1] if written else slot
        return loc.index(source) if source in loc else None

    def _falls_to(self, index: int, pair: tuple[int, int]) -> bool:
        """Whether a pair that touches no window of the batch stands at this instance's place, and can be nobody else's."""
        loose = pair[0] not in self._windows_of_call(int(self.relocations.call[index]))
        return loose and self.relocations.batch_is_whole and self._stands_at(index, pair)

    def _stands_at(self, index: int, pair: tuple[int, int]) -> bool:
        """Whether a pair stands at this instance's place in its call's list, or behind it and before the next one's."""
        call = int(self.relocations.call[index])
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
