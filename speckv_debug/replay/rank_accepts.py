"""Verifies of one rank beside those of the rank that leads its tensor-parallel group, or the pipeline stage before."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process, Rank
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns, Texts
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, mask, starts
from speckv_debug.replay.verifies import VerifyBatch


class Decisions:
    """What one rank decided: its verifies, with their accepted rows and output tokens worked out once."""

    def __init__(self, verifies: VerifyBatch) -> None:
        self.verifies = verifies

    @cached_property
    def rows(self) -> Ragged:
        """The first n entries of accept_index, counted from the request's root row, as the engine wrote them."""
        index, n, origin = self.verifies.ragged("accept_index"), self.verifies.accepted, self.verifies.origin
        kept = index.within < n[index.owners]
        values = (index.values - np.where(origin == NULL, 0, origin)[index.owners])[kept]
        counts = np.bincount(index.owners[kept], minlength=len(n)).astype(np.int64)
        return Ragged(values, starts(counts), mask(index.present & (n >= 0) & (origin != NULL)))

    @cached_property
    def tokens(self) -> Ragged:
        """The predictions at the accepted rows; absent where the path is not known."""
        path = self.verifies.path
        return Ragged(self.verifies.on_path("predict"), path.offsets, path.present)


class RankAccepts:
    """One instance a verify that another recorded rank took part in, or should have.

    Args:
        verifies: Those of this process.
        processes: All recorded processes, this one among them.

    Attributes:
        leader: The rank that this one is compared with: the first of its TP group; for that one the first of the
            earliest pipeline stage; None if it leads, or can't be told.
        other: For each verify the leader's verify of the same request and step, -1 if none or more than one.
        unsampled: TP ranks of the group that were not recorded, as far as the settings tell.
        unmatched: The leader's verifies that this rank did not record; they stand behind this rank's own, and nothing
            can be said of them.
    """

    reads = ("accept",)

    def __init__(self, verifies: VerifyBatch, processes: Sequence[ProcessRecording]) -> None:
        self.mine, self.info = Decisions(verifies), verifies.info
        self._of: dict[str, tuple[Decisions, Int64s]] = {}
        self.group = tuple(process for process in processes if together(process.info, self.info))
        self.repeated = len({process.info.rank for process in self.group}) < len(self.group)
        self.leader = _leader(self.info, self.group)
        self.unsampled = _unsampled(self.info, self.group) if self.leader is None else 0

    def __len__(self) -> int:
        own = len(self.mine.verifies) if self.leader is not None or self.unsampled else 0
        return own + len(self.unmatched)

    def place(self, index: int) -> Place:
        """Where the verify stands in this process, the leader's in its own."""
        if (behind := index - len(self.mine.verifies)) >= 0:
            return self.theirs.verifies.place(int(self.unmatched[behind]))
        return self.mine.verifies.place(index)

    def among_all(self, own: Mask, unmatched: bool = False) -> Mask:
        """A mask over this rank's verifies as one over all instances."""
        return mask(np.append(own, np.full(len(self.unmatched), unmatched)))

    @property
    def staged(self) -> bool:
        """Whether the leader is of another pipeline stage."""
        return self.leader is not None and self.leader.info.rank.pp != self.info.rank.pp

    @property
    def theirs(self) -> Decisions:
        """The leader's."""
        assert self.leader is not None
        return self.of(self.leader)[0]

    def of(self, process: ProcessRecording) -> tuple[Decisions, Int64s]:
        """What a rank of the group decided, and for each instance which of its verifies is the same; -1 if none is."""
        if process.label not in self._of:
            mine = process.info is self.info
            theirs = self.mine if mine else Decisions(verifies_of(process))
            same = np.arange(len(theirs.verifies)) if mine else matched(self.mine.verifies, theirs.verifies)
            self._of[process.label] = theirs, same
        return self._of[process.label]

    @cached_property
    def other(self) -> Int64s:
        """Parallel to this rank's verifies, int64[n]."""
        count = len(self.mine.verifies)
        return np.full(count, -1, np.int64) if self.leader is None else self.of(self.leader)[1]

    @cached_property
    def unmatched(self) -> Int64s:
        """See the class, int64[verifies of the leader that this rank lacks]."""
        none = np.empty(0, dtype=np.int64)
        if self.leader is None or (len(self.other) == len(self.theirs.verifies) and (self.other >= 0).all()):
            return none
        own, other = _coded_verifies(self.mine.verifies, self.theirs.verifies)
        named = (self.theirs.verifies.step != NULL) & self.theirs.verifies.request.known
        return np.flatnonzero(named & ~np.isin(other, own))

    @cached_property
    def started_apart(self) -> Mask:
        """Where the two verifies go out from different lengths: what was decided before is apart already."""
        before, after = self.mine.verifies.seq_len, self._of_other(self.theirs.verifies.seq_len)
        return mask((before != after) & (before != NULL) & (after != NULL))

    @cached_property
    def undecided(self) -> Mask:
        """Where one of the two does not say how many rows it accepted."""
        mine, theirs = self.mine.verifies, self.theirs.verifies
        return mask((mine.accepted == NULL) | (self._of_other(theirs.accepted) == NULL))

    @cached_property
    def silent(self) -> dict[str, Mask]:
        """Part → where one of the two verifies does not tell it; chain engines that give lengths only have no rows."""
        if self.staged:
            return {}
        mine, theirs = self.mine.verifies, self.theirs.verifies
        rows = self._both(self.mine.rows.present, self.theirs.rows.present)
        rows |= self._both(mine.lengths_only, theirs.lengths_only)
        predict = (batch.ragged("predict").present for batch in (mine, theirs))
        return {"rows": mask(~rows), "tokens": mask(~self._both(*predict))}

    def _both(self, mine: Mask, theirs: Mask) -> Mask:
        """Where something holds of a verify and of the other's."""
        found = np.zeros(len(self.other), dtype=np.bool_)
        at = np.flatnonzero(self.other >= 0)
        found[at] = mine[at] & theirs[self.other[at]]
        return found

    @cached_property
    def differs(self) -> dict[str, Mask]:
        """Part → where both verifies tell it, and not the same."""
        mine, theirs = self.mine.verifies, self.theirs.verifies
        found = {"accept_len": self._ints_differ(mine.accepted, theirs.accepted)}
        if not self.staged:
            found["accepted rows"] = self._lists_differ(self.mine.rows, self.theirs.rows)
            found["tokens"] = self._lists_differ(self.mine.tokens, self.theirs.tokens)
            found["width"] = self._ints_differ(mine.width, theirs.width)
            layouts = (batch.columns.texts("layout") for batch in (mine, theirs))
            found["layout"] = self._ints_differ(*_coded(*layouts))
        return found

    def _of_other(self, values: Int64s) -> Int64s:
        found = np.full(len(self.other), NULL, dtype=np.int64)
        found[self.other >= 0] = values[self.other[self.other >= 0]]
        return found

    def _ints_differ(self, mine: Int64s, theirs: Int64s) -> Mask:
        other = self._of_other(theirs)
        return mask((mine != NULL) & (other != NULL) & (mine != other))

    def _lists_differ(self, mine: Ragged, theirs: Ragged) -> Mask:
        """Where both lists are there, of one length, and differ; a length of its own is another part."""
        at = np.flatnonzero(self.other >= 0)
        left, right = mine.take(at), theirs.take(self.other[at])
        alike = left.present & right.present & (left.lengths == right.lengths)
        left, right = (each.take(np.flatnonzero(alike)) for each in (left, right))
        told = (left.values != NULL) & (right.values != NULL)
        apart = any_per_list(told & (left.values != right.values), left.owners, len(left))
        found = np.zeros(len(self.other), dtype=np.bool_)
        found[at[alike]] = apart
        return found


