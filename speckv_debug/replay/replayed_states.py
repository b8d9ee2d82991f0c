"""Clears of compressor rings and commits of recurrent state, done again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.clears import Clears, only_verify, reach
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, mask
from speckv_debug.replay.recompute import Kernels
from speckv_debug.replay.replayed_paths import ReplayedPaths

TABLES = ("state_clear", "state_commit")


class ReplayedStates:
    """One instance a `state_clear` and a `state_commit` event, in the order of `seq`."""

    reads = ("accept", *TABLES)

    def __init__(
        self, columns: Callable[[str], Columns], paths: ReplayedPaths, info: Process, kernels: Kernels
    ) -> None:
        self.commit, self.verifies = columns("state_commit"), paths.verifies
        self._paths, self.info, self._kernels = paths, info, kernels
        self.clears = Clears(columns("state_clear"), lambda: self.verifies, info, self._accepted)
        seq = np.concatenate([part.ints("seq") for part in (self.clears, self.commit)])
        order = np.argsort(seq, kind="stable")
        self.table = np.repeat(np.arange(2), (len(self.clears), len(self.commit)))[order]
        self.event = np.concatenate([np.arange(len(part)) for part in (self.clears, self.commit)])[order]
        self.seq = seq[order]

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        event = int(self.event[index])
        return self.clears.place(event) if self.table[index] == 0 else place_of(self.commit, event)

    def kind(self, index: int) -> str:
        """The table."""
        return TABLES[int(self.table[index])]

    @property
    def path(self) -> Ragged:
        """Accepted local rows of each verify."""
        return self._paths.rows

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """The event and the accepts that say what was kept."""
        own = np.full(len(self), -1, dtype=np.int64)
        own[self.table == 0] = self.clears.own[self.event[self.table == 0]]
        return reach(self.seq, self.verifies, self.accept, self.earlier, own)

    @cached_property
    def accept(self) -> Int64s:
        """The accept of the same step and request row, -1 if there is none, or more than one."""
        row = self._ints("row")
        return np.where(
            row == NULL, -1, only_verify(self.verifies, self.verifies.row, self._ints("step"), row)
        )

    @cached_property
    def earlier(self) -> Int64s:
        """The last accept of the request row before the event, -1 if there is none: a commit may be deferred."""
        rows = np.concatenate((self.verifies.row, self._ints("row")))
        seq = np.concatenate((self.verifies.seq, self.seq))
        order = np.lexsort((seq, rows))
        count = len(self.verifies)
        latest = np.maximum.accumulate(np.where(order < count, np.arange(len(order)), -1))
        found = np.full(len(order), -1, dtype=np.int64)
        found[order] = np.where(latest < 0, -1, order[latest])
        found = found[count:]
        same = np.append(self.verifies.row, NULL)[found] == self._ints("row")
        return np.where(same & (self._ints("row") != NULL), found, -1)

    # ---- clears -------------------------------------------------------------------------------

    def _accepted(self) -> Int64s:
        return np.where(self.path.present, self.path.lengths, NULL)

    @cached_property
    def clearable(self) -> Mask:
        """Clears of which all that goes into the kernel is known; it takes one without a width for the end of a row."""
        clears = self.clears
        told = (clears.before >= 0) & (clears.accepted != NULL) & (clears.width >= 0)
        return mask(clears.ringed & (clears.whole | (told & (clears.width <= clears.ring))))

    def cleared(self, clear: int) -> Int64s:
        """Ring rows that a clear empties, ascending, by `kernels.state.clear_unaccepted_rows`; none if that is unknown."""
        if not self.clearable[clear]:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self._emptied(np.array([clear]))[0])

    def _emptied(self, clears: Int64s) -> Mask:
        """Which ring rows `[len(clears), ring_size]` clears of one ring size and width empty.

        A clear without a width empties the whole ring; one of a single row empties nothing (`num_draft_tokens <= 1`).
        """
        size, width = int(self.clears.ring[clears[0]]), int(self.clears.width[clears[0]])
        if width == NULL:
            return np.ones((len(clears), size), dtype=np.bool_)
        before, accepted = self.clears.before[clears], self.clears.accepted[clears]
        return self._kernels.cleared_rings(before, accepted, size, width)

    @property
    def online(self) -> bool:
        """The online variant keeps its state in another way: this clear is not its."""
        return bool(self.info.settings.get("online_c128"))

    @cached_property
    def wrong_rows(self) -> Mask:
        """Clears of other ring rows."""
        ring, width, found = self.clears.ring, self.clears.width, self.clears.rows
        wrong, judged = np.zeros(len(self.clears), dtype=np.bool_), found.filled & self.clearable
        for size, w in np.unique(np.stack([ring, width])[:, judged], axis=1).T.tolist():
            same = np.flatnonzero(judged & (ring == size) & (width == w))
            for which in self._kernels.pieces(same, size):
                wrong[which] = self._differ(self._emptied(which), found.take(which))
        return wrong

    @staticmethod
    def _differ(emptied: Mask, found: Ragged) -> Mask:
        """Lists that name other rows than `emptied` `[len(found), ring_size]` has."""
        inside = (found.values >= 0) & (found.values < emptied.shape[1])
        named = np.zeros_like(emptied)
        named[found.owners[inside], found.values[inside]] = True
        return mask((named != emptied).any(axis=1) | any_per_list(~inside, found.owners, len(found)))

    # ---- commits ------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> Int64s:
        """The local row whose state each verify's request keeps, `kernels.state.commit_steps`; NULL if unknown, or where
        no commit needs it.
        """
        found = np.full(len(self.verifies), NULL, dtype=np.int64)
        commits = self.table == 1
        if not commits.any():
            return found
        asked = np.isin(np.arange(len(found)), np.concatenate((self.accept[commits], self.earlier[commits])))
        width, n = self.verifies.width, self.path.lengths
        known = asked & self.path.present & (n > 0) & (width != NULL) & ~self.verifies.padding
        for w in np.unique(width[known]).tolist():
            at = np.flatnonzero(known & (width == w))
            rows = self.path.padded(at, int(n[at].max()), -1)
            found[at] = self._kernels.kept_steps(rows, n[at], w)
        return found

    @cached_property
    def due_steps(self) -> tuple[Int64s, Int64s]:
        """What each event may keep: by the accept of its step, by the last accept before it; NULL of a clear."""
        commits = self.table == 1
        of_step, of_last = (np.append(self.steps, NULL)[found] for found in (self.accept, self.earlier))
        return np.where(commits, of_step, NULL), np.where(commits, of_last, NULL)

    @cached_property
    def wrong_step(self) -> Mask:
        """Commits of a row that neither accept keeps."""
        found, (of_step, of_last) = self._commit("step_index"), self.due_steps
        known = (found != NULL) & ~self.stepless
        return mask(known & (found != of_step) & (found != of_last))

    @cached_property
    def untold_step(self) -> Mask:
        """Commits that do not say what they keep."""
        return mask((self.table == 1) & (self._commit("step_index") == NULL))

    @cached_property
    def stepless(self) -> Mask:
        """Commits without an accept whose path is known."""
        of_step, of_last = self.due_steps
        unclear = (self.accept >= 0) & (of_step == NULL)
        return mask((self.table == 1) & (unclear | ((of_step == NULL) & (of_last == NULL))))

    def of_clear(self, hit: Mask) -> Mask:
        """A mask over clears as one over the instances."""
        found, mine = np.zeros(len(self), dtype=np.bool_), self.table == 0
        found[mine] = hit[self.event[mine]]
        return found

    def _commit(self, name: str) -> Int64s:
        found = np.full(len(self), NULL, dtype=np.int64)
        mine = self.table == 1
        found[mine] = self.commit.ints(name)[self.event[mine]]
        return found

    def _ints(self, name: str) -> Int64s:
        both = np.concatenate((self.clears.ints(name), self.commit.ints(name)))
        found: Int64s = both[self.event + np.where(self.table == 1, len(self.clears), 0)]
        return found
