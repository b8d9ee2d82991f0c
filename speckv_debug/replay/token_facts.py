"""What lists of input ids and positions come to: a few numbers a list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, mask


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFacts:
    """Of each event with a list of input ids.

    Attributes:
        first: Its first token, NULL without any.
        placeholder: One of them is -1.
        jumping: Its positions do not begin at its start, or do not rise by 1; of a tree, its root alone is looked at.
    """

    first: Int64s
    placeholder: Mask
    jumping: Mask

    @classmethod
    def of(cls, tokens: Ragged, positions: Ragged, start: Int64s, linear: Mask, which: Int64s) -> ListFacts:
        """The facts of lists; `start` may be NULL, `linear` is False of trees. Flags are of the lists `which` alone."""
        n = np.arange(len(tokens))
        flags = np.zeros((2, len(tokens)), dtype=np.bool_)
        looked_at, at = (each if len(which) == len(n) else each.take(which) for each in (tokens, positions))
        begin = np.where(start[which] == NULL, at.at(n[: len(which)], np.zeros_like(which)), start[which])
        minus = mask(looked_at.values == -1)
        flags[0, which] = any_per_list(minus, looked_at.owners, len(which)) if minus.any() else False
        flags[1, which] = _jumping(looked_at, at, begin, linear[which])
        return cls(
            first=tokens.at(n, np.zeros_like(n)),
            placeholder=flags[0],
            jumping=flags[1],
        )


def _jumping(tokens: Ragged, positions: Ragged, begin: Int64s, linear: Mask) -> Mask:
    one_each = positions.filled & tokens.present & (positions.lengths == tokens.lengths)
    one_each &= (begin != NULL) & (positions.lengths > 0)
    width = int(positions.lengths.max(initial=0))
    if width and one_each.all() and (positions.lengths == width).all():
        apart = positions.values.reshape(-1, width) != begin[:, None] + np.arange(width)
        return mask(apart[:, :1].any(axis=1) | (linear & apart.any(axis=1)))
    owners, within = positions.owners, positions.within
    looked_at = one_each[owners] & ((within == 0) | linear[owners])
    wrong = looked_at & (positions.values != begin[owners] + within)
    return any_per_list(mask(wrong), owners, len(tokens))
