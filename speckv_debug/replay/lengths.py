"""What the length laws look at: commits, bounds, reserves and verifies, each with what it is measured by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.engine_version import may_preclaim, preclaims
from speckv_debug.replay.lives import NEVER, Lives
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.not_said import not_said
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask
from speckv_debug.replay.step_keys import StepKeys, last_with
from speckv_debug.replay.verifies import VerifyBatch

GetColumns = Callable[[str], Columns]
ENDINGS = ("finish", "retract")


class Lengths:
    """The tables that length laws need, and the lives of the rows that they name."""

    def __init__(self, columns: GetColumns, info: Process, verifies: Callable[[], VerifyBatch]) -> None:
        self.columns, self.info = columns, info
        self.namespaces = Namespaces(info)
        self._verifies = verifies

    @cached_property
    def lives(self) -> Lives:
        """The lives of request rows, by all tables that name one."""
        return Lives(self.columns)

    @property
    def verifies(self) -> VerifyBatch:
        """The accept events as columns."""
        return self._verifies()

    @cached_property
    def main(self) -> Mask:
        """`lengths` events of the pool that req_to_token draws from."""
        pool = self.columns("lengths").texts("pool")
        return ~pool.known | pool.equal(self.namespaces.main_name)

    def previous(self, seq: Int64s, lives: Int64s) -> Int64s:
        """The latest `lengths` event of each life before `seq`, -1 if none."""
        return self.lives.before("lengths", seq, lives, self.main)

    def previous_of(self, causes: tuple[str, ...], seq: Int64s, lives: Int64s) -> Int64s:
        """The latest of them with one of these causes, -1 if none."""
        which = self.columns("lengths").texts("cause").equal(*causes) & self.main
        return self.lives.before("lengths", seq, lives, which)


class Picked:
    """Some events of one table, in its order."""

    columns_from: tuple[str, ...] = ("accept", "lengths", "release", "row_alloc", "row_free")
    rests_on: Mapping[str, tuple[str, ...]] = {
        "accept": ("row", "epoch"),
        "lengths": ("row", "epoch", "cause"),
        "release": ("row", "epoch", "kind"),
        "row_free": ("row", "epoch"),
    }

    def __init__(self, lengths: Lengths, table: str, which: Mask) -> None:
        self.lengths, self.table, self.info = lengths, table, lengths.info
        self.columns = lengths.columns(table)
        self.index = np.flatnonzero(which).astype(np.int64)
        self.life = lengths.lives.of(table)[self.index]

    def __len__(self) -> int:
        return len(self.index)

    @property
    def seq(self) -> Int64s:
        """Of each event."""
        return self.ints("seq")

    def place(self, index: int) -> Place:
        """Where the event stands."""
        return place_of(self.columns, int(self.index[index]))

    def ints(self, name: str) -> Int64s:
        """A column of the table, for the picked events."""
        return self.columns.ints(name)[self.index]

    @cached_property
    def end(self) -> Int64s:
        """`seq` at which the life of each event ended, NEVER if it did not."""
        return _taken(self.lengths.lives.end, self.life, NEVER)


class Commits(Picked):
    """One instance a `lengths` event that commits the result of a verify, of a request that still runs.

    Attributes:
        accept: The accept of the same step and life, -1 if there is none.
        before: The life's previous `lengths` event, -1 if there is none.
    """

    rests_on: Mapping[str, tuple[str, ...]] = {
        **Picked.rests_on,
        "lengths": ("row", "epoch", "cause", "step"),
    }

    def __init__(self, lengths: Lengths) -> None:
        table = lengths.columns("lengths")
        lives = lengths.lives
        ended = table.ints("seq") > _taken(lives.end, lives.of("lengths"), NEVER)
        super().__init__(
            lengths, "lengths", table.texts("cause").equal("verify_commit") & lengths.main & ~ended
        )
        self.before = lengths.previous(self.ints("seq"), self.life)
        self.accept = accepts_of(self)
        self.not_said = not_said("lengths", table, "cause", which=lengths.main & ~ended)

    @property
    def looks_further(self) -> Mask:
        """What a window of the process may not hold all of: the accept may be elsewhere, or a bonus that was claimed."""
        lacking = (self.life >= 0) & (self.ints("step") != NULL) & (self.accept < 0)
        apart = self.repeated | self.apart
        return np.asarray(lacking | preclaims(self.info) | (self.passed_over >= 0) | apart)

    @cached_property
    def unverified(self) -> Mask:
        """Commits that add to the length, of a step whose accept is not in a recording that has all of them."""
        told, seen = self.lengths.columns("accept"), self.info.from_start and self.info.records("accept")
        whole = seen and len(told) > 0 and not told.absent("step").any()
        lacking = (self.life >= 0) & (self.ints("step") != NULL) & (self.accept < 0)
        now, before = self.ints("committed"), self.committed_before
        return np.asarray(
            lacking & whole & (now != NULL) & (before != NULL) & (now != before), dtype=np.bool_
        )

    @cached_property
    def passed_over(self) -> Int64s:
        """The accept before each commit's own that no commit of the life is about, -1 if there is none.

        Results are committed in the order of their steps: whoever commits a later one has run on. The verify that is in
        flight while a session's turn ends is of no account, nor is one before a prefill.
        """
        accepts, verifies = self.lengths.columns("accept"), self.lengths.verifies
        seq, step = (np.append(accepts.ints(name), NULL) for name in ("seq", "step"))
        earlier = self.lengths.lives.before("accept", seq[self.accept], self.life, ~verifies.padding)
        done = np.zeros(len(accepts) + 1, dtype=np.bool_)
        done[self.accept] = True
        own = np.append(verifies.accepted, NULL)[earlier]
        behind = (step[earlier] != NULL) & (step[earlier] < step[self.accept]) & (own != NULL) & (own > 0)
        found = (self.accept >= 0) & (earlier >= 0) & ~done[earlier] & behind & self.info.records("lengths")
        return np.where(found & (self._began_anew < seq[earlier]), earlier, -1)

    @cached_property
    def repeated(self) -> Mask:
        """Commits that add to the length, of an accept whose result an earlier commit of the life has added."""
        known = np.flatnonzero(self.accept >= 0)
        order = known[np.lexsort((self.seq[known], self.accept[known]))]
        found = np.zeros(len(self), dtype=np.bool_)
        found[order[1:]] = self.accept[order[1:]] == self.accept[order[:-1]]
        now, before = self.ints("committed"), self.committed_before
        return np.asarray(found & (now != NULL) & (before != NULL) & (now != before))

    @cached_property
    def ahead(self) -> Int64s:
        """How far the committed length is past where the verify ended (below 0: short of it); NULL if unknown."""
        verifies, n = self.lengths.verifies, self.lengths.verifies.accepted
        known = (verifies.seq_len != NULL) & (n != NULL) & ~verifies.of("algorithm", "uno")
        end = self._of_accept(np.where(known, verifies.seq_len + np.where(known, n, 0), NULL))
        now = self.ints("committed")
        return np.where((end == NULL) | (now == NULL), NULL, now - end)

    @cached_property
    def apart(self) -> Mask:
        """Commits with which the committed length leaves that of the device: not those that go on from such a one.

        A life of which the output was cut before has left it already; one that was met halfway may have.
        """
        which = self.columns.texts("cut").known & self.lengths.main
        was_cut = self.lengths.lives.before("lengths", self.seq, self.life, which) >= 0
        place = np.full(len(self.columns) + 1, -1, dtype=np.int64)
        place[self.index] = np.arange(len(self))
        committing = self.columns.texts("cause").equal("verify_commit") & self.lengths.main
        last = place[self.lengths.lives.before("lengths", self.seq, self.life, committing)]
        earlier = np.where(last < 0, 0, self.ahead[last]) if len(self) else self.ahead
        kept = (self.ahead == NULL) | (self.ahead == 0) | (self.cut & (self.ahead < 0))
        told = self.info.from_start and self.info.records("lengths") and not may_preclaim(self.info)
        return np.asarray(
            told
            & ~kept
            & ~was_cut
            & (self.ahead != earlier)
            & (earlier != NULL)
            & (self.committed_before != NULL)
        )

    @property
    def _began_anew(self) -> Int64s:
        """`seq` of the last event before each commit that ends a turn, or that changes the length but for verifies."""
        told, releases = self.columns, self.lengths.columns("release")
        usual = told.texts("cause").equal("spec_prepare", "verify_commit")
        turned = self.lengths.lives.before("lengths", self.seq, self.life, ~usual & self.lengths.main)
        released = self.lengths.lives.before("release", self.seq, self.life)
        latest = np.append(told.ints("seq"), -1)[turned], np.append(releases.ints("seq"), -1)[released]
        return np.asarray(np.maximum(*latest), dtype=np.int64)

    @cached_property
    def accept_len(self) -> Int64s:
        """n of the verify, NULL if unknown."""
        return self._of_accept(self.lengths.verifies.accepted)

    @cached_property
    def new_seq_len(self) -> Int64s:
        """Length that the verify published, NULL if unknown."""
        verifies, n = self.lengths.verifies, self.lengths.verifies.accepted
        told = np.where((verifies.seq_len == NULL) | (n == NULL), NULL, verifies.seq_len + n)
        return self._of_accept(np.where(verifies.new_seq_len == NULL, told, verifies.new_seq_len))

    @cached_property
    def committed_before(self) -> Int64s:
        """Committed length that the previous event reported, NULL if there is none or it may not be in the recording."""
        if not self.info.records("lengths"):
            return np.full(len(self), NULL, dtype=np.int64)
        committed = np.append(self.columns.ints("committed"), NULL)
        return committed[self.before]

    @cached_property
    def cut(self) -> Mask:
        """Fewer than accept_len were kept, and the engine says why."""
        return self.columns.texts("cut").known[self.index]

    @cached_property
    def preclaimed(self) -> Mask:
        """A preparation of this life has committed a bonus ahead of its result, as builds before 0.5.15 do."""
        causes, committed = self.columns.texts("cause"), self.columns.ints("committed")
        rows = np.flatnonzero(causes.equal("spec_prepare") & self.lengths.main)
        lives, seq = self.lengths.lives.of("lengths")[rows], self.columns.ints("seq")[rows]
        earlier = self.lengths.previous(seq, lives)
        raised = (earlier >= 0) & (committed[rows] == committed[earlier] + 1)
        which = np.zeros(len(self.columns), dtype=np.bool_)
        which[rows[raised]] = True
        return np.asarray(self.lengths.lives.before("lengths", self.ints("seq"), self.life, which) >= 0)

    @cached_property
    def first(self) -> Mask:
        """The first verify that the life commits."""
        which = self.columns.texts("cause").equal("verify_commit") & self.lengths.main
        return np.asarray(self.lengths.lives.before("lengths", self.ints("seq"), self.life, which) < 0)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the earlier of accept and previous event to the commit or the accept."""
        seq = self.ints("seq")
        accept = np.append(self.lengths.columns("accept").ints("seq"), 0)[self.accept]
        before = np.append(self.columns.ints("seq"), 0)[self.before]
        accept, before = np.where(self.accept < 0, seq, accept), np.where(self.before < 0, seq, before)
        first = np.minimum(np.minimum(accept, before), seq)
        looking = self.unverified | (self.passed_over >= 0) | self.repeated | self.apart
        first = np.where(looking, np.minimum(first, _taken(self.lengths.lives.begin, self.life, 0)), first)
        return first, np.maximum(accept, seq)

    def _of_accept(self, column: Int64s) -> Int64s:
        return np.append(column, NULL)[self.accept]


