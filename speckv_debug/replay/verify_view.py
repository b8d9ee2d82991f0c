"""What rules look at of verifies: accepted rows, where they are written and read, and what is moved for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.compactions import Compactions
from speckv_debug.replay.components import MovedComponents
from speckv_debug.replay.grouped_reads import GroupedForwards
from speckv_debug.replay.launches import MoveLaunches
from speckv_debug.replay.move_contents import MoveContents
from speckv_debug.replay.moves import MoveCalls, Relocations
from speckv_debug.replay.pairs import DuePairs, PairMatch
from speckv_debug.replay.ragged import Int64s
from speckv_debug.replay.rank_accepts import RankAccepts
from speckv_debug.replay.readers import NextReads
from speckv_debug.replay.reads import ForwardReads, verify_of
from speckv_debug.replay.scopes import Scopes
from speckv_debug.replay.settlements import Settlements
from speckv_debug.replay.slot_events import DummyRows, RowReaches, SlotEvents
from speckv_debug.replay.stray_calls import StrayCalls
from speckv_debug.replay.told_whole import unanswered
from speckv_debug.replay.united import United
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import ForwardWrites


class VerifyScopes(Scopes):
    """Scopes of `ProcessView`, one cached property each."""

    processes: Sequence[ProcessRecording]

    @cached_property
    def verifies(self) -> VerifyBatch:
        """One instance a request and target verify."""
        return VerifyBatch(self.columns("accept"), self.info)

    @cached_property
    def rank_accepts(self) -> RankAccepts:
        """One instance a verify that another rank took part in."""
        return RankAccepts(self.verifies, self.processes)

    @cached_property
    def moves(self) -> MoveCalls:
        """One instance a call of a pool's mover."""
        return MoveCalls(self.columns("move"), self.info)

    @cached_property
    def relocations(self) -> Relocations:
        """One instance a verify and a mover call of its step."""
        return Relocations(self.verifies, self.moves)

    @cached_property
    def writes(self) -> ForwardWrites:
        """One instance a request's rows in one forward, pads left out."""
        return ForwardWrites(self.columns("forward"), self.verifies, self.info)

    @cached_property
    def grouped_forwards(self) -> GroupedForwards:
        """One instance a request's rows in one forward, where there are tables of several KV groups."""
        return GroupedForwards(self.columns, self.info)

    @cached_property
    def forward_reads(self) -> ForwardReads:
        """One instance a row of a forward that says how far it reads, or which positions it drafts."""
        return ForwardReads(self.columns("forward"), self.verifies, self.info, self.accept_of_forward)

    @cached_property
    def accept_of_forward(self) -> Int64s:
        """For each row of `forward` the verify of its step and request row, -1 if there is none."""
        return verify_of(self.columns("forward"), self.verifies)

    @cached_property
    def unanswered(self) -> Int64s:
        """`seq` of the target's verifies of which the recording has no accept."""
        return unanswered(self.columns("forward"), self.accept_of_forward, self.info)

    @cached_property
    def slot_events(self) -> SlotEvents:
        """One instance an event that names slots."""
        return SlotEvents(self.columns, self.verifies, self.info)

    @cached_property
    def dummy_rows(self) -> DummyRows:
        """One instance a row of a forward or verify that only pads the batch."""
        first = 0 if self.process.missing_head else None
        return DummyRows(self.columns, self.verifies, self.info, first)

    @cached_property
    def row_reaches(self) -> RowReaches:
        """One instance an event that says how far a request row is used."""
        return RowReaches(self.columns, self.verifies, self.info)

    @cached_property
    def due_pairs(self) -> DuePairs:
        """Source and target slot of each accepted row."""
        return DuePairs(self.verifies)

    @cached_property
    def pair_match(self) -> PairMatch:
        """One instance a verify and a mover call of its step: what is due beside what the engine passed."""
        return PairMatch(self.due_pairs, self.relocations)

    @cached_property
    def moved_pairs(self) -> United:
        """The same, and one instance a mover call for accepts of which there are none in its step."""
        return United(self.pair_match, StrayCalls(self.relocations))

    @cached_property
    def launches(self) -> MoveLaunches:
        """One instance a mover call, as a sequential copy."""
        return MoveLaunches(self.moves, self.relocations)

    @cached_property
    def move_contents(self) -> MoveContents:
        """One instance a mover call: what was to arrive beside what arrived."""
        return MoveContents(self.launches)

    @cached_property
    def moved_components(self) -> MovedComponents:
        """One instance a step and pool in which an accept's calls move something."""
        return MovedComponents(self.launches, self.columns, self._from_start)

    @cached_property
    def compactions(self) -> Compactions:
        """One instance a verify and a compaction of its step."""
        return Compactions(self.columns("compact"), self.verifies)

    @cached_property
    def settlements(self) -> Settlements:
        """One instance a verify: whether its accepted rows are in place before someone reads them."""
        return Settlements(self.columns, self.pair_match, NextReads(self.columns, self.verifies, self.info))
