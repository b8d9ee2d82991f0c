"""Recurrent state: which verify row's state each request keeps, and which tracked state a prefix hit loads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.clears import only_verify, requests_in
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, mask
from speckv_debug.replay.searching import first_with, latest_with
from speckv_debug.replay.unions import EventUnion
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import of_first_row

KIND = "mamba"
LOADED, EVICTED = 1, 0
SAME, OTHER = 1, 0


class RecurrentState(EventUnion):
    """One instance a `state_commit` event, a verify that the same request goes on from, and a prefix hit in a pool of
    recurrent state. Verifies take part where commits are recorded whole: an engine that commits otherwise does not say so.
    """

    reads = ("accept", "state_commit", "row_alloc")
    rests_on: Mapping[str, tuple[str, ...]] = {"state_commit": ("row",), "accept": ("row",)}

    def __init__(
        self,
        columns: Callable[[str], Columns],
        verifies: Callable[[], VerifyBatch],
        info: Process,
        whole: bool,
    ) -> None:
        self.columns, self._verifies, self.info, self.whole = columns, verifies, info, whole
        self.commit, cache = columns("state_commit"), columns("cache")
        self.pools = [pool.name for pool in info.pools if pool.kind == KIND]
        pads = of_first_row(self.commit)
        hits = cache.texts("action").equal("match") & cache.texts("pool").equal(*self.pools)
        tables = {"state_commit": self.commit, "accept": columns("accept"), "cache": cache}
        chosen = {
            "state_commit": ~pads,
            "accept": mask(self.due_commit)
            if self.commits_told
            else np.zeros(len(tables["accept"]), np.bool_),
            "cache": mask(hits & (cache.lists("slots").lengths > 0)),
        }
        super().__init__(tables, chosen)  # fmt: skip

    @property
    def verifies(self) -> VerifyBatch:
        """The accept events as columns."""
        return self._verifies()

    @property
    def commits_told(self) -> bool:
        """Whether a verify without a commit is evidence."""
        return bool(self.pools) and self.info.records("state_commit")

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the accept that says what is kept to the commit, and from a verify to the next one."""
        first, last = self.seq.copy(), self.seq.copy()
        rows, seq = self.rows["state_commit"], np.append(self.verifies.seq, NULL)
        accept = seq[self.accept[rows]]
        at = self.at["state_commit"]
        first[at] = np.where(accept == NULL, first[at], np.minimum(first[at], accept))
        if len(self.rows["accept"]):
            last[self.at["accept"]] = seq[self.next[self.rows["accept"]]]
        first[self.at["cache"]] = 0
        return first, last

    # ---- commits (over all events of the table) -------------------------------------------------

    @cached_property
    def accept(self) -> Int64s:
        """The accept that a commit keeps a row of: that of its step, else the last one before of the same life; -1 if none is known.

        A commit may be deferred to the start of the next verify, before whose accept it then comes. Where accepts were not
        recorded whole only that of its step is known to be the one.
        """
        verifies, row, seq = self.verifies, self.commit.ints("row"), self.commit.ints("seq")
        of_step = only_verify(verifies, verifies.row, self.commit.ints("step"), row)
        done = (of_step >= 0) & (np.append(verifies.seq, 0)[of_step] < seq)
        before = latest_with((verifies.row,), verifies.seq, (row,), seq)
        found = np.where(done, of_step, before if self.info.records("accept") else -1)
        return np.where(self._other_life(found), -1, found)

    def _other_life(self, accept: Int64s) -> Mask:
        """Commits of another life of the row than the accept, by epochs; by requests where no epoch is known."""
        alloc, verifies, seq = self.columns("row_alloc"), self.verifies, self.commit.ints("seq")
        at = latest_with((alloc.ints("row"),), alloc.ints("seq"), (self.commit.ints("row"),), seq)
        then, now = np.append(verifies.epoch, NULL)[accept], np.append(alloc.ints("epoch"), NULL)[at]
        since = np.append(alloc.ints("seq"), NULL)[at] > np.append(verifies.seq, NULL)[accept]
        known = (then != NULL) & (now != NULL) & since
        listed = self.info.records("row_alloc")
        mine = requests_in(self.commit, verifies)
        its = np.append(verifies.request.codes.astype(np.int64), -1)[accept]
        named = (its >= 0) & self.commit.texts("request").known & (mine != its)
        return mask((accept >= 0) & np.where(known, then != now, named & (since | (not listed))))

    @cached_property
    def kept(self) -> Int64s:
        """Local row of the last accepted row of each verify, NULL if unknown (over verifies)."""
        path = self.verifies.path
        known = path.present & (path.lengths > 0)
        last = np.append(path.values, NULL)[path.offsets[1:] - 1] if len(path) else path.offsets[1:]
        return np.where(known, last, NULL)

    @cached_property
    def due(self) -> Int64s:
        """The row whose state each commit has to keep, NULL if unknown."""
        return np.append(self.kept, NULL)[self.accept]

    @cached_property
    def step_index(self) -> Int64s:
        """The row whose state it keeps."""
        return self.commit.ints("step_index")

    @cached_property
    def wrong_step(self) -> Mask:
        """Commits of another row's state."""
        return mask((self.step_index != NULL) & (self.due != NULL) & (self.step_index != self.due))

    @cached_property
    def own_row(self) -> Int64s:
        """The row that the commit's request has in the verify of its step, NULL if it has none."""
        request = requests_in(self.commit, self.verifies)
        of_verify = self.verifies.request.codes.astype(np.int64)
        found = only_verify(self.verifies, of_verify, self.commit.ints("step"), request)
        return np.append(self.verifies.row, NULL)[np.where(request < 0, -1, found)]

    @cached_property
    def wrong_row(self) -> Mask:
        """Commits to another row than that of their request."""
        row = self.commit.ints("row")
        return mask((self.own_row != NULL) & (row != NULL) & (row != self.own_row))

    @cached_property
    def earlier(self) -> Int64s:
        """The commit before it of the same pool and row, -1 if there is none."""
        pool = self.commit.texts("pool").codes.astype(np.int64)
        keys = (pool, self.commit.ints("row"), self.commit.texts("request").codes.astype(np.int64))
        return latest_with(keys, self.commit.ints("seq"), keys, self.commit.ints("seq"))

    @cached_property
    def backward(self) -> Mask:
        """Commits of an older verify than the one that was committed before."""
        seq = np.append(self.verifies.seq, NULL)[self.accept]
        before = np.append(seq, NULL)[self.earlier]
        return mask((seq != NULL) & (before != NULL) & (seq < before))

    # ---- verifies (over all events of the table) ------------------------------------------------

    @cached_property
    def next(self) -> Int64s:
        """The next verify of the same row and epoch, -1 if there is none."""
        verifies = self.verifies
        return first_with(
            (verifies.row, verifies.epoch), verifies.seq, (verifies.row, verifies.epoch), verifies.seq
        )

    @property
    def due_commit(self) -> Mask:
        """Verifies that a request goes on from."""
        return mask((self.next >= 0) & ~self.verifies.padding & (self.verifies.row != NULL))

    @cached_property
    def advanced(self) -> Mask:
        """Verifies after which the advanced state is the right one: each of their rows is accepted."""
        return mask((self.kept != NULL) & (self.verifies.path.lengths == self.verifies.width))

    @cached_property
    def committed(self) -> Mask:
        """Verifies of which a commit kept a row before the next one."""
        found = np.zeros(len(self.verifies), dtype=np.bool_)
        of, seq = self.accept, np.append(self.verifies.seq, NULL)
        in_time = (of >= 0) & (self.commit.ints("seq") < seq[np.append(self.next, -1)[of]])
        found[of[in_time]] = True
        return found

    # ---- prefix hits ----------------------------------------------------------------------------

    @cached_property
    def untracked(self) -> tuple[Mask, Mask]:
        """Prefix hits that load a state which the tree does not have, and those of which that is not known."""
        loaded = np.append(np.where(self._inserts, LOADED, EVICTED), NULL)[self._source]
        loaded = np.where(self._reset_since, EVICTED if self.info.records("cache") else NULL, loaded)
        unseen = loaded == NULL
        gone = (loaded == EVICTED) | (unseen & self.whole & self.info.records("cache"))
        return self._over_hits(mask(gone)), self._over_hits(mask(unseen & ~gone))

    @cached_property
    def misplaced(self) -> tuple[Mask, Mask]:
        """Prefix hits that load the state of another node of the tree, and those of which that is not known.

        The state of a node stands behind as many tokens as the hit serves, or, where it was inserted inside a page, behind more.
        """
        loads = np.append(self._inserts, False)[self._source] & ~self._reset_since
        at, hit = np.append(self._changes, -1)[self._source], self.rows["cache"][self._hits.owners]
        pairs = (self._pair("node", at, "node", hit), self._pair("key_len", at, "served_len", hit))
        longer = (pairs[0] == SAME) & self._longer(at, hit)
        same = ((pairs[0] == SAME) | (pairs[1] == SAME)) & ~longer
        other = ((pairs[0] == OTHER) & (pairs[1] == OTHER)) | longer
        return self._over_hits(mask(loads & other)), self._over_hits(mask(loads & ~other & ~same))

    def source(self, hit: int) -> int:
        """The event in `cache` that gave the tree the first state of another node that a hit loads."""
        first = int(self._hits.offsets[hit])
        return int(self._changes[self._source[first]])

    def _pair(self, name: str, at: Int64s, asked: str, hit: Int64s) -> Int64s:
        """SAME, OTHER or NULL for a column of the insert and one of the hit."""
        cache = self.columns("cache")
        left, right = np.append(cache.ints(name), NULL)[at], cache.ints(asked)[hit]
        return np.where((left == NULL) | (right == NULL), NULL, np.where(left == right, SAME, OTHER))

    def _longer(self, at: Int64s, hit: Int64s) -> Mask:
        """Hits that serve more tokens than the state stands behind."""
        cache = self.columns("cache")
        key, served = np.append(cache.ints("key_len"), NULL)[at], cache.ints("served_len")[hit]
        return mask((key != NULL) & (served > key))

    @cached_property
    def _reset_since(self) -> Mask:
        """For each slot that a hit loads, whether the tree started over since what it has there was told last."""
        cache = self.columns("cache")
        seq, resets = cache.ints("seq"), cache.ints("seq")[cache.texts("action").equal("reset")]
        told = np.append(seq, NULL)[np.append(self._changes, -1)[self._source]]
        hit = seq[self.rows["cache"][self._hits.owners]]
        return mask(np.searchsorted(resets, told) < np.searchsorted(resets, hit))

    @cached_property
    def _hits(self) -> Ragged:
        """The slots that each prefix hit loads."""
        return self.columns("cache").lists("slots").take(self.rows["cache"])

    def _over_hits(self, slots: Mask) -> Mask:
        return any_per_list(slots, self._hits.owners, len(self._hits))

    @cached_property
    def _changed(self) -> Mask:
        """For each slot that any event of the tree names, whether the event takes or gives up recurrent state."""
        cache = self.columns("cache")
        changes = cache.texts("action").equal("insert", "evict") & cache.texts("pool").equal(*self.pools)
        return mask(changes[cache.lists("slots").owners])

    @cached_property
    def _changes(self) -> Int64s:
        """The event in `cache` of each such slot."""
        events: Int64s = self.columns("cache").lists("slots").owners[self._changed]
        return events

    @property
    def _inserts(self) -> Mask:
        return self.columns("cache").texts("action").equal("insert")[self._changes]

    @cached_property
    def _source(self) -> Int64s:
        """For each slot that a hit loads, the last change of what the tree has there, -1 if none was seen."""
        cache = self.columns("cache")
        seq, pool = cache.ints("seq"), cache.texts("pool").codes.astype(np.int64)
        named = cache.lists("slots").values[self._changed]
        hit = self.rows["cache"][self._hits.owners]
        keys, asked = (pool[self._changes], named), (pool[hit], self._hits.values)
        return latest_with(keys, seq[self._changes], asked, seq[hit])