class LateCommits(Picked):
    """One instance a `lengths` event that commits tokens, whether or not its request still runs."""

    def __init__(self, lengths: Lengths) -> None:
        table = lengths.columns("lengths")
        committing = table.texts("cause").equal("verify_commit", "decode")
        super().__init__(lengths, "lengths", committing & lengths.main)
        self.not_said = not_said("lengths", table, "cause", which=lengths.main)

    @cached_property
    def ended(self) -> Mask:
        """The life was over when the event came."""
        return np.asarray(self.ints("seq") > self.end)

    @cached_property
    def committed_before(self) -> Int64s:
        """Committed length last reported, by a release or a length event, NULL if never."""
        seq = self.ints("seq")
        lengths, release = self.columns, self.lengths.columns("release")
        by_length = self.lengths.previous(seq, self.life)
        by_release = self.lengths.lives.before("release", seq, self.life)
        newer = np.append(release.ints("seq"), -1)[by_release] > np.append(lengths.ints("seq"), -1)[by_length]
        of_release = np.append(release.ints("committed"), NULL)[by_release]
        of_length = np.append(lengths.ints("committed"), NULL)[by_length]
        if not self.info.records("lengths"):
            of_length = np.full(len(self), NULL, dtype=np.int64)
        return np.where(newer, of_release, of_length)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the life's end, or from its beginning if it still runs, to the event."""
        seq = self.ints("seq")
        begin = _taken(self.lengths.lives.begin, self.life, 0)
        return np.where(self.ended, self.end, np.minimum(begin, seq)), seq


def accepts_of(commits: Picked) -> Int64s:
    """The accept of the same step and life as each event, -1 if there is none."""
    lengths, step = commits.lengths, commits.ints("step")
    lives, steps = lengths.lives.of("accept"), lengths.columns("accept").ints("step")
    keys = StepKeys(len(lengths.lives), steps, step)
    found = last_with(keys.of(lives, steps), keys.of(commits.life, step))
    return np.where((commits.life >= 0) & (step != NULL), found, -1)


def _taken(values: Int64s, lives: Int64s, missing: int) -> Int64s:
    """A value of each life, `missing` where the life is unknown (-1)."""
    return np.append(values, missing)[lives]
