"""Clears of compressor rings and commits of recurrent state, done again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.clears import WIDEST_RING, only_verify, reach, requests_in
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
        self.clear, self.commit = (columns(name) for name in TABLES)
        self.verifies, self._paths, self.info, self._kernels = paths.verifies, paths, info, kernels
        seq = np.concatenate([table.ints("seq") for table in (self.clear, self.commit)])
        order = np.argsort(seq, kind="stable")
        self.table = np.repeat(np.arange(2), (len(self.clear), len(self.commit)))[order]
        self.event = np.concatenate([np.arange(len(t)) for t in (self.clear, self.commit)])[order]
        self.seq = seq[order]

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        return place_of(self.clear if self.table[index] == 0 else self.commit, int(self.event[index]))

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
        return reach(self.seq, self.verifies, self.accept, self.earlier, self.own)

    @cached_property
    def accept(self) -> Int64s:
        """The accept of the same step and request row, -1 if there is none, or more than one."""
        row = self._ints("row")
        return np.where(
            row == NULL, -1, only_verify(self.verifies, self.verifies.row, self._ints("step"), row)
        )

    @cached_property
    def own(self) -> Int64s:
        """The accept of the same step and request as a clear after a verify, -1 if there is none, or more than one."""
        clears = requests_in(self.clear, self.verifies)
        clears[self.clear.ints("width") == NULL] = -1  # at the end of a row, which is not that of a verify
        request = np.full(len(self), -1, dtype=np.int64)
        request[self.table == 0] = clears[self.event[self.table == 0]]
        of_verify = self.verifies.request.codes.astype(np.int64)
        found = only_verify(self.verifies, of_verify, self._ints("step"), request)
        return np.where(request < 0, -1, found)

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

    @cached_property
    def before(self) -> Int64s:
        """L of each clear: of its accept, else as the engine passed it."""
        return self._of_accept(self.verifies.seq_len, self.clear.ints("seq_len"))

    @cached_property
    def kept(self) -> Int64s:
        """n of each clear: rows of its accepted path, else as the engine passed it."""
        lengths = np.where(self.path.present, self.path.lengths, NULL)
        return self._of_accept(lengths, self.clear.ints("accept_len"))

    def _of_accept(self, of_verify: Int64s, passed: Int64s) -> Int64s:
        accept = np.full(len(self.clear), -1, dtype=np.int64)
        clears = self.table == 0
        accept[self.event[clears]] = self.accept[clears]
        found = np.append(of_verify, NULL)[accept]
        return np.where(found == NULL, passed, found)

    @cached_property
    def clearable(self) -> Mask:
        """Clears of which all that goes in is known."""
        ring, width = self.clear.ints("ring_size"), self.clear.ints("width")
        sized = (ring > 0) & (ring <= WIDEST_RING)
        told = (self.before != NULL) & (self.before >= 0) & (self.kept != NULL) & (width >= 0)
        return mask(sized & ((width == NULL) | (told & (width <= ring))))

    def cleared(self, clear: int) -> Int64s:
        """Ring rows that a clear empties, ascending, by `kernels.state.clear_unaccepted_rows`; none if that is unknown."""
        if not self.clearable[clear]:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self._emptied(np.array([clear]))[0])

    def _emptied(self, clears: Int64s) -> Mask:
        """Which ring rows `[len(clears), ring_size]` clears of one ring size and width empty.

        A clear without a width empties the whole ring; one of a single row empties nothing (`num_draft_tokens <= 1`).
        """
        size, width = (int(self.clear.ints(name)[clears[0]]) for name in ("ring_size", "width"))
        if width == NULL:
            return np.ones((len(clears), size), dtype=np.bool_)
        return self._kernels.cleared_rings(self.before[clears], self.kept[clears], size, width)

    @property
    def online(self) -> bool:
        """The online variant keeps its state in another way: this clear is not its."""
        return bool(self.info.settings.get("online_c128"))

    @cached_property
    def wrong_rows(self) -> Mask:
        """Clears of other ring rows."""
        ring, width, found = (
            self.clear.ints("ring_size"),
            self.clear.ints("width"),
            self.clear.lists("ring_rows"),
        )
        wrong, judged = np.zeros(len(self.clear), dtype=np.bool_), found.filled & self.clearable
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

    @cached_property
    def own_row(self) -> Int64s:
        """The row of each event's request in the verify of its step; NULL where `own` names none."""
        return np.append(self.verifies.row, NULL)[self.own]

    @cached_property
    def wrong_request(self) -> Mask:
        """Clears of another row than that of their request."""
        row = self._ints("row")
        return mask((self.own_row != NULL) & (row != NULL) & (row != self.own_row))

    @cached_property
    def wrong_halves(self) -> Mask:
        """Clears that leave other values than 0 and -inf."""
        (first, told), (second, also) = (self.clear.floats(name) for name in ("first_half", "second_half"))
        return mask((told & (first != 0)) | (also & (second != -np.inf)))

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
        both = np.concatenate((self.clear.ints(name), self.commit.ints(name)))
        found: Int64s = both[self.event + np.where(self.table == 1, len(self.clear), 0)]
        return found
