"""One use for several neighbouring pages, where a map has no room for every page."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from speckv_debug.replay.pool_state import Use

LOUD = (Use.WAITING, Use.TRANSFER, Use.CONFLICT)
"""Uses that a block shows as soon as one of its pages has them, the last of them first: they are rare and matter."""


def block_uses(use: npt.NDArray[np.int8], block: int) -> npt.NDArray[np.int8]:
    """int8[blocks]: the use that most pages of each block have, unless one of them has a loud one.

    Where two uses are as frequent, the later one of `Use` is shown. The last block may have fewer pages.
    """
    if block == 1:
        return use
    blocks = -(-len(use) // block)
    of = np.arange(len(use)) // block
    counts = np.bincount(of * len(Use) + use, minlength=blocks * len(Use)).reshape(blocks, len(Use))
    found = (len(Use) - 1 - counts[:, ::-1].argmax(axis=1)).astype(np.int8)
    for loud in LOUD:
        found[counts[:, loud] > 0] = loud
    return np.asarray(found, dtype=np.int8)
