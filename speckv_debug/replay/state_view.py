"""What rules look at beside the KV itself: state in rings and windows, and pages that are kept by references."""

from __future__ import annotations

from functools import cached_property

from speckv_debug.replay.clears import RingClears
from speckv_debug.replay.draft_reads import DraftReads
from speckv_debug.replay.evictions import WindowEvictions
from speckv_debug.replay.length_view import LengthScopes
from speckv_debug.replay.page_refs import PageRefs
from speckv_debug.replay.peers import PeerMaps
from speckv_debug.replay.recurrent import RecurrentState
from speckv_debug.replay.ring_reads import RingReads


class StateScopes(LengthScopes):
    """Scopes of `ProcessView`, one cached property each."""

    @cached_property
    def ring_clears(self) -> RingClears:
        """One instance a clear of a C128 compressor ring."""
        return RingClears(self.columns("state_clear"), lambda: self.verifies, self.info)

    @cached_property
    def ring_reads(self) -> RingReads:
        """One instance a read or write of compressor state in a ring."""
        return RingReads(self.columns, lambda: self.verifies, self.info, self._from_start)

    @cached_property
    def evictions(self) -> WindowEvictions:
        """One instance a report of how far the slots behind the window are evicted."""
        return WindowEvictions(self.lengths)

    @cached_property
    def peer_maps(self) -> PeerMaps:
        """One instance a change of the full→SWA mapping, a grant, and a total of the window's pool."""
        return PeerMaps(self.columns, self.info, self._from_start)

    @cached_property
    def page_refs(self) -> PageRefs:
        """One instance a change of references to counted pages, and what the allocator and the sidecar rows do with them."""
        return PageRefs(self.columns, self.info, self._from_start)

    @cached_property
    def recurrent_state(self) -> RecurrentState:
        """One instance a commit of recurrent state, a verify that a request goes on from, and a hit of a tracked state."""
        return RecurrentState(self.columns, lambda: self.verifies, self.info, self._from_start)

    @cached_property
    def draft_reads(self) -> DraftReads:
        """One instance a forward of the drafter that reads a request's past."""
        return DraftReads(self.columns, self.info)
