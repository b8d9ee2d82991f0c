"""Which components of moved tokens (keys, values, scales, indexer keys, rows of a window) the mover's calls of a step bring along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from speckv_debug.model.process import MAIN, Pool
from speckv_debug.replay.columns import Columns, Texts
from speckv_debug.replay.launches import MoveLaunches
from speckv_debug.replay.moved_peers import FullPairs
from speckv_debug.replay.moved_windows import SEVERAL, SWA, UNRECORDED, MovedWindow, window_of
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask, any_per_list, mask
from speckv_debug.replay.searching import NEVER, beside_others
from speckv_debug.replay.writes import by_pool, reserved

INDEXER = "indexer"
CUT = "the step of the calls may have begun before the recording"
Part = tuple[str, str]
"""Pool and component."""


class MovedComponents:
    """One instance a step and pool in which an accept's mover calls bring a row to another slot.

    Due are the components that the pool declares, and those of an indexer's or a window's pool that has its ids: they belong
    to the same tokens, as do their rows in a window's pool with ids of its own. What is rebuilt instead (a draft pool) or
    can't hold a tree is not due. Calls of a window's pool are an instance of their own where none of the main one is.

    Attributes:
        call: The first of the calls.
        instance: Which instance each real pair belongs to.
    """

    reads = ("swa_map",)

    def __init__(self, launches: MoveLaunches, columns: Callable[[str], Columns], whole: bool) -> None:
        self.launches, self.moves = launches, launches.moves
        self._columns_of, self._whole = columns, whole
        moves, self.info = self.moves, self.moves.info
        windows = [pool for pool in self.info.pools if pool.kind == SWA and pool.allocated_by is None]
        self.bases = [pool for pool in self.info.pools if pool.kind == MAIN]
        self._mains = len(self.bases)
        self.bases += windows
        caller = moves.columns.texts("caller")
        self._base = np.where(caller.equal("accept") | ~caller.known, self._by_pool(self._base_of), -1)
        step = np.where(moves.step == NULL, NULL + 1 + np.arange(len(moves)), moves.step)
        self._real = self._chosen(step)
        self._owner = moves.src.owners[self._real]
        self.instance = numbered(np.stack([step[self._owner], self._base[self._owner]]))
        first = np.full(int(self.instance.max(initial=-1)) + 1, len(self._real), dtype=np.int64)
        np.minimum.at(first, self.instance, np.arange(len(self._real)))
        self.call = self._owner[first]
        self._sort()

    def __len__(self) -> int:
        return len(self.call)

    def place(self, index: int) -> Place:
        """The first call's place, with the request whose verify owns the first row left behind."""
        return self.launches.place_of_slot(int(self.call[index]), int(self._first_left[index]))

    @cached_property
    def pair(self) -> Int64s:
        """Numbers of each instance's pairs, the same in all its calls."""
        ends = self.moves.src.values[self._real], self.moves.tgt_of_src[self._real]
        return numbered(np.stack([self.instance, *ends]))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the first to the last call, and what the rows of a window rest on; where a pool's own call is missing, all of the
        step.
        """
        first, last = self.moves.seq[self.call], np.zeros(len(self), dtype=np.int64)
        np.maximum.at(last, self.instance, self.moves.seq[self._owner])
        return self.window.widened(self._around(self.lacking | self.alone, first, last))

    @cached_property
    def _begun(self) -> Mask:
        """Instances of whose step the recording holds the beginning: a call or verify of another one comes before."""
        if self._whole:
            return np.ones(len(self), dtype=np.bool_)
        return mask(self._others(self.moves.seq[self.call])[0] >= 0)

    def _around(self, which: Mask, first: Int64s, last: Int64s) -> tuple[Int64s, Int64s]:
        """The calls and verifies of other steps nearest to these instances; all that follows without one."""
        before, behind = self._others(first)[0], self._others(last)[1]
        begin, end = np.maximum(before, 0), np.minimum(behind, NEVER - 1)
        return np.where(which, begin, first), np.where(which, end, last)

    def _others(self, seq: Int64s) -> tuple[Int64s, Int64s]:
        """`seq` of the nearest calls and verifies of other steps before and behind a place of each instance."""
        verifies, moves = self.launches.relocations.verifies, self.moves
        seqs, steps = (
            np.concatenate(pair) for pair in ((verifies.seq, moves.seq), (verifies.step, moves.step))
        )
        return beside_others(seqs, steps, seq, moves.step[self.call])

    @cached_property
    def window(self) -> MovedWindow:
        """What is due of the rows of the window's pool."""
        windowed = window_of(self.info) is not None
        main = [windowed and base.name == self.info.main_pool for base in self.bases]
        mine = np.array([*main, False])[self._base[self._owner]]
        real, owner = self._real[mine], self._owner[mine]
        ends = self.moves.src.values[real], self.moves.tgt_of_src[real]
        pairs = FullPairs(self.instance[mine], *ends, self.moves.seq[owner], self.moves.step[owner])
        return MovedWindow(pairs, len(self), self.moves, self._columns_of, self._whole)

    @cached_property
    def alone(self) -> Mask:
        """Where rows of a window's pool are moved and those of the main pool, which they are the peers of, are not."""
        return mask(self._base[self.call] >= self._mains)

    @property
    def _ambiguous(self) -> Mask:
        """Where there are several windows' pools: whose slots the peers are is not said."""
        return mask((len(self.bases) - self._mains > 1) & ~self.alone)

    @cached_property
    def undeclared(self) -> Mask:
        """Where a pool does not say what components it has."""
        silent = [any(pool.components is None for pool in self._pools(base)) for base in self.bases]
        return mask(np.array([*silent, True])[self._base[self.call]])

    @cached_property
    def unnamed(self) -> Mask:
        """Where a call does not say what it moves."""
        silent = ~self._components[2][self._owner]
        return any_per_list(silent, self.instance, len(self))

    @property
    def stepless(self) -> Mask:
        """Calls that nothing ties to others of their batch."""
        return mask(self.moves.step[self.call] == NULL)

    @cached_property
    def lacking(self) -> Mask:
        """Where a due component of the instance's own slots stays behind for at least one pair."""
        found = np.zeros(len(self), dtype=np.bool_)
        for number, base in enumerate(self.bases):
            mine = self._base[self.call] == number
            for part in self.due(base):
                found |= mine & (self.moved(part) < self.total)
        return found

    @cached_property
    def failed(self) -> Mask:
        """Where a component surely stays behind: a call that is not there was not made only if all calls were recorded."""
        untold = self.undeclared | self.unnamed
        own = ((self.lacking & ~untold) | (self.alone & self._begun)) & self.info.records("move")
        return mask((own | self.window.lacking) & ~self.stepless)

    @cached_property
    def untold(self) -> dict[str, Mask]:
        """Reason → where what became of the rows is not known."""
        window, nowhere = self.window.untold, np.zeros(len(self), dtype=np.bool_)
        unrecorded = (self.lacking | self.alone) & (not self.info.records("move"))
        return {
            "the process line does not declare the pool's components": self.undeclared,
            "a mover call does not name its components": self.unnamed,
            "no step tells which calls move the same batch": self.stepless
            & (self.lacking | self.window.lacking | self.alone),
            CUT: self.alone & ~self._begun,
            SEVERAL: self._ambiguous,
            **window,
            UNRECORDED: mask(unrecorded | window.get(UNRECORDED, nowhere)),
        }

    @cached_property
    def _first_left(self) -> Int64s:
        """Target of each instance's first pair that its first lacking component leaves behind, -1 if none is."""
        found = np.full(len(self), -1, dtype=np.int64)
        for number, base in enumerate(self.bases):
            for part in self.due(base):
                behind = np.flatnonzero(~self._arrived(part) & (self._base[self._owner] == number))
                owners, first = np.unique(self.instance[behind], return_index=True)
                targets = self.moves.tgt_of_src[self._real[behind[first]]]
                found[owners] = np.where(found[owners] < 0, targets, found[owners])
        return np.where(found < 0, self.window.first_left, found)

    @cached_property
    def total(self) -> Int64s:
        """Distinct pairs of each instance."""
        return self._distinct(np.ones(len(self.pair), dtype=np.bool_))

    def moved(self, part: Part) -> Int64s:
        """How many of them each instance's calls of this component have."""
        return self._distinct(self._has(part)[self._owner])

    def due(self, base: Pool) -> Iterator[Part]:
        """What has to be moved for the tokens of a pool."""
        for pool in self._pools(base):
            yield from ((pool.name, component) for component in pool.components or ())

    def base(self, index: int) -> Pool:
        """The pool of an instance."""
        return self.bases[int(self._base[self.call[index]])]

    def left(self, index: int, part: Part) -> list[tuple[int, int]]:
        """(src, tgt) of an instance's pairs that no call of this component has."""
        flat = self._real[(self.instance == index) & ~self._arrived(part)].tolist()
        pairs = [(int(self.moves.src.values[i]), int(self.moves.tgt_of_src[i])) for i in flat]
        return list(dict.fromkeys(pairs))

    def _sort(self) -> None:
        """Number instances in the order of their first calls."""
        order = np.argsort(self.call, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        self.call, self.instance = self.call[order], rank[self.instance]

    def _distinct(self, counted: Mask) -> Int64s:
        first = np.unique(self.pair[counted], return_index=True)[1]
        owners = self.instance[counted][first]
        return np.bincount(owners, minlength=len(self))[: len(self)].astype(np.int64)

    def _arrived(self, part: Part) -> Mask:
        """Real pairs that some call of this component has."""
        arrived = np.zeros(int(self.pair.max(initial=-1)) + 1, dtype=np.bool_)
        arrived[self.pair[self._has(part)[self._owner]]] = True
        return mask(arrived[self.pair])

    def _has(self, part: Part) -> Mask:
        """Calls that move this component."""
        pool, component = part
        texts, owners, _ = self._components
        found = any_per_list(texts.equal(component), owners, len(self.moves))
        return mask(found & (self._by_pool({pool: 1}) == 1))

    @cached_property
    def _components(self) -> tuple[Texts, Int64s, Mask]:
        return self.moves.columns.text_lists("components")

    def _pools(self, base: Pool) -> list[Pool]:
        others = [p for p in self.info.pools if p.kind in (INDEXER, SWA) and p.allocated_by == base.name]
        return [base, *others]

    @property
    def _base_of(self) -> dict[str, int]:
        return {pool.name: i for i, base in enumerate(self.bases) for pool in self._pools(base)}

    def _by_pool(self, of: dict[str, int]) -> Int64s:
        return by_pool(self.moves.columns.texts("pool"), self.info, of, -1)

    def _chosen(self, step: Int64s) -> Int64s:
        """The pairs that take part: those of a window's pool where its step moves none of the main one."""
        real = np.flatnonzero(self._moving())
        owner = self.moves.src.owners[real]
        window = self._base[owner] >= self._mains
        return real[~window | ~np.isin(step[owner], step[owner[~window]])]

    def _moving(self) -> Mask:
        """Pairs of an accept's calls that take a row to another slot than the dummy."""
        moves, owners = self.moves, self.moves.src.owners
        dummy = self._by_pool({pool.name: reserved(pool) for pool in self.info.pools})[owners]
        tgt = moves.tgt_of_src
        return mask((self._base[owners] >= 0) & (moves.src.values != tgt) & (tgt >= dummy) & (tgt != NULL))
