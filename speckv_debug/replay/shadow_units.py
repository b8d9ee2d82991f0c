"""Launches and mover calls in the order in which the device sees them: what the shadow cache is driven by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from speckv_debug.replay.moves import MoveCalls
from speckv_debug.replay.namespaces import SLOT_LIMIT
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.shadow_writes import ShadowWrites


@dataclass(frozen=True, slots=True)
class Touches:
    """Each time a slot gets new content, sorted by slot, then unit.

    Attributes:
        slot: Number in `ShadowUnits.slots`.
        unit: Of the launch or the call.
        seq: Of its event.
        call: The mover call, -1 for a write.
        source: Number of the slot that the content comes from, -1 for a write.
    """

    slot: Int64s
    unit: Int64s
    seq: Int64s
    call: Int64s
    source: Int64s

    def until(self, slot: Int64s, unit: Int64s) -> Int64s:
        """How many entries lie before or at each (slot, unit); the last of them is about that slot, or the slot has none."""
        width = int(max(self.unit.max(initial=0), unit.max(initial=0))) + 2
        ends: Int64s = np.searchsorted(self.slot * width + self.unit, slot * width + unit, side="right")
        return ends

    def last(self, slot: Int64s, unit: Int64s) -> Int64s:
        """The last entry of each slot up to and with the unit, -1 if there is none."""
        at = self.until(slot, unit) - 1
        return np.where((at >= 0) & (np.append(self.slot, -1)[at] == slot), at, -1)


class ShadowUnits:
    """Units of work, numbered from 0: a launch (the writes of one step, up to the next move) or one mover call.

    Attributes:
        of_event: Unit of each event of `writes`.
        of_call: Unit of each mover call, -1 of those that are not applied.
        slots: Ids of all slots that are written or moved, ascending; the shadow cache has these.
    """

    def __init__(self, writes: ShadowWrites, moves: MoveCalls, applied: Mask) -> None:
        self.writes, self.moves = writes, moves
        calls = np.flatnonzero(applied)
        time = np.concatenate((writes.time, moves.seq[calls]))
        kind = np.concatenate((np.where(writes.unseen, 2, 0), np.ones(len(calls), dtype=np.int64)))
        step = np.concatenate((writes.step, moves.step[calls]))
        order = np.lexsort((kind == 1, time))
        new = np.ones(len(order), dtype=np.bool_)
        same = (kind[order][1:] == kind[order][:-1]) & (kind[order][1:] == 0)
        same &= (step[order][1:] == step[order][:-1]) & (step[order][1:] != NULL)
        new[1:] = ~same
        unit = np.empty(len(order), dtype=np.int64)
        unit[order] = np.cumsum(new) - 1
        self.count = int(new.sum())
        self.of_event: Int64s = unit[: len(writes)]
        self.of_call = np.full(len(moves), -1, dtype=np.int64)
        self.of_call[calls] = unit[len(writes) :]
        bound = writes.bound
        self.bound = SLOT_LIMIT if bound is None else bound

    @cached_property
    def element(self) -> Int64s:
        """Elements of `writes` that stay, by unit: their slot exists, and no later one of the unit is written to it."""
        values = self.writes.slots.values
        found = np.flatnonzero((values >= 0) & (values < self.bound))
        unit = self.of_event[self.writes.owners[found]]
        order = np.lexsort((found, values[found], unit))
        unit, slot = unit[order], values[found][order]
        stays = np.append(
            (unit[1:] != unit[:-1]) | (slot[1:] != slot[:-1]), np.ones(min(1, len(order)), dtype=np.bool_)
        )
        kept: Int64s = found[order[stays]]
        return kept

    @cached_property
    def pair(self) -> Int64s:
        """Pairs (places in the flat lists of sources) that move something from slot to slot, by unit."""
        source, target = self.moves.src.values, self.moves.tgt_of_src
        inside = (source >= 0) & (source < self.bound) & (target >= 0) & (target < self.bound)
        unit = self.of_call[self.moves.src.owners]
        found = np.flatnonzero(inside & (source != target) & (unit >= 0))
        return found[np.argsort(unit[found], kind="stable")]

    @cached_property
    def pair_unit(self) -> Int64s:
        """Unit of each of `pair`."""
        return self.of_call[self.moves.src.owners[self.pair]]

    @cached_property
    def element_unit(self) -> Int64s:
        """Unit of each of `element`."""
        return self.of_event[self.writes.owners[self.element]]

    @cached_property
    def slots(self) -> Int64s:
        """Ids of the slots that anything is written to or moved from or to."""
        written = self.writes.slots.values[self.element]
        source, target = self.moves.src.values[self.pair], self.moves.tgt_of_src[self.pair]
        return np.unique(np.concatenate((written, source, target)))

    def number(self, slots: Int64s) -> Int64s:
        """Numbers of slot ids, -1 of one that is never written or moved."""
        at = np.searchsorted(self.slots, slots)
        return np.where(np.append(self.slots, NULL)[at] == slots, at, -1)

    @cached_property
    def touches(self) -> Touches:
        """All writes and moves, by slot."""
        owners, calls = self.writes.owners[self.element], self.moves.src.owners[self.pair]
        none = np.full(len(owners), -1, dtype=np.int64)
        slot = self.number(
            np.concatenate((self.writes.slots.values[self.element], self.moves.tgt_of_src[self.pair]))
        )
        unit = np.concatenate((self.element_unit, self.pair_unit))
        seq = np.concatenate((self.writes.seq[owners], self.moves.seq[calls]))
        source = np.concatenate((none, self.number(self.moves.src.values[self.pair])))
        order = np.lexsort((unit, slot))
        call = np.concatenate((none, calls))
        return Touches(slot[order], unit[order], seq[order], call[order], source[order])


def applied_calls(writes: ShadowWrites, moves: MoveCalls) -> Mask:
    """Mover calls that change the target pool: all of its calls, whoever made them.

    A tail copied into draft branches is the draft pool's where no pool is named. An identity stands for all components of
    a slot, so of the calls of one step that pass the same lists for one component after the other the first counts.
    """
    pool = moves.columns.texts("pool")
    tail = moves.columns.texts("caller").equal("draft_tail") & ~pool.known
    applied = mask(writes.is_target(pool) & ~tail)
    applied[_repeats(moves, np.flatnonzero(applied & (moves.step != NULL)))] = False
    return applied


def _repeats(moves: MoveCalls, calls: Int64s) -> list[int]:
    """Calls that do to another component what an earlier call of the step did."""
    calls = calls[np.argsort(moves.step[calls], kind="stable")]
    _, first, count = np.unique(moves.step[calls], return_index=True, return_counts=True)
    found: list[int] = []
    for at in np.flatnonzero(count > 1).tolist():
        found += _repeats_of_step(moves, calls[first[at] : first[at] + count[at]].tolist())
    return found


def _repeats_of_step(moves: MoveCalls, calls: list[int]) -> Iterator[int]:
    """The same among the calls of one step; only their lists are held."""
    done: dict[tuple[object, ...], set[object]] = {}
    for call in calls:
        lists = tuple(each[call].tobytes() if each.present[call] else None for each in (moves.src, moves.tgt))
        earlier = done.setdefault(lists, set())
        components = moves.columns.strings("components", call)
        if components is not None and earlier and components not in earlier:
            yield call
        earlier.add(components)
