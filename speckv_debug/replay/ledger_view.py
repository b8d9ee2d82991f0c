"""What rules look at of who holds which page: the ledger, and what it noticed."""

from __future__ import annotations

from functools import cached_property

from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ownership import EventFacts, Ownership, RequestEnds
from speckv_debug.replay.pool_totals import PoolTotals
from speckv_debug.replay.publications import Publications
from speckv_debug.replay.scopes import Scopes


class LedgerScopes(Scopes):
    """Scopes of `ProcessView`, one cached property each."""

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
