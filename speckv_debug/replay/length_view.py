"""What rules look at of the lives of request rows: lengths, tokens, growth, trims and ends."""

from __future__ import annotations

from functools import cached_property

from speckv_debug.replay.bounds import Bounds, Reserves
from speckv_debug.replay.chunk_tails import ChunkTails
from speckv_debug.replay.continuity import Successions
from speckv_debug.replay.copied_tokens import CopiedTokens
from speckv_debug.replay.grants import Grants
from speckv_debug.replay.lengths import Commits, LateCommits, Lengths
from speckv_debug.replay.pool_commits import PoolCommits
from speckv_debug.replay.reaches import Reaches
from speckv_debug.replay.repeats import Repeats
from speckv_debug.replay.reuses import Reuses
from speckv_debug.replay.row_grants import RowGrants
from speckv_debug.replay.row_returns import RowReturns
from speckv_debug.replay.row_reuses import RowReuses
from speckv_debug.replay.row_uses import RowUses
from speckv_debug.replay.session_trims import SessionTrims
from speckv_debug.replay.stored_tokens import StoredTokens
from speckv_debug.replay.target_writes import TargetWrites
from speckv_debug.replay.tokens import Tokens
from speckv_debug.replay.uncomputed import Uncomputed
from speckv_debug.replay.united import United
from speckv_debug.replay.verify_view import VerifyScopes
from speckv_debug.replay.written_tokens import WrittenTokens


class LengthScopes(VerifyScopes):
    """Scopes of `ProcessView`, one cached property each."""

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
        """One instance a verify, an extend or plain decode of the target, a forward whose tokens follow from others, and a
        verify that no forward computed."""
        copied = CopiedTokens(self.columns("forward"), self.verifies, self.info)
        writes = self.target_writes
        return Tokens(self.written_tokens, StoredTokens(copied), ChunkTails(writes), Uncomputed(writes))

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
    def reuses(self) -> United:
        """One instance a grant of pages that others held before, and one a row that another life ran in before."""
        pages = Reuses(self.lengths)
        return United(pages, RowReuses(self.lengths, timed=pages.timed))

    @cached_property
    def commits(self) -> United:
        """One instance a commit of a verify's result, with its accept: in the main pool, and in pools beside it."""
        return United(Commits(self.lengths), PoolCommits(self.lengths))

    @cached_property
    def late_commits(self) -> LateCommits:
        """One instance a commit, with the end of its request."""
        return LateCommits(self.lengths)

    @cached_property
    def bounds(self) -> United:
        """One instance a report of committed and allocated length of any pool, and one a report that has to repeat the one before it."""
        return United(Bounds(self.lengths), Repeats(self.lengths))

    @cached_property
    def growths(self) -> United:
        """One instance a decode preparation, and one a grant to a request row."""
        return United(self.reserves, Grants(self.lengths))

    @cached_property
    def reserves(self) -> Reserves:
        """One instance a decode preparation that decides how far a row grows."""
        return Reserves(self.lengths)
