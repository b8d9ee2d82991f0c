"""Tokens that the target's forwards take in, beside the token that was handed on for their first position."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.lengths import Lengths
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, joined, mask

FORGETTING = ("session_trim", "session_restore", "retract", "finish")
"""Causes of a length after which a position may get another token."""


class WrittenTokens:
    """One instance a verify of a request, and a row of an extend or plain decode of the target.

    Attributes:
        life: The request row's life, -1 if the event names none.
        before: The instance of the same life before it, -1 if there is none.
    """

    reads = ("accept", "forward", "lengths", "release")
    columns_from = ("accept", "forward", "lengths", "release")
    rests_on: Mapping[str, tuple[str, ...]] = {
        "accept": ("row", "epoch"),
        "forward": ("mode", "row", "epoch"),
        "lengths": ("row", "epoch", "cause"),
        "release": ("row", "epoch"),
    }

    def __init__(self, lengths: Lengths) -> None:
        self.lengths, self.info, self.verifies = lengths, lengths.info, lengths.verifies
        self.forward = lengths.columns("forward")
        self._accepts = np.flatnonzero(~self.verifies.padding)
        self._rows = np.flatnonzero(self._plain)
        seq = np.concatenate((self.verifies.seq[self._accepts], self.forward.ints("seq")[self._rows]))
        self._order = np.argsort(seq, kind="stable")
        self.seq = seq[self._order]
        lives = lengths.lives
        self.life = self._both(lives.of("accept")[self._accepts], lives.of("forward")[self._rows])
        self.before = _before(self.life)

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        at = int(self._order[index])
        if at < len(self._accepts):
            return self.verifies.place(int(self._accepts[at]))
        return place_of(self.forward, int(self._rows[at - len(self._accepts)]))

    def kind(self, index: int) -> str:
        """Verifies and forwards are different kinds."""
        return "accept" if self.of_verify[index] else "forward"

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
        return self._lists("draft_tokens", "tokens")

    @cached_property
    def positions(self) -> Ragged:
        """Position of each input id."""
        return self._lists("positions", "positions")

    @cached_property
    def start(self) -> Int64s:
        """First position, NULL if unknown."""
        told = self._both(self.verifies.seq_len[self._accepts], self.forward.ints("start")[self._rows])
        return np.where(told == NULL, self._first(self.positions), told)

    @cached_property
    def first(self) -> Int64s:
        """The token at the first position, NULL if unknown."""
        return self._first(self.tokens)

    @cached_property
    def due(self) -> Int64s:
        """The token that was handed on for the first position, NULL if unknown."""
        handed, end = np.append(self._handed, NULL)[self.before], np.append(self._end, NULL)[self.before]
        known = (self.before >= 0) & (end == self.start) & (end != NULL) & ~self._forgotten
        return np.where(known, handed, NULL)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the event that handed the token on to this one."""
        return np.where(self.due == NULL, self.seq, np.append(self.seq, 0)[self.before]), self.seq

    @cached_property
    def placeholder(self) -> Mask:
        """An input id is -1."""
        return any_per_list(mask(self.tokens.values == -1), self.tokens.owners, len(self))

    @cached_property
    def jumping(self) -> Mask:
        """Positions do not begin at the first one, or do not rise by 1; of a tree, its root alone is looked at."""
        positions = self.positions
        one_each = positions.filled & self.tokens.present & (positions.lengths == self.tokens.lengths)
        one_each &= (self.start != NULL) & (positions.lengths > 0)
        owners, within = positions.owners, positions.within
        chain = np.append(self.verifies.of("layout", "chain")[self._accepts], np.ones(len(self._rows)))
        looked_at = one_each[owners] & ((within == 0) | mask(chain[self._order])[owners])
        wrong = looked_at & (positions.values != self.start[owners] + within)
        return any_per_list(mask(wrong), owners, len(self))

    @property
    def _plain(self) -> Mask:
        """Rows of an extend or plain decode that the target writes for a request."""
        forward, pool = self.forward, self.forward.texts("pool")
        main = ~pool.known | pool.equal(self.lengths.namespaces.main_name)
        mine = forward.texts("request").known | (forward.ints("row") > 0)
        return mask(
            forward.texts("mode").equal("extend", "decode") & main & mine & (forward.flags("padded") != 1)
        )

    @property
    def _end(self) -> Int64s:
        """The position that the token handed on is for, NULL if unknown."""
        length, n = self.verifies.seq_len[self._accepts], self.verifies.accepted[self._accepts]
        unknown = (length == NULL) | (n == NULL)
        of_verify = np.where(unknown, NULL, length + np.where(unknown, 0, n))
        count = self.forward.lists("tokens").lengths[self._rows]
        start = self.forward.ints("start")[self._rows]
        return self._both(of_verify, np.where((start == NULL) | (count == 0), NULL, start + count))

    @property
    def _handed(self) -> Int64s:
        """The bonus of a verify, the token that an extend or plain decode sampled; NULL if unknown."""
        return self._both(
            self.verifies.bonus_token[self._accepts], self.forward.ints("next_token")[self._rows]
        )

    @property
    def _forgotten(self) -> Mask:
        """The request ended, was retracted, trimmed or cut since the event before."""
        lengths = self.lengths.columns("lengths")
        other = lengths.texts("cause").equal(*FORGETTING) | lengths.texts("cut").known
        every = np.ones(len(self.lengths.columns("release")), dtype=np.bool_)
        since, found = np.append(self.seq, -1)[self.before], np.zeros(len(self), dtype=np.bool_)
        for table, which in (("lengths", mask(other & self.lengths.main)), ("release", every)):
            seq = np.append(self.lengths.columns(table).ints("seq"), -1)
            found |= seq[self.lengths.lives.before(table, self.seq, self.life, which)] > since
        return found

    def _lists(self, of_verify: str, of_forward: str) -> Ragged:
        verifies = self.verifies.ragged(of_verify).take(self._accepts)
        return joined(verifies, self.forward.lists(of_forward).take(self._rows)).take(self._order)

    def _both(self, of_verifies: Int64s, of_rows: Int64s) -> Int64s:
        return np.concatenate((of_verifies, of_rows))[self._order]

    def _first(self, lists: Ragged) -> Int64s:
        return lists.at(np.arange(len(self)), np.zeros(len(self), dtype=np.int64))


def _before(lives: Int64s) -> Int64s:
    """For each instance the one before it of the same life, -1 if there is none."""
    order = np.argsort(lives, kind="stable")
    same = (lives[order][1:] == lives[order][:-1]) & (lives[order][1:] >= 0)
    before = np.full(len(lives), -1, dtype=np.int64)
    before[order[1:]] = np.where(same, order[:-1], -1)
    return before
