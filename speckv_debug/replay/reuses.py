"""What OWN-RACE looks at: pages that are granted again, and when the device was done with those who had them before."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.lengths import Lengths
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.not_said import NotSaid, not_said
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, mask
from speckv_debug.replay.searching import first_with
from speckv_debug.replay.writes import padding_rows

SLACK_NS = 1_000
"""Times of one stream's events are sums of differences: they may be off by so much."""


class Reuses:
    """One instance a grant of pages that a life that is over held before; one in all where no device times are known.

    A forward reads and writes from `begin_ns` to `end_ns`. All forwards of a life count as users of all its pages, up to
    the grant; a page that its holder gave up while it ran on is no instance.

    Attributes:
        grant: Row of the table `alloc`, int64[instances].
        user: The forward of an earlier holder that ended last, -1 if none ran.
        first: The new holder's first forward behind the grant, -1 if none ran.
        not_said: Grants and forwards of which it is not known whose they are.
    """

    columns_from = ("alloc", "forward")
    rests_on: Mapping[str, tuple[str, ...]] = {"alloc": ("row", "epoch"), "forward": ("row", "epoch")}

    def __init__(self, lengths: Lengths) -> None:
        self.lengths = lengths
        self.alloc, self.forward = lengths.columns("alloc"), lengths.columns("forward")
        self.timed = not self.forward.absent("end_ns").all()
        self.grant, self.user = self._users() if self.timed else _untimed(len(self.alloc))
        self.first = self._firsts() if self.timed else np.full(len(self.grant), -1, dtype=np.int64)
        self.seq = self.alloc.ints("seq")[self.grant] if self.timed else np.zeros_like(self.grant)
        self.not_said = self._unsaid() if self.timed else {}

    def __len__(self) -> int:
        return len(self.grant)

    def place(self, index: int) -> Place:
        """Where the grant stands."""
        return place_of(self.alloc, int(self.grant[index]))

    @cached_property
    def ends(self) -> Int64s:
        """When the earlier holders were done, ns; NULL if unknown, 0 if none ran."""
        if not self.timed:
            return np.full(len(self), NULL, dtype=np.int64)
        return np.append(self.forward.ints("end_ns"), 0)[self.user]

    @cached_property
    def begins(self) -> Int64s:
        """When the new holder began, ns; NULL if unknown, NEVER if it did not run."""
        if not self.timed:
            return np.full(len(self), NULL, dtype=np.int64)
        return np.append(self.forward.ints("begin_ns"), NEVER)[self.first]

    @property
    def known(self) -> Mask:
        """Where both are told."""
        return mask((self.ends != NULL) & (self.begins != NULL) & self.timed)

    @property
    def overlapping(self) -> Mask:
        """Where the new holder began before an earlier one was done."""
        return mask(self.known & (self.ends > self.begins) & (self.ends - self.begins > SLACK_NS))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the earlier holder's forward to the new holder's first one."""
        seq, at = self.forward.ints("seq"), self.alloc.ints("seq")[self.grant]
        first = np.where(self.user < 0, at, np.append(seq, 0)[self.user])
        return np.minimum(first, at), np.where(self.first < 0, at, np.append(seq, 0)[self.first])

    def pages(self, index: int) -> Int64s:
        """The pages of the grant."""
        return np.unique(self._runs[int(self.grant[index])])

    @cached_property
    def _runs(self) -> Ragged:
        spaces = self.lengths.namespaces
        return spaces.pages(self.alloc.lists("slots"), spaces.indices(self.alloc.texts("pool"))).runs

    def _unsaid(self) -> NotSaid:
        """Grants that do not tell what is granted to whom, and forwards that do not tell whose they are."""
        granted, running = mask(self.alloc.ints("granted") != 0), ~padding_rows(self.forward)
        grants = not_said("alloc", self.alloc, "row", "epoch", "slots", which=granted)
        return {**grants, **not_said("forward", self.forward, "row", "epoch", which=mask(running))}

    def _users(self) -> tuple[Int64s, Int64s]:
        """For each grant over pages of lives that are over: which of their forwards ended last."""
        spaces, lives = self.lengths.namespaces, self.lengths.lives
        main = spaces.indices(self.alloc.texts("pool")) == spaces.main
        counted = main & (self.alloc.ints("granted") != 0) & ~self.alloc.texts("reason").equal("rollback")
        event, page = self._runs.owners, self._runs.values
        kept = counted[event]
        event, page = event[kept], page[kept]
        order = np.lexsort((event, page))
        event, page = event[order], page[order]
        life, seq = lives.of("alloc"), self.alloc.ints("seq")
        then, before = event[1:], event[:-1]
        over = np.append(lives.end, NEVER)[life[before]] < seq[then]
        reused = (page[1:] == page[:-1]) & (life[then] != life[before]) & (life[before] >= 0) & over
        then, holder = then[reused], life[before[reused]]
        running = ~padding_rows(self.forward)
        user = lives.before("forward", seq[then], holder, running)
        end = np.append(self.forward.ints("end_ns"), 0)[user]
        unknown = np.where(end == NULL, NEVER, end)  # what is not known decides
        last = np.lexsort((unknown, then))
        new = np.append(np.diff(then[last]) != 0, len(last) > 0)[: len(last)]
        return then[last][new], user[last][new]

    def _firsts(self) -> Int64s:
        """The first forward of the new holder behind each grant."""
        lives, running = self.lengths.lives, ~padding_rows(self.forward)
        rows = np.flatnonzero(running & (lives.of("forward") >= 0))
        own, seqs = lives.of("forward")[rows], self.forward.ints("seq")[rows]
        life, granted = lives.of("alloc")[self.grant], self.alloc.ints("seq")[self.grant]
        found: Int64s = np.append(rows, -1)[first_with((own,), seqs, (life,), granted)]
        return found


def _untimed(allocs: int) -> tuple[Int64s, Int64s]:
    """One instance that can't be judged, if anything was granted at all."""
    return np.zeros(min(allocs, 1), dtype=np.int64), np.full(min(allocs, 1), -1, dtype=np.int64)
