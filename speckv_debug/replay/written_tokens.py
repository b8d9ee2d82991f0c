"""Tokens that the target's forwards take in, beside the token that was handed on for their first position."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, mask
from speckv_debug.replay.target_writes import OfTargetWrites, TargetWrites
from speckv_debug.replay.token_facts import ListFacts

FORGETTING = ("session_trim", "session_restore", "retract", "finish")
"""Causes of a length after which a position may get another token."""


class WrittenTokens(OfTargetWrites):
    """One instance a verify of a request, and a row of an extend or plain decode of the target.

    Attributes:
        before: The instance of the same life before it, -1 if there is none.
    """

    reads = ("accept", "forward", "lengths", "release")
    columns_from = ("accept", "forward", "lengths", "release")

    def __init__(self, writes: TargetWrites) -> None:
        super().__init__(writes)
        self.verifies, self.forward, self.start = writes.verifies, writes.forward, writes.start
        self.of_verify, self.extending = writes.of_verify, writes.extending
        self.before = _before(self.life)

    @property
    def tokens(self) -> Ragged:
        """Input ids; of a verify, its draft_tokens, root first."""
        return self.writes.tokens

    @property
    def positions(self) -> Ragged:
        """Position of each input id."""
        return self.writes.positions

    @cached_property
    def first(self) -> Int64s:
        """The token at the first position, NULL if unknown."""
        return self.writes.both(*(facts.first for facts in self._facts))

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
        return self._flag("placeholder")

    @cached_property
    def jumping(self) -> Mask:
        """Positions do not begin at the first one, or do not rise by 1; those of a tree from each row to its children."""
        return self._flag("jumping")

    def _flag(self, name: str) -> Mask:
        first, second = (getattr(facts, name).astype(np.int64) for facts in self._facts)
        return mask(self.writes.both(first, second))

    @cached_property
    def _facts(self) -> tuple[ListFacts, ListFacts]:
        """What the lists of the verifies come to, and those of the forwards."""
        batch, forward = self.verifies, self.forward
        straight = np.ones(len(forward), dtype=np.bool_)
        plain = np.flatnonzero(forward.texts("mode").equal("extend", "decode"))
        lists = (batch.ragged("draft_tokens"), batch.ragged("positions"))
        links = batch.ragged("next_token"), batch.ragged("next_sibling")
        live = np.flatnonzero(~batch.padding)
        return (
            ListFacts.of(*lists, batch.seq_len, batch.of("layout", "chain"), live, links),
            ListFacts.of(
                forward.lists("tokens"), forward.lists("positions"), forward.ints("start"), straight, plain
            ),
        )

    @property
    def _end(self) -> Int64s:
        """The position that the token handed on is for, NULL if unknown."""
        length, n = self.verifies.seq_len, self.verifies.accepted
        unknown = (length == NULL) | (n == NULL)
        of_verify = np.where(unknown, NULL, length + np.where(unknown, 0, n))
        count, start = self.forward.lists("tokens").lengths, self.forward.ints("start")
        return self.writes.both(of_verify, np.where((start == NULL) | (count == 0), NULL, start + count))

    @property
    def _handed(self) -> Int64s:
        """The bonus of a verify, the token that an extend or plain decode sampled; NULL if unknown."""
        return self.writes.both(self.verifies.bonus_token, self.forward.ints("next_token"))

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


def _before(lives: Int64s) -> Int64s:
    """For each instance the one before it of the same life, -1 if there is none."""
    order = np.argsort(lives, kind="stable")
    same = (lives[order][1:] == lives[order][:-1]) & (lives[order][1:] >= 0)
    before = np.full(len(lives), -1, dtype=np.int64)
    before[order[1:]] = np.where(same, order[:-1], -1)
    return before
