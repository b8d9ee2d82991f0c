"""What rules look at: the instances of each kind in one process, column-wise, built once.

Each scope is a cached property of `ProcessView`; a rule names it in `@rule(scope=...)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

from speckv_debug.model.process import Process
from speckv_debug.recording.meaning import senseless
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.bounds import Bounds, Reserves
from speckv_debug.replay.chunk_tails import ChunkTails
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.compactions import Compactions
from speckv_debug.replay.components import MovedComponents
from speckv_debug.replay.continuity import Successions
from speckv_debug.replay.copied_tokens import CopiedTokens
from speckv_debug.replay.grants import Grants
from speckv_debug.replay.grouped_reads import GroupedForwards
from speckv_debug.replay.launches import MoveLaunches
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.lengths import Commits, LateCommits, Lengths
from speckv_debug.replay.move_contents import MoveContents
from speckv_debug.replay.moves import MoveCalls, Relocations
from speckv_debug.replay.ownership import EventFacts, Ownership, RequestEnds
from speckv_debug.replay.pairs import DuePairs, PairMatch
from speckv_debug.replay.pool_totals import PoolTotals
from speckv_debug.replay.publications import Publications
from speckv_debug.replay.rank_accepts import RankAccepts
from speckv_debug.replay.reaches import Reaches
from speckv_debug.replay.readers import NextReads
from speckv_debug.replay.reads import ForwardReads
from speckv_debug.replay.recompute import Kernels
from speckv_debug.replay.recomputed_pairs import RecomputedPairs
from speckv_debug.replay.repeats import Repeats
from speckv_debug.replay.replayed_accepts import ReplayedAccepts
from speckv_debug.replay.replayed_compactions import ReplayedCompactions
from speckv_debug.replay.replayed_moves import ReplayedMoves
from speckv_debug.replay.replayed_paths import ReplayedPaths
from speckv_debug.replay.replayed_reserves import ReplayedReserves
from speckv_debug.replay.replayed_slots import RecomputedSlots, ReplayedSlots
from speckv_debug.replay.replayed_states import ReplayedStates
from speckv_debug.replay.reuses import Reuses
from speckv_debug.replay.row_grants import RowGrants
from speckv_debug.replay.row_returns import RowReturns
from speckv_debug.replay.row_uses import RowUses
from speckv_debug.replay.session_trims import SessionTrims
from speckv_debug.replay.settlements import Settlements
from speckv_debug.replay.shadow_replay import ShadowReplay
from speckv_debug.replay.slot_events import DummyRows, RowReaches, SlotEvents
from speckv_debug.replay.state_view import StateScopes
from speckv_debug.replay.stored_tokens import StoredTokens
from speckv_debug.replay.stream import Stretches
from speckv_debug.replay.target_writes import TargetWrites
from speckv_debug.replay.tokens import Tokens
from speckv_debug.replay.united import United
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import ForwardWrites
from speckv_debug.replay.written_tokens import WrittenTokens

OF_PAIRS = frozenset({"relocations", "pair_match", "launches", "settlements", "replayed_moves"})
BESIDE = {
    "lengths": {
        "successions",
        "commits",
        "late_commits",
        "session_trims",
        "row_grants",
        "reuses",
        "bounds",
        "reserves",
        "growths",
        "replayed_reserves",
        "tokens",
        "evictions",
        "reaches",
    },
    "target_writes": {"tokens", "reaches"},
    "written_tokens": {"tokens"},
    "recomputed_slots": {"replayed_slots", "replayed_moves"},
    **dict.fromkeys(("relocations", "due_pairs", "pair_match", "settlements"), OF_PAIRS),
}
"""What scopes are made from, and the scopes that it is held for."""
__all__ = ["ProcessView", "Recording", "views"]


class ProcessView(StateScopes):
    """One recorded process as columns and scopes.

    Args:
        process: The process.
        device: Where replay runs its kernels, `cpu` or `cuda`.
        processes: All processes of the recording, for what is compared between ranks.

    Attributes:
        kept: Whether `keep` was called since it was made or forgot.
        pools: Table → the pools that its events name, where all of it has been looked at.
        senseless: Table → what in it has no meaning, see `senseless_in`, where all of it has been looked at.
    """

    def __init__(
        self, process: ProcessRecording, device: str = "cpu", processes: Sequence[ProcessRecording] = ()
    ) -> None:
        self.process, self.processes = process, processes or (process,)
        self.kernels = Kernels(device)
        self._columns: dict[str, Columns] = {}
        self.kept = False
        self.pools: Mapping[str, AbstractSet[str]] = {}
        self.senseless: Mapping[str, AbstractSet[tuple[str, str]]] = {}

    @property
    def info(self) -> Process:
        """What the process says of itself."""
        return self.process.info

    @property
    def label(self) -> str:
        """The process's label, such as `tp0-pp0-dp0-4711`."""
        return self.process.label

    @property
    def settings(self) -> Mapping[str, Any]:
        """The engine's settings, as recorded."""
        return self.process.info.settings

    def columns(self, table: str) -> Columns:
        """The columns of one event table, empty ones if there is none."""
        if table not in self._columns:
            self._columns[table] = Columns(self.process.table(table))
        return self._columns[table]

    def let_go(self, scope: str, needed: AbstractSet[str]) -> None:
        """Free what a scope holds, unless it is among those still needed; it is made again if it is asked for."""
        for name in (scope, *(made for made, users in BESIDE.items() if not needed & users)):
            if name not in needed:
                vars(self).pop(name, None)

    def keep(self, table: str, columns: Columns) -> None:
        """Look at these columns of a table from now on."""
        self._columns[table], self.kept = columns, True

    def forget(self) -> None:
        """Free all columns and scopes; they are made again if they are asked for."""
        process, processes, kernels = self.process, self.processes, self.kernels
        vars(self).clear()
        self.process, self.processes, self.kernels = process, processes, kernels
        self._columns, self.kept, self.pools, self.senseless = {}, False, {}, {}

    def senseless_in(self, table: str) -> AbstractSet[tuple[str, str]]:
        """Columns of a table that hold a value without a meaning, and what it is."""
        if table not in self.senseless:
            return frozenset(senseless(table, self.process.table(table)))
        return self.senseless[table]

    def close(self) -> None:
        """Free all memory now, for good: scopes refer to the view and to one another."""
        vars(self).clear()

    def pools_of(self, table: str) -> AbstractSet[str]:
        """The pools that the events of a table name."""
        if table not in self.pools and self.columns(table).has("pool"):
            return self.columns(table).texts("pool").used
        return self.pools.get(table, frozenset())

    @property
    def stepless(self) -> bool:
        """Whether no verify says its step: a recording may do without steps altogether."""
        return bool(self.columns("accept").absent("step").all())

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
        return ForwardReads(self.columns("forward"), self.verifies, self.info)

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
        return MovedComponents(self.launches)

    @cached_property
    def compactions(self) -> Compactions:
        """One instance a verify and a compaction of its step."""
        return Compactions(self.columns("compact"), self.verifies)

    @cached_property
    def settlements(self) -> Settlements:
        """One instance a verify: whether its accepted rows are in place before someone reads them."""
        return Settlements(self.columns, self.pair_match, NextReads(self.columns, self.verifies, self.info))

    @cached_property
    def lengths(self) -> Lengths:
        """Lengths over the lives of request rows; the scopes below pick from it."""
        return Lengths(self.columns, self.info, lambda: self.verifies)

    @cached_property
    def successions(self) -> Successions:
        """One instance a verify, with the one before it."""
        return Successions(self.lengths)

    @cached_property
    def target_writes(self) -> TargetWrites:
        """One instance a verify, and a row of an extend or plain decode; the two scopes below look at them."""
        return TargetWrites(self.lengths)

    @cached_property
    def written_tokens(self) -> WrittenTokens:
        """One instance a verify, and a row of an extend or plain decode, with the token that was handed on to it."""
        return WrittenTokens(self.target_writes)

    @cached_property
    def tokens(self) -> Tokens:
        """One instance a verify, an extend or plain decode of the target, and a forward whose tokens follow from others."""
        copied = CopiedTokens(self.columns("forward"), self.verifies, self.info)
        return Tokens(self.written_tokens, StoredTokens(copied), ChunkTails(self.target_writes))

    @cached_property
    def reaches(self) -> Reaches:
        """One instance a verify, and a row of an extend or plain decode, with the length that was allocated then."""
        return Reaches(self.target_writes)

    @cached_property
    def session_trims(self) -> SessionTrims:
        """One instance a trim of a session's row, with the lengths behind it."""
        return SessionTrims(self.lengths)

    @cached_property
    def row_grants(self) -> United:
        """One instance a request row that is handed out or taken back, a life that uses one, and an end of a life."""
        missing_head = bool(self.process.missing_head)
        uses = RowUses(self.lengths, missing_head)
        return United(RowGrants(self.lengths, missing_head), uses, RowReturns(self.lengths))

    @cached_property
    def reuses(self) -> Reuses:
        """One instance a grant of pages that others held before."""
        return Reuses(self.lengths)

    @cached_property
    def commits(self) -> Commits:
        """One instance a commit of a verify's result, with its accept."""
        return Commits(self.lengths)

    @cached_property
    def late_commits(self) -> LateCommits:
        """One instance a commit, with the end of its request."""
        return LateCommits(self.lengths)

    @cached_property
    def bounds(self) -> United:
        """One instance a report of committed and allocated length, and one a report that has to repeat the one before it."""
        return United(Bounds(self.lengths), Repeats(self.lengths))

    @cached_property
    def growths(self) -> United:
        """One instance a decode preparation, and one a grant to a request row."""
        return United(self.reserves, Grants(self.lengths))

    @cached_property
    def reserves(self) -> Reserves:
        """One instance a decode preparation that decides how far a row grows."""
        return Reserves(self.lengths)

    @cached_property
    def shadow(self) -> ShadowReplay:
        """One instance a forward that reads a committed prefix, in a shadow cache of identities."""
        lives, device = self.lengths.lives, self.kernels.device
        facts = (self.columns, self.verifies, self.moves, lives, self.info)
        return ShadowReplay(*facts, self.replayed_paths.rows, device)

    @cached_property
    def stretches(self) -> Stretches:
        """One instance a stretch of events without a hole."""
        cut_off = any(problem.kind == "missing_end" for problem in self.process.problems)
        return Stretches(self.process.gaps(), self.process.present, self.columns, cut_off)

    @cached_property
    def ownership(self) -> Ownership:
        """The ledger at the end of the recording, with the facts that the ownership laws judge."""
        return Ownership(Ledger.fold(self.process, columns=self.columns))

    @cached_property
    def pool_totals(self) -> PoolTotals:
        """One instance a settled point at which the engine counted the main pool."""
        return PoolTotals(self.ownership.ledger)

    @cached_property
    def publications(self) -> Publications:
        """One instance a node of the prefix tree that takes slots."""
        return Publications(self.ownership.ledger)

    @cached_property
    def replayed_paths(self) -> ReplayedPaths:
        """The accepted path of each verify that the scopes below replay from."""
        return ReplayedPaths(self.verifies, lambda: self.replayed_accepts.recomputed)

    @cached_property
    def recomputed_slots(self) -> RecomputedSlots:
        """The slots of each verify's rows, out of its request row."""
        spaces = self.lengths.namespaces
        return RecomputedSlots(self.verifies, self.columns("table_write"), spaces, self.kernels)

    @cached_property
    def replayed_slots(self) -> ReplayedSlots:
        """One instance a verify: its slots beside those that its request row gives."""
        return ReplayedSlots(self.recomputed_slots)

    @cached_property
    def replayed_moves(self) -> ReplayedMoves:
        """One instance a verify: what has to be moved beside what the calls of its step move."""
        due = RecomputedPairs(self.replayed_paths, self.recomputed_slots)
        return ReplayedMoves(due, self.relocations, self.settlements)

    @cached_property
    def replayed_compactions(self) -> ReplayedCompactions:
        """One instance a verify and a compaction of its step, done again."""
        return ReplayedCompactions(self.compactions, self.replayed_paths, self.kernels)

    @cached_property
    def replayed_reserves(self) -> ReplayedReserves:
        """One instance a decode preparation and a release, computed again."""
        spaces = self.lengths.namespaces
        return ReplayedReserves(self.reserves, self.columns, spaces, lambda: self.ownership)

    @cached_property
    def replayed_states(self) -> ReplayedStates:
        """One instance a clear of a compressor ring and a commit of recurrent state, done again."""
        return ReplayedStates(self.columns, self.replayed_paths, self.info, self.kernels)

    @cached_property
    def replayed_accepts(self) -> ReplayedAccepts:
        """One instance a verify: its result beside what the kernels make of its inputs."""
        return ReplayedAccepts(self.verifies, self.kernels)

    @property
    def frees(self) -> EventFacts:
        """One instance a free."""
        return self.ownership.frees

    @property
    def reclaims(self) -> EventFacts:
        """One instance a free of the main pool and a release."""
        return self.ownership.reclaims

    @property
    def holds(self) -> EventFacts:
        """One instance a grant of slots and a write into a request row."""
        return self.ownership.holds

    @property
    def uses(self) -> EventFacts:
        """One instance a forward, an accept, and a use by the tree or a session."""
        return self.ownership.uses

    @property
    def overwrites(self) -> EventFacts:
        """One instance a write over entries of a running request's row."""
        return self.ownership.overwrites

    @property
    def writers(self) -> EventFacts:
        """One instance a forward and an accept that writes slots."""
        return self.ownership.writers

    @property
    def request_ends(self) -> RequestEnds:
        """One instance an end of a request's hold."""
        return self.ownership.ends


def views(recording: Recording, device: str = "cpu") -> tuple[ProcessView, ...]:
    """A view of each process, in the recording's order; replay runs its kernels on `device`."""
    return tuple(ProcessView(process, device, recording.processes) for process in recording.processes)
