"""Whether each accepted row follows from the one before it."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.ragged import NULL, Mask, any_per_list, frozen
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.worthwhile import worth_compiling


def edges(batch: VerifyBatch, excused: Mask) -> tuple[Mask, Mask]:
    """Verifies with an accepted row that does not follow, and with one of which that can't be told from its token.

    A row follows if the row before it is its parent (in a chain, if it is the next one) and, of a greedy verify, if it
    carries what the target chose there.

    Args:
        batch: The verifies.
        excused: bool[verifies], those of which the links don't matter.

    Returns:
        `broken` and `untold`, bool[verifies] each.
    """
    chain, greedy = batch.of("layout", "chain"), batch.of("sampling", "greedy")
    if not worth_compiling(len(batch.path.values)):
        return _by_columns(batch, chain, excused, greedy)
    from speckv_debug.replay.chains_compiled import follow_edges

    path, parents, chosen, drafted = (
        (frozen(each.values), frozen(each.offsets))
        for each in (batch.path, batch.parents, batch.chosen, batch.ragged("draft_tokens"))
    )
    broken, untold = follow_edges(*path, *parents, *chosen, *drafted, chain, excused, greedy)
    return broken, untold


def _by_columns(batch: VerifyBatch, chain: Mask, excused: Mask, greedy: Mask) -> tuple[Mask, Mask]:
    path = batch.path
    owners, row = path.owners, path.values
    following = np.append(row[1:], -1)
    inner = path.within < path.lengths[owners] - 1
    step = np.where(chain[owners], row + 1 != following, batch.parents.at(owners, following) != row)
    chosen, drafted = batch.chosen.at(owners, row), batch.ragged("draft_tokens").at(owners, following)
    told = inner & greedy[owners] & (chosen != NULL) & (drafted != NULL)
    broken = (inner & step & ~excused[owners]) | (told & (chosen != drafted))
    count = len(batch)
    return any_per_list(broken, owners, count), any_per_list(inner & ~told, owners, count)
