"""Tokens that forwards compute, beside what the request's own sequence holds there: rows of a verify, and of a drafter.

A drafter that looks ahead (SGLang's EAGLE family and STANDALONE, `_draft_extend_for_prefill` of eagle_worker_v2, 0.5.13 to
0.5.23) stores at position p the token of p + 1; the last row of a chunk stores the prompt's next token.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.computed_positions import ComputedPositions
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, joined, mask, starts
from speckv_debug.replay.reads import verify_of
from speckv_debug.replay.same_step import keys_of, last_of_step
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import of_drafter

Pairs = tuple[Int64s, Int64s, Int64s, Int64s]
"""Instance, row of its forward, token there, and the token due, of each row that can be compared."""
_NOTHING: Pairs = (np.empty(0, dtype=np.int64),) * 4


class CopiedTokens:
    """Rows of `forward` whose tokens follow from other events of their step.

    Attributes:
        index: Those rows: verifies of the target with their accept, and what a drafter stores behind a verify or a prefill.
        verify: Of each, whether it is the target's.
        accept, extend: The accept, and the target's extend, of the same step and request row, -1 if there is none.
    """

    def __init__(self, forward: Columns, verifies: VerifyBatch, info: Process) -> None:
        self.forward, self.verifies, self.info = forward, verifies, info
        accept, extend = verify_of(forward, verifies), _extend_of(forward, self._drafting)
        mode, live = forward.texts("mode"), forward.flags("padded") != 1
        checked = mode.equal("target_verify") & ~self._drafting & (accept >= 0)
        stored = self._drafting & mode.equal("extend", "draft_extend") & ((accept >= 0) | (extend >= 0))
        tokens, sampled = forward.lists("tokens"), np.append(forward.ints("next_token"), NULL)[extend]
        tail = (accept < 0) & (tokens.lengths <= 1) & (sampled == NULL)  # follows from the next chunk alone
        which = live & (checked | (tokens.present & stored & ~tail & self._alone(stored)))
        self.index = np.flatnonzero(which)
        self.verify, self.accept = mask(checked)[self.index], accept[self.index]
        self.extend = np.where(self.accept < 0, extend[self.index], -1)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def offsets(self) -> tuple[int, ...]:
        """How many tokens the draft pool may be ahead; a recording may call SGLang's STANDALONE level with the target."""
        told = self.info.settings.get("draft_token_offset")
        return (0, 1) if told == 0 else (told,) if isinstance(told, int) else ()

    @cached_property
    def wrong(self) -> Int64s:
        """The first row of each forward that holds another token than is due, -1 if there is none."""
        found = _first_wrong(len(self), _NOTHING if self._repeated else self.of_verify)
        drafts = [_first_wrong(len(self), self.of_draft(offset)) for offset in self.offsets]
        if drafts:
            fits = np.min(drafts, axis=0) < 0
            found = np.where(self.verify | fits, found, drafts[-1])
        return found

    @cached_property
    def misplaced(self) -> Int64s:
        """The first row of each verify's forward that is computed at another position than is due, -1 if there is none."""
        found = np.full(len(self), -1, dtype=np.int64)
        found[self.verify] = self.placed.wrong
        return found

    @cached_property
    def placed(self) -> ComputedPositions:
        """The positions of the target's verifies, in the order of the instances that are such."""
        rows, accepts = self.index[self.verify], self.accept[self.verify]
        return ComputedPositions(self.forward, self.verifies, rows, accepts)

    @cached_property
    def compared(self) -> Mask:
        """Forwards of which any row could be compared; one without tokens is not, whatever its positions are."""
        told = self.forward.lists("tokens").present[self.index]
        found = self.verify & (np.append(self.verifies.path.lengths, 0)[self.accept] > 0)
        found[self.verify] |= self.placed.compared
        found &= told
        for pairs in (*(() if self._repeated else (self.of_verify,)), *map(self.of_draft, self.offsets)):
            found[pairs[0]] = True
        return mask(found)

    @cached_property
    def _repeated(self) -> bool:
        """Every verify of the target computed its draft tokens: no row has to be looked at."""
        tokens, drafts = self.forward.lists("tokens"), self.verifies.ragged("draft_tokens")
        rows, accepts = self.index[self.verify], self.accept[self.verify]
        width = int(drafts.lengths[accepts].max(initial=0))
        if (drafts.lengths[accepts] != width).any() or (tokens.lengths[rows] != width).any():
            return False
        return bool((tokens.table(rows, width) == drafts.table(accepts, width)).all())

    @cached_property
    def of_verify(self) -> Pairs:
        """Accepted rows of the target's verifies: what was computed beside the draft token that was accepted.

        NULL where the list of tokens ends before the row: the row was not computed.
        """
        own = np.flatnonzero(self.verify)
        path, accept = self.verifies.path.take(self.accept[own]), self.accept[own]
        due = self.verifies.ragged("draft_tokens").at(accept[path.owners], path.values)
        told = self.forward.lists("tokens").present[self.index[own]][path.owners]
        owners, rows, due = (each[told & (due != NULL)] for each in (own[path.owners], path.values, due))
        return owners, rows, self.forward.lists("tokens").at(self.index[owners], rows), due

    def of_draft(self, offset: int) -> Pairs:
        """Rows that a drafter stores at positions of the prefix or of accepted rows, one token or none ahead."""
        own, sequence = self._drafts, self._sequence
        tokens = self.forward.lists("tokens").take(self.index[own])
        owners, place = tokens.owners, self._places(tokens, own)
        due = sequence.at(owners, np.where(place < 0, -1, place + offset))
        inside = place < sequence.lengths[owners] - 1
        return self._paired(own[owners], tokens.within, np.where(inside, due, NULL))

    def _paired(self, own: Int64s, row: Int64s, due: Int64s) -> Pairs:
        token = self.forward.lists("tokens").at(self.index[own], row)
        known = (token != NULL) & (due != NULL)
        return own[known], row[known], token[known], due[known]

    def _places(self, tokens: Ragged, own: Int64s) -> Int64s:
        """Place of each token's position in the sequence of its instance; negative before it or where it is not known."""
        rows = self.index[own][tokens.owners]
        told = self.forward.lists("positions").at(rows, tokens.within)
        start = self.forward.ints("start")[rows]
        position = np.where(told == NULL, np.where(start == NULL, -1, start + tokens.within), told)
        base = np.where(
            self.accept[own] >= 0,
            np.append(self.verifies.seq_len, NULL)[self.accept[own]],
            np.append(self.forward.ints("start"), NULL)[self.extend[own]],
        )[tokens.owners]
        return np.where((base == NULL) | (position < 0), -1, position - np.where(base == NULL, 0, base))

    @cached_property
    def _drafts(self) -> Int64s:
        """Instances of drafters, those left out where what was accepted was simulated and is not what was put out."""
        simulated = np.append(self.verifies.simulated, False)[self.accept] & (self.accept >= 0)
        return np.flatnonzero(~self.verify & ~simulated)

    @cached_property
    def _sequence(self) -> Ragged:
        """Of each of `_drafts`: tokens of the accepted rows and the bonus, or of the target's extend and what it sampled."""
        accept, extend = self.accept[self._drafts], self.extend[self._drafts]
        verified, prefilled = accept[accept >= 0], extend[accept < 0]
        path, tokens = self.verifies.path.take(verified), self.forward.lists("tokens").take(prefilled)
        drafted = self.verifies.ragged("draft_tokens").at(verified[path.owners], path.values)
        first = _followed(path, drafted, self.verifies.bonus_token[verified])
        second = _followed(tokens, tokens.values, self.forward.ints("next_token")[prefilled])
        order = np.concatenate((np.flatnonzero(accept >= 0), np.flatnonzero(accept < 0)))
        return joined(first, second).take(np.argsort(order))

    @cached_property
    def _drafting(self) -> Mask:
        return of_drafter(self.forward, self.info)

    def _alone(self, stored: Mask) -> Mask:
        """Rows that are the only ones of their step and request row: drafters of several layers store several."""
        keys = keys_of(self.forward.ints("row"), self.forward.ints("step"))
        rows = np.flatnonzero(stored)
        _, which, counts = np.unique(keys[rows], return_inverse=True, return_counts=True)
        found = np.zeros(len(stored), dtype=np.bool_)
        found[rows] = (counts == 1)[which]
        return found


def _first_wrong(count: int, pairs: Pairs) -> Int64s:
    own, row, token, due = pairs
    wrong = token != due
    found = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(found, own[wrong], row[wrong])
    return np.where(found == np.iinfo(np.int64).max, -1, found)


def _followed(lists: Ragged, values: Int64s, last: Int64s) -> Ragged:
    """Each list with one more value behind it."""
    offsets = starts(lists.lengths + 1)
    found = np.empty(offsets[-1], dtype=np.int64)
    found[offsets[1:] - 1] = last
    found[offsets[lists.owners] + lists.within] = values
    return Ragged(found, offsets, lists.present)


def _extend_of(forward: Columns, drafting: Mask) -> Int64s:
    """For each row of `forward` the target's extend of its step and request row, -1 if there is none."""
    keys = keys_of(forward.ints("row"), forward.ints("step"))
    extend = np.flatnonzero(forward.texts("mode").equal("extend") & ~drafting)
    return np.append(extend, -1)[last_of_step(keys[extend], keys)]
