"""What the target's forwards write for a request: a verify, a part of a prompt, a plain decode."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.lengths import Lengths
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, joined, mask
from speckv_debug.replay.writes import of_drafter


class TargetWrites:
    """One instance a verify of a request, and a row of an extend or plain decode of the target, in the order of `seq`.

    Attributes:
        life: The request row's life, -1 if the event names none.
    """

    def __init__(self, lengths: Lengths) -> None:
        self.lengths, self.info, self.verifies = lengths, lengths.info, lengths.verifies
        self.forward = lengths.columns("forward")
        self._accepts = np.flatnonzero(~self.verifies.padding)
        self._rows = np.flatnonzero(self._plain)
        seq = np.concatenate((self.verifies.seq[self._accepts], self.forward.ints("seq")[self._rows]))
        self._order = np.argsort(seq, kind="stable")
        self.seq = seq[self._order]
        self.life = self.both(lengths.lives.of("accept"), lengths.lives.of("forward"))

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        at = int(self._order[index])
        if at < len(self._accepts):
            return self.verifies.place(int(self._accepts[at]))
        return place_of(self.forward, int(self._rows[at - len(self._accepts)]))

    @cached_property
    def of_verify(self) -> Mask:
        """Instances that are verifies."""
        return np.asarray(self._order < len(self._accepts))

    @cached_property
    def extending(self) -> Mask:
        """Rows of an extend: what they write is where tokens are known from."""
        extend = self.forward.texts("mode").equal("extend")[self._rows]
        return np.concatenate((np.zeros(len(self._accepts), dtype=np.bool_), extend))[self._order]

    @cached_property
    def tokens(self) -> Ragged:
        """Input ids; of a verify, its draft_tokens, root first."""
        return self.lists("draft_tokens", "tokens")

    @cached_property
    def positions(self) -> Ragged:
        """Position of each input id."""
        return self.lists("positions", "positions")

    @cached_property
    def slots(self) -> Ragged:
        """The slots written; of a verify, its out_cache_loc."""
        return self.lists("out_cache_loc", "slots")

    @cached_property
    def start(self) -> Int64s:
        """First position, NULL if unknown."""
        told = self.both(self.verifies.seq_len, self.forward.ints("start"))
        if not (told == NULL).any():
            return told
        return np.where(told == NULL, self.first(self.positions), told)

    @cached_property
    def drafting(self) -> Mask:
        """Rows of `forward` that write into a draft pool."""
        return of_drafter(self.forward, self.info)

    def first(self, lists: Ragged) -> Int64s:
        """The first value of each list, NULL without one."""
        return lists.at(np.arange(len(self)), np.zeros(len(self), dtype=np.int64))

    def lists(self, of_verify: str, of_forward: str) -> Ragged:
        """A list column of `accept` and one of `forward` for the instances."""
        verifies = self.verifies.ragged(of_verify).take(self._accepts)
        return joined(verifies, self.forward.lists(of_forward).take(self._rows)).take(self._order)

    def both(self, of_verifies: Int64s, of_rows: Int64s) -> Int64s:
        """A column of `accept` and one of `forward` for the instances."""
        return np.concatenate((of_verifies[self._accepts], of_rows[self._rows]))[self._order]

    @property
    def _plain(self) -> Mask:
        """Rows of an extend or plain decode that the target writes for a request."""
        forward, pool = self.forward, self.forward.texts("pool")
        main = ~pool.known | pool.equal(self.lengths.namespaces.main_name)
        mine = forward.texts("request").known | (forward.ints("row") > 0)
        return mask(
            forward.texts("mode").equal("extend", "decode") & main & mine & (forward.flags("padded") != 1)
        )


class OfTargetWrites:
    """A scope over `TargetWrites`."""

    rests_on: Mapping[str, tuple[str, ...]] = {
        "accept": ("row", "epoch"),
        "forward": ("mode", "row", "epoch"),
        "lengths": ("row", "epoch", "cause"),
        "release": ("row", "epoch"),
    }

    def __init__(self, writes: TargetWrites) -> None:
        self.writes, self.lengths, self.info = writes, writes.lengths, writes.info
        self.seq, self.life = writes.seq, writes.life

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        return self.writes.place(index)

    def kind(self, index: int) -> str:
        """Verifies and forwards are different kinds."""
        return "accept" if self.writes.of_verify[index] else "forward"
