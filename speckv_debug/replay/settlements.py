"""Whether accepted rows that are not in place are moved, and compacted, before someone reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.pairs import PairMatch
from speckv_debug.replay.places import Place, place_at
from speckv_debug.replay.ragged import NULL, Int64s, Mask, any_per_list, frozen, mask
from speckv_debug.replay.readers import END, NextReads

Pairs = list[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """What one verify still lacks when `reader` (a `seq`, END if nobody reads) comes.

    `unmoved` are (k, source, target), `uncompacted` names of tensors.
    """

    reader: int
    unmoved: tuple[tuple[int, int, int], ...] = ()
    uncompacted: tuple[str, ...] = ()


class Settlements:
    """One instance a verify."""

    reads = ("accept", "move", "compact", "table_write")
    columns_from = ("forward", "cache", "row_free")
    rests_on: Mapping[str, tuple[str, ...]] = {"move": ("src", "tgt"), "compact": ("step", "tensor")}

    def __init__(self, columns: Callable[[str], Columns], match: PairMatch, readers: NextReads) -> None:
        self._columns, self._match, self._readers = columns, match, readers
        self.verifies = match.relocations.verifies

    def __len__(self) -> int:
        return len(self.verifies)

    def place(self, index: int) -> Place:
        """The verify's place; where something is lacking, at the `seq` of the reader that meets it."""
        place, lacking = self.verifies.place(index), self.unsettled.get(index)
        return place if lacking is None or lacking.reader == END else place_at(place, lacking.reader)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """The verify alone where nothing lacks, up to the reader where something does."""
        last = self.verifies.seq.copy()
        for index, lacking in self.unsettled.items():
            last[index] = lacking.reader
        return self.verifies.seq, last

    @cached_property
    def moving(self) -> Mask:
        """Verifies with an accepted row that is not in place."""
        due = self._match.due
        if not self.verifies.plain:
            return any_per_list(due.moving, due.owners, len(self))
        from speckv_debug.replay.paths_compiled import rows_moving

        lists = (self.verifies.ragged(name) for name in ("out_cache_loc", "table_slots"))
        parts = (frozen(part) for each in lists for part in (each.values, each.offsets))
        return mask(rows_moving(*self.verifies.plain_paths, *parts))

    @cached_property
    def unsettled(self) -> dict[int, Unsettled]:
        """What is lacking, for each verify that lacks something."""
        found = {i: self._lacking(i) for i in self.suspects.tolist() if not self.verifies.padding[i]}
        return {i: lacking for i, lacking in found.items() if lacking.unmoved or lacking.uncompacted}

    @cached_property
    def suspects(self) -> Int64s:
        """Verifies with a row that is not in place and of which the step's calls don't show at once that it moves."""
        return np.flatnonzero(self.moving & ~(self._moved & self._compacted))

    @property
    def tensors(self) -> frozenset[str]:
        """Tensors of which a compaction is due."""
        return frozenset(self._compacted_steps)

    @property
    def _moved(self) -> Mask:
        """Verifies whose whole list a call of their step has, before the row is read again."""
        relocations, moved = self._match.relocations, np.zeros(len(self), dtype=np.bool_)
        in_time = relocations.moves.seq[relocations.call] < self._readers.forward[relocations.verify]
        moved[relocations.verify[self._match.in_order & in_time]] = True
        return moved

    @property
    def _compacted(self) -> Mask:
        done = np.ones(len(self), dtype=np.bool_)
        for steps in self._compacted_steps.values():
            done &= np.isin(self.verifies.step, steps) | (self.verifies.step == NULL)
        return done

    @cached_property
    def _compacted_steps(self) -> dict[str, Int64s]:
        """Tensor → steps in which it was compacted, for the tensors that this engine compacts and records.

        Absence is evidence only for what `tables` lists. The predictions are due wherever trees are; any other tensor,
        and the predictions of an engine outside the EAGLE family, only where it was seen at all (hidden states may be
        absent; NGRAM gathers).
        """
        compact, info = self._columns("compact"), self.verifies.info
        tensors = {name for name in compact.texts("tensor").names if info.records("compact", name)}
        eagle = self.verifies.of("algorithm", "eagle", "eagle3", "nextn", "standalone", "frozen_kv_mtp")
        if info.records("compact", "predict") and eagle.any():
            tensors.add("predict")
        step = compact.ints("step")
        return {name: step[compact.texts("tensor").equal(name)] for name in sorted(tensors)}

    def _lacking(self, index: int) -> Unsettled:
        reader = self._readers.first(index)
        seq, step = int(self.verifies.seq[index]), int(self.verifies.step[index])
        own, others = self._pairs_between(index, seq, reader, step)
        unmoved = [pair for pair in self._due(index) if not self._moved_by(index, pair, own, others)]
        if unmoved:
            remapped = self._remapped(index, seq, reader)
            start = int(self.verifies.seq_len[index])
            unmoved = [(k, s, t) for k, s, t in unmoved if remapped.get(start + k) != s]
        uncompacted = [
            name for name, steps in self._compacted_steps.items() if step != NULL and step not in steps
        ]
        if uncompacted and not unmoved:
            reader = min(reader, self._readers.storing(index))
        return Unsettled(reader=reader, unmoved=tuple(unmoved), uncompacted=tuple(uncompacted))

    def _due(self, index: int) -> list[tuple[int, int, int]]:
        """(k, source, target) of each row that is not in place."""
        due, offsets = self._match.due, self.verifies.path.offsets
        pairs = np.arange(offsets[index], offsets[index + 1])
        pairs = pairs[due.moving[pairs]]
        return list(
            zip(due.k[pairs].tolist(), due.source[pairs].tolist(), due.target[pairs].tolist(), strict=True)
        )

    def _pairs_between(self, index: int, seq: int, reader: int, step: int) -> tuple[Pairs, Pairs]:
        """Pairs of all calls of the verify's own step, or after it, before the reader: of those that MOV-PAIR judges for
        this verify, and of the others.
        """
        relocations, moves = self._match.relocations, self._match.relocations.moves
        near = (moves.seq > seq) | ((moves.step == step) & (moves.step != NULL))
        calls = np.flatnonzero(moves.of_accept & near & (moves.seq < reader))
        judged = np.isin(calls, relocations.call[relocations.verify == index])
        own, others = (
            [pair for call in some.tolist() for pair in moves.pairs(call)]
            for some in (calls[judged], calls[~judged])
        )
        return own, others

    def _moved_by(self, index: int, due: tuple[int, int, int], own: Pairs, others: Pairs) -> bool:
        """Whether a call that is judged by itself deals with the row, or another one moves it where it is due."""
        k, source, target = due
        window = self._match.relocations.verifies.ragged("out_cache_loc")[index]
        return _touched((source, target), own) or any(
            s == source and t in (target, int(window[k])) for s, t in others
        )

    def _remapped(self, index: int, seq: int, reader: int) -> dict[int, int]:
        """Position → slot that was written into the request row since: data may stay where the table follows it."""
        writes, found = self._columns("table_write"), {}
        pool, epoch, own = writes.texts("pool"), writes.ints("epoch"), self.verifies.epoch[index]
        mine = (writes.ints("row") == self.verifies.row[index]) & (
            (epoch == own) | (epoch == NULL) | (own == NULL)
        )
        mine &= ~pool.known | pool.equal(Namespaces(self.verifies.info).main_name)
        inside = (writes.ints("seq") > seq) & (writes.ints("seq") < reader)
        for write in np.flatnonzero(inside & mine).tolist():
            start = int(writes.ints("start")[write])
            found.update({start + j: slot for j, slot in enumerate(writes.lists("slots")[write].tolist())})
        return found


def _touched(pair: tuple[int, int], passed: Pairs) -> bool:
    """Whether a call dealt with the row, rightly or not: its source, its target, or the two exchanged."""
    source, target = pair
    return any(s == source or t == target or (s == target and t == source) for s, t in passed)