def verifies_of(process: ProcessRecording) -> VerifyBatch:
    """The verifies of another process, held by nobody else."""
    return VerifyBatch(Columns(process.table("accept")), process.info)


def together(one: Process, other: Process) -> bool:
    """Whether two processes serve the same requests: replicas of data parallelism serve their own."""
    return one.engine == other.engine and (one.rank.dp or 0) == (other.rank.dp or 0)


def matched(mine: VerifyBatch, theirs: VerifyBatch) -> Int64s:
    """For each verify the other rank's of the same step and request, -1 if there is none or one of them is repeated."""
    own, other = _coded_verifies(mine, theirs)
    count = 1 + int(max(own.max(initial=-1), other.max(initial=-1)))
    at = np.full(count, -1, dtype=np.int64)
    at[other] = np.arange(len(other))
    for side in (own, other):
        at[np.bincount(side, minlength=len(at)) > 1] = -1
    known = (mine.step != NULL) & mine.request.known
    return np.where(known, at[own], -1)


def _coded_verifies(mine: VerifyBatch, theirs: VerifyBatch) -> tuple[Int64s, Int64s]:
    """Both as numbers that mean the same request and step."""
    names = _coded(mine.request, theirs.request)
    keys = [np.stack((batch.step, name), axis=1) for batch, name in zip((mine, theirs), names, strict=True)]
    _, codes = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    return codes[: len(mine)], codes[len(mine) :]


def _coded(mine: Texts, theirs: Texts) -> tuple[Int64s, Int64s]:
    """Both as numbers that mean the same text, NULL where absent."""
    names = {name: at for at, name in enumerate(dict.fromkeys((*mine.names, *theirs.names)))}
    return _numbered(mine, names), _numbered(theirs, names)


def _numbered(texts: Texts, names: dict[str, int]) -> Int64s:
    numbers = np.array([*(names[name] for name in texts.names), NULL], dtype=np.int64)
    return np.asarray(numbers[texts.codes], dtype=np.int64)


def _leader(info: Process, group: Sequence[ProcessRecording]) -> ProcessRecording | None:
    """The group's first TP rank in this pipeline stage, else the first rank of the earliest stage; never itself."""
    if info.rank.tp is None:
        return None
    placed = [process for process in group if process.info.rank.tp is not None]
    stage = [process for process in placed if (process.info.rank.pp or 0) == (info.rank.pp or 0)]
    for ranks in (stage, placed):
        first = min(ranks, key=lambda process: _order(process.info.rank))
        if first.info.rank != info.rank:
            return first
    return None


def _order(rank: Rank) -> tuple[int, int]:
    return rank.pp or 0, rank.tp or 0


def _unsampled(info: Process, group: Sequence[ProcessRecording]) -> int:
    """TP ranks of the group that were not recorded.

    DP attention divides the TP ranks among the replicas, other data parallelism does not: the fewer are sure.
    """
    tp, dp = (info.settings.get(name) for name in ("tp_size", "dp_size"))
    if type(tp) is not int:
        return 0
    due = tp // dp if type(dp) is int and dp > 0 else tp
    stage = {p.info.rank.tp for p in group if (p.info.rank.pp or 0) == (info.rank.pp or 0)}
    return max(0, due - len(stage))
