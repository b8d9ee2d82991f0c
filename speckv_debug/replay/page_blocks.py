"""One use for several neighbouring pages, where a map has no room for every page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from speckv_debug.replay.ledger_book import NOBODY
from speckv_debug.replay.pool_state import Use

LOUD = (Use.WAITING, Use.TRANSFER, Use.UNHELD, Use.CONFLICT)
"""Uses that a block shows as soon as one of its pages has them, the last of them first: they are rare and matter."""


LOUDNESS = np.zeros(len(Use), dtype=np.int8)
"""Of each use its place in `LOUD` from 1 on, 0 of those that are not in it."""
LOUDNESS[list(LOUD)] = np.arange(1, len(LOUD) + 1)


def block_uses(use: npt.NDArray[np.int8], block: int) -> npt.NDArray[np.int8]:
    """int8[blocks]: the use that most pages of each block have, unless one of them has a loud one. The last block may have fewer pages."""
    return use if block == 1 else gathered(use, block, LOUD)[1]


HELD = (Use.UNHELD, Use.GRANTED, Use.RESERVE, Use.COMMITTED)
"""Uses of a page that a request has or was the last to have."""
SEVERAL = -2


def block_holders(
    use: npt.NDArray[np.int8], holder: npt.NDArray[np.int32], shown: npt.NDArray[np.int8], block: int
) -> npt.NDArray[np.int32]:
    """int32[blocks]: who holds the pages of the use that a block shows, `SEVERAL` where not one alone, -1 where nobody is known.

    Args:
        use, holder: As in `PoolState`, one a page.
        shown: The use that each block shows.
        block: Neighbouring pages of a block; the last one may have fewer.
    """
    asks = (use == np.repeat(shown, block)[: len(use)]) & np.isin(use, HELD)
    starts = np.arange(0, len(use), block)
    least = np.minimum.reduceat(np.where(asks, holder, np.iinfo(np.int32).max), starts)
    most = np.maximum.reduceat(np.where(asks, holder, NOBODY), starts)
    return np.where((least == most) | (most == NOBODY), most, SEVERAL).astype(np.int32)


def gathered(
    use: npt.NDArray[np.int8], block: int, loud: Sequence[Use]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]:
    """int64[blocks, uses], how many pages of a block have a use; int8[blocks], the use that a block shows.

    That is the one of most of its pages, the later one of `Use` where two are as frequent, unless a page has one of `loud`.

    Args:
        use: int8[pages].
        block: Neighbouring pages of a block; the last one may have fewer.
        loud: The last of those that occur is shown.
    """
    blocks = -(-len(use) // block)
    of = np.arange(len(use)) // block
    counts = np.bincount(of * len(Use) + use, minlength=blocks * len(Use)).reshape(blocks, len(Use))
    shown = (len(Use) - 1 - counts[:, ::-1].argmax(axis=1)).astype(np.int8)
    for each in loud:
        shown[counts[:, each] > 0] = each
    return counts, shown
