"""The length from which a verify has to start: what the latest event before it that changes a length leads to."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.engine_version import may_preclaim
from speckv_debug.replay.lengths import Lengths
from speckv_debug.replay.ragged import NULL, Int64s, Mask

USUAL = ("spec_prepare", "verify_commit")
GROWING = ("extend", "decode")
HANDING_BACK = ("session_trim", "session_restore")
ACCEPT, FORWARD, RELEASE, CHANGE, REPORT = range(5)
"""What the length is known from: the verify before, an extend or plain decode of the target, the end of a turn (it says
nothing), a report that the host went back or cut, a report of an extend or plain decode whose forward is not recorded."""


class VerifyStarts:
    """For each of some verifies, the latest event of its life that changes the length.

    Under overlap the host reports an extend or plain decode later than its forward, at times behind a verify of a later step:
    the forward counts where there is one.

    Args:
        lengths: The tables.
        seq, life: Of the verifies, int64[verifies].
        before: The accept before each, -1 if there is none.
    """

    def __init__(self, lengths: Lengths, seq: Int64s, life: Int64s, before: Int64s) -> None:
        self._lengths, self._seq, self._life, self._before = lengths, seq, life, before

    @cached_property
    def source(self) -> Int64s:
        """Which kind of event it is (`ACCEPT` to `REPORT`), -1 if there is none."""
        seqs = self._candidates[0]
        return np.where(seqs.max(axis=0) < 0, -1, seqs.argmax(axis=0))

    @cached_property
    def seq(self) -> Int64s:
        """Where it stands, -1 if there is none."""
        found: Int64s = self._candidates[0].max(axis=0)
        return found

    @cached_property
    def length(self) -> Int64s:
        """The length that it leads to, NULL if unknown."""
        values = self._candidates[1]
        return np.where(self.source < 0, NULL, values[self.source, np.arange(len(self._seq))])

    @cached_property
    def _candidates(self) -> tuple[Int64s, Int64s]:
        """`seq` and length of the latest event of each kind, int64[5, verifies]."""
        pairs = [self._accept, self._forward, self._release, self._change]
        anchor = np.maximum.reduce([pairs[at][0] for at in (ACCEPT, RELEASE, CHANGE)])
        at, length = self._report(anchor > pairs[CHANGE][0])
        hidden = (at <= anchor) | (pairs[FORWARD][0] > anchor)
        pairs.append((np.where(hidden, -1, at), length))
        return np.stack([each[0] for each in pairs]), np.stack([each[1] for each in pairs])

    @property
    def _accept(self) -> tuple[Int64s, Int64s]:
        verifies = self._lengths.verifies
        length, n = (np.append(c, NULL)[self._before] for c in (verifies.seq_len, verifies.accepted))
        at = np.append(self._lengths.columns("accept").ints("seq"), -1)[self._before]
        return at, np.where((length == NULL) | (n == NULL), NULL, length + n)

    @property
    def _forward(self) -> tuple[Int64s, Int64s]:
        """What the target computed; where forwards are not recorded whole, each hides what came before it."""
        forward, info = self._lengths.columns("forward"), self._lengths.info
        pool, start = forward.texts("pool"), forward.ints("start")
        which = forward.texts("mode").equal(*GROWING)
        slots, tokens = forward.lists("slots"), forward.lists("tokens")
        count = np.where(slots.present, slots.lengths, np.where(tokens.present, tokens.lengths, NULL))
        end = np.where((start == NULL) | (count == NULL), NULL, start + count)
        if not all(info.records("forward", mode) for mode in GROWING):
            return self._latest("forward", which, np.full(len(end), NULL))
        main = ~pool.known | pool.equal(self._lengths.namespaces.main_name)
        return self._latest("forward", which & main & (forward.flags("padded") != 1), end)

    @property
    def _release(self) -> tuple[Int64s, Int64s]:
        count = len(self._lengths.columns("release"))
        return self._latest("release", np.ones(count, dtype=np.bool_), np.full(count, NULL))

    @property
    def _change(self) -> tuple[Int64s, Int64s]:
        told = self._lengths.columns("lengths")
        cause, cut = told.texts("cause"), told.texts("cut").known
        back = cause.equal(*HANDING_BACK) & ~cut
        which = (~cause.equal(*USUAL, *GROWING) | cut) & self._lengths.main
        return self._latest("lengths", which, np.where(back, told.ints("committed"), NULL))

    def _report(self, behind_verify: Mask) -> tuple[Int64s, Int64s]:
        """A report says nothing of a verify of a later step that came before it, nor of builds that claim a bonus ahead."""
        told, steps = self._lengths.columns("lengths"), self._lengths.columns("accept").ints("step")
        which = told.texts("cause").equal(*GROWING) & ~told.texts("cut").known & self._lengths.main
        found = self._lengths.lives.before("lengths", self._seq, self._life, which)
        at = np.append(told.ints("seq"), -1)[found]
        length, step = (np.append(told.ints(name), NULL)[found] for name in ("committed", "step"))
        earlier = np.append(steps, NULL)[self._before]
        late = behind_verify & ((step == NULL) | (earlier == NULL) | (step <= earlier))
        return at, np.where(late | may_preclaim(self._lengths.info), NULL, length)

    def _latest(self, table: str, which: Mask, values: Int64s) -> tuple[Int64s, Int64s]:
        found = self._lengths.lives.before(table, self._seq, self._life, which)
        return np.append(self._lengths.columns(table).ints("seq"), -1)[found], np.append(values, NULL)[found]
