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
        jumping: Its positions do not begin at its start, or do not rise by 1; of a tree, from each row to its children.
    """

    first: Int64s
    placeholder: Mask
    jumping: Mask

    @classmethod
    def of(
        cls,
        tokens: Ragged,
        positions: Ragged,
        start: Int64s,
        linear: Mask,
        which: Int64s,
        links: tuple[Ragged, Ragged] | None = None,
    ) -> ListFacts:
        """The facts of lists; `start` may be NULL, `linear` is False of trees. Flags are of the lists `which` alone.

        Args:
            links: Of trees, each row's first child and next sibling (`next_token`, `next_sibling`); -1 for none.
        """
        n = np.arange(len(tokens))
        flags = np.zeros((2, len(tokens)), dtype=np.bool_)
        looked_at, at = (each if len(which) == len(n) else each.take(which) for each in (tokens, positions))
        begin = np.where(start[which] == NULL, at.at(n[: len(which)], np.zeros_like(which)), start[which])
        minus = mask(looked_at.values == -1)
        flags[0, which] = any_per_list(minus, looked_at.owners, len(which)) if minus.any() else False
        flags[1, which] = _jumping(looked_at, at, begin, linear[which])
        for link, rise in zip(links or (), (1, 0), strict=False):
            flags[1, which] |= _apart(looked_at, at, link.take(which), ~linear[which], rise)
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


def _apart(tokens: Ragged, positions: Ragged, links: Ragged, tree: Mask, rise: int) -> Mask:
    """Trees with a row whose linked row does not stand `rise` behind it: position = length before + depth."""
    known = tree & positions.filled & (positions.lengths == tokens.lengths) & links.present
    known &= links.lengths == positions.lengths
    if not known.any():
        return mask(known)
    owners = links.owners
    rows = np.flatnonzero(known[owners] & (links.values >= 0) & (links.values < links.lengths[owners]))
    own, place = owners[rows], links.within[rows]
    there, here = positions.at(own, links.values[rows]), positions.at(own, place)
    return any_per_list(mask(there != here + rise), own, len(tokens))
