"""One use for several neighbouring pages, where a map has no room for every page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from speckv_debug.replay.pool_state import Use

LOUD = (Use.WAITING, Use.TRANSFER, Use.CONFLICT)
"""Uses that a block shows as soon as one of its pages has them, the last of them first: they are rare and matter."""


def block_uses(use: npt.NDArray[np.int8], block: int) -> npt.NDArray[np.int8]:
    """int8[blocks]: the use that most pages of each block have, unless one of them has a loud one. The last block may have fewer pages."""
    return use if block == 1 else gathered(use, block, LOUD)[1]


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
