"""What OWN-ROW looks at: request rows handed out and taken back, each with what happened to the row before."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.engine_version import reserves_first_row
from speckv_debug.replay.lengths import Lengths
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.searching import latest_with

GRANT, RETURN = "row_alloc", "row_free"
NAMING = ("release", "lengths", "alloc", "forward")
"""Tables that name who runs in a row: a session hands its row on without another grant."""


class RowGrants:
    """One instance a `row_alloc` and a `row_free`, in the order of `seq`; all arrays int64[instances] or bool.

    Attributes:
        before: The row's event before this one, -1 if there is none.
        again: A grant of the row and epoch that its request holds already (a prompt in chunks).
    """

    columns_from = (GRANT, RETURN, "release", "cache")
    reads = ("release", "cache")
    rests_on: Mapping[str, tuple[str, ...]] = {GRANT: ("row",), RETURN: ("row",)}

    def __init__(self, lengths: Lengths, missing_head: bool) -> None:
        self.lengths = lengths
        self.from_start = lengths.info.from_start and not missing_head
        self.grants, self.returns = lengths.columns(GRANT), lengths.columns(RETURN)
        counts = len(self.grants), len(self.returns)
        seq = self._both("seq")
        order = np.argsort(seq, kind="stable")
        self.seq = seq[order]
        self.is_grant = (np.arange(sum(counts)) < counts[0])[order]
        self.event = np.concatenate([np.arange(count) for count in counts])[order]
        self.row, self.epoch = self._both("row")[order], self._both("epoch")[order]
        self._order = order
        self.request = self._requests()[order]
        self.before = _previous(self.row, self.row >= 0)
        self.again = (
            self.is_grant
            & self._same_life(self.before)
            & (self.request == self._at(self.request, self.before))
        )

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        columns = self.grants if self.is_grant[index] else self.returns
        return place_of(columns, int(self.event[index]))

    def kind(self, index: int) -> str:
        """Grants and returns are told apart."""
        return GRANT if self.is_grant[index] else RETURN

    @cached_property
    def at(self) -> Mapping[str, Int64s]:
        """The instances that are events of a table."""
        return {GRANT: np.flatnonzero(self.is_grant), RETURN: np.flatnonzero(~self.is_grant)}

    @property
    def tells_sessions(self) -> bool:
        """Whether sessions and resets are in the recording."""
        return self.lengths.info.records("cache")

    @property
    def unheard(self) -> Mask:
        """What looks broken where the event that would mend it is of a table that was not recorded whole."""
        told = self.lengths.info.records
        kept, free = self.held | (self.other >= 0), self.not_held | self.of_another
        return mask((kept & (not (told(RETURN) and told("release")))) | (free & (not told(GRANT))))

    @cached_property
    def unseen(self) -> Mask:
        """Who held the row before is not in the recording, or a reset of the tree may have emptied all rows since.

        A life that ran before its row's first event was granted out of sight.
        """
        first = (self.before < 0) & (not self.from_start)
        if (odd := np.flatnonzero(self.not_held & (self.before < 0) & ~first)).size:
            first[odd] = np.append(self.lengths.lives.begin, NEVER)[self._life[odd]] < self.seq[odd]
        resets = self.lengths.columns("cache")
        seqs = resets.ints("seq")[resets.texts("action").equal("reset")]
        since = self._at(self.seq, self.before)
        return mask(first | (np.searchsorted(seqs, self.seq) > np.searchsorted(seqs, since)))

    @property
    def looks_further(self) -> Mask:
        """What a window of the process may not hold all of: who ended in the row before, and what a session saved."""
        return mask(self.held | (self.other >= 0) | self.not_held | self.of_another | self.reserved)

    @property
    def reserved(self) -> Mask:
        """A grant of the row that belongs to padding."""
        return mask(self.of_first_row & reserves_first_row(self.lengths.info))

    @property
    def of_first_row(self) -> Mask:
        """A grant of row 0, which engines keep for padding, or may."""
        return mask(self.is_grant & (self.row == 0))

    @cached_property
    def held(self) -> Mask:
        """A grant of a row that another life holds, which was neither freed nor released."""
        before = self.before
        granted = (before >= 0) & self.is_grant[before]
        return mask(self.is_grant & granted & ~self.again & ~self._released(before))

    @cached_property
    def other(self) -> Int64s:
        """For a grant: the grant of another row that its request holds still, -1 if there is none."""
        mine = np.where(self.is_grant & (self.request >= 0), self.request, -1)
        before = _previous(mine, mine >= 0)
        following = _following(self.row)
        freed = self._at(following, before)  # the next event of the row that it held
        kept = (before >= 0) & ((freed < 0) | (freed >= np.arange(len(self))))
        kept &= (self.row != self._at(self.row, before)) & ~self._released(before) & ~self._saved(before)
        return np.where(kept, before, -1)

    @cached_property
    def not_held(self) -> Mask:
        """A return of a row that is free."""
        before = self.before
        return mask(~self.is_grant & ((before < 0) | ~self.is_grant[before]))

    @cached_property
    def of_another(self) -> Mask:
        """A return by a life or a request that does not hold the row."""
        before = self.before
        granted = ~self.is_grant & (before >= 0) & self.is_grant[before]
        epochs = (self.epoch != NULL) & (self._at(self.epoch, before) != NULL)
        other = granted & epochs & (self.epoch != self._at(self.epoch, before))
        named = (self.request >= 0) & (self._at(self.request, before) >= 0)
        stranger = granted & named & (self.request != self._at(self.request, before))
        return mask(other | (stranger & ~self._runs_in_it(stranger)))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the row's event before, or from the request's other grant, to this one; from the beginning without any."""
        first = np.where(self.before < 0, 0, self._at(self.seq, self.before))
        other = np.where(self.other < 0, first, self._at(self.seq, self.other))
        return np.minimum(first, other), self.seq

    def events_of(self, row: int, until: int) -> Int64s:
        """The events of a row up to one of them."""
        return np.flatnonzero((self.row == row) & (np.arange(len(self)) <= until))

    def _both(self, name: str) -> Int64s:
        return np.concatenate([columns.ints(name) for columns in (self.grants, self.returns)])

    def _requests(self) -> Int64s:
        """The requests as numbers, -1 where they are not named; the same in both tables."""
        numbers: dict[str, int] = {}
        found = []
        for texts in (self.grants.texts("request"), self.returns.texts("request")):
            own = [numbers.setdefault(name, len(numbers)) for name in texts.names]
            found.append(np.array([*own, -1], dtype=np.int64)[texts.codes])
        self._numbers = numbers
        return np.concatenate(found)

    def _at(self, values: Int64s, index: Int64s) -> Int64s:
        """A value at other instances, NULL for -1."""
        return np.append(values, NULL)[index]

    def _same_life(self, index: Int64s) -> Mask:
        return mask((index >= 0) & (self.epoch == self._at(self.epoch, index)))

    @cached_property
    def _life(self) -> Int64s:
        """The life of each event; what only rare events ask for, since it looks at all tables."""
        return np.concatenate([self.lengths.lives.of(name) for name in (GRANT, RETURN)])[self._order]

    def _released(self, grants: Int64s) -> Mask:
        """Whether the lives of these grants have ended before the instance; a trim is no end."""
        release = self.lengths.columns("release")
        final = np.flatnonzero(~release.texts("kind").equal("session_trim"))
        ended, seqs = (
            tuple(release.ints(name)[final] for name in ("row", "epoch")),
            release.ints("seq")[final],
        )
        lives = tuple(self._at(column, grants) for column in (self.row, self.epoch))
        return self._behind(grants, seqs, latest_with(ended, seqs, lives, self.seq))

    def _saved(self, grants: Int64s) -> Mask:
        """Whether a session has saved what the request of these grants held."""
        cache = self.lengths.columns("cache")
        rows = np.flatnonzero(cache.texts("action").equal("session_save") & cache.texts("request").known)
        own, seqs = cache.texts("request").numbered(self._numbers)[rows], cache.ints("seq")[rows]
        return self._behind(grants, seqs, latest_with((own,), seqs, (self.request,), self.seq))

    def _behind(self, grants: Int64s, seqs: Int64s, found: Int64s) -> Mask:
        """Whether the event found for each instance, -1 for none, lies behind the grant."""
        return mask((grants >= 0) & (np.append(seqs, NULL)[found] > self._at(self.seq, grants)))

    def _runs_in_it(self, which: Mask) -> Mask:
        """Whether the request that returns the row was the last one that another table named in it.

        A return without an epoch is of the life that the row was granted to.
        """
        found = np.zeros(len(self), dtype=np.bool_)
        at = np.flatnonzero(which)
        life = np.where(self._life < 0, self._at(self._life, self.before), self._life)[at] if len(at) else at
        at, life = at[life >= 0], life[life >= 0]
        for name in NAMING if len(at) else ():
            texts = self.lengths.columns(name).texts("request")
            last = self.lengths.lives.before(name, self.seq[at], life, texts.known)
            numbers = np.array([*(self._numbers.get(text, -2) for text in texts.names), -3], dtype=np.int64)
            found[at] |= numbers[np.append(texts.codes, -1)[last]] == self.request[at]
        return found


def _previous(group: Int64s, which: Mask) -> Int64s:
    """For each the one before it of the same group, both among `which`; -1 if there is none."""
    found = np.full(len(group), -1, dtype=np.int64)
    rows = np.flatnonzero(which)
    order = rows[np.argsort(group[rows], kind="stable")]
    same = group[order[1:]] == group[order[:-1]]
    found[order[1:][same]] = order[:-1][same]
    return found


def _following(group: Int64s) -> Int64s:
    """For each the one after it of the same group, -1 if there is none."""
    found = np.full(len(group), -1, dtype=np.int64)
    before = _previous(group, np.ones(len(group), dtype=np.bool_))
    rows = np.flatnonzero(before >= 0)
    found[before[rows]] = rows
    return found
