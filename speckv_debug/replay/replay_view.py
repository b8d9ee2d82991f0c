"""What rules look at of recorded inputs that went through the kernels, beside what was recorded of them."""

from __future__ import annotations

from functools import cached_property

from speckv_debug.replay.ledger_view import LedgerScopes
from speckv_debug.replay.length_view import LengthScopes
from speckv_debug.replay.recompute import Kernels
from speckv_debug.replay.recomputed_pairs import RecomputedPairs
from speckv_debug.replay.replayed_accepts import ReplayedAccepts
from speckv_debug.replay.replayed_compactions import ReplayedCompactions
from speckv_debug.replay.replayed_moves import ReplayedMoves
from speckv_debug.replay.replayed_paths import ReplayedPaths
from speckv_debug.replay.replayed_reserves import ReplayedReserves
from speckv_debug.replay.replayed_slots import RecomputedSlots, ReplayedSlots
from speckv_debug.replay.replayed_states import ReplayedStates
from speckv_debug.replay.shadow_replay import ShadowReplay


class ReplayScopes(LengthScopes, LedgerScopes):
    """Scopes of `ProcessView`, one cached property each."""

    kernels: Kernels

    @cached_property
    def shadow(self) -> ShadowReplay:
        """One instance a forward that reads a committed prefix, in a shadow cache of identities."""
        lives, device = self.lengths.lives, self.kernels.device
        facts = (self.columns, self.verifies, self.moves, lives, self.info)
        return ShadowReplay(*facts, self.replayed_paths.rows, device)

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
