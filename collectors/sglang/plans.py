"""Plans that kernels of compressors follow: which rows of a state buffer they write and read, and for which positions.

The layouts are those of `DecodePlan`, `CompressPlan` and `WritePlan` (compress_v2.cuh, the same in 0.5.12 to 0.5.23), what the
kernels do with them is in c4_v2.cuh and c128_v2.cuh. A plan of a prefill or verify is read before it is written, one of a
plain decode is written before it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
INVALID = -1
DECODE_WORDS, COMPRESS_WORDS, WRITE_WORDS = 4, 4, 2
"""32-bit words of one entry of each plan."""


@dataclass(frozen=True, slots=True)
class Accesses:
    """Rows of a state buffer that are read, or written.

    Attributes:
        request: Place in the batch of the request that each belongs to.
        address: Row of the buffer.
        position: Logical position whose state is wanted there, or stored.
    """

    request: Int64s
    address: Int64s
    position: Int64s

    def in_order(self) -> Accesses:
        """Request by request, by position: plans that are made on a device have no order of their own."""
        order = np.lexsort((self.position, self.request))
        return Accesses(self.request[order], self.address[order], self.position[order])


def decoded(plan: Any, ratio: int) -> tuple[Accesses, Accesses]:
    """What a plain decode reads and writes; the read comes after the write.

    Args:
        plan: [n * 4] words of `DecodePlan`: seq_len, write_loc, read_page_0, read_page_1.
        ratio: 4 or 128.
    """
    entries = np.asarray(plan).reshape(-1, DECODE_WORDS).astype(np.int64)
    length, write, pages = entries[:, 0], entries[:, 1], entries[:, 2:]
    everybody = np.arange(len(entries))
    full = (length % ratio if ratio == 4 else (write + 1) % ratio) == 0
    read = _pages(everybody[full], length[full], pages[full], np.full(int(full.sum()), _window(ratio)), ratio)
    return read, Accesses(everybody, write, length - 1)


def prefilled(compress: Any, write: Any, first: Any, extends: Any, ratio: int) -> tuple[Accesses, Accesses]:
    """What a prefill or a verify reads, then writes.

    Args:
        compress: [c * 4] words of `CompressPlan`: seq_len, buffer_len << 16 | ragged_id, read_page_0, read_page_1.
        write: [w * 2] words of `WritePlan`: ragged_id, write_loc.
        first: [n] position of each request's first token.
        extends: [n] tokens of each.
        ratio: 4 or 128.
    """
    starts = np.concatenate(([0], np.cumsum(extends, dtype=np.int64)))
    entries = _valid(compress, COMPRESS_WORDS)
    ragged, buffered = entries[:, 1] & 0xFFFF, entries[:, 1] >> 16 & 0xFFFF
    owner = np.searchsorted(starts, ragged, side="right") - 1
    read = _pages(owner, entries[:, 0], entries[:, 2:], buffered, ratio)
    entries = _valid(write, WRITE_WORDS)
    owner = np.searchsorted(starts, entries[:, 0], side="right") - 1
    position = np.asarray(first, np.int64)[owner] + entries[:, 0] - starts[owner]
    return read.in_order(), Accesses(owner, entries[:, 1], position).in_order()


def _valid(plan: Any, words: int) -> Int64s:
    """A plan's entries, without those that only fill it up for a graph."""
    entries = np.asarray(plan).reshape(-1, words).astype(np.int64)
    found: Int64s = entries[entries[:, 0] != INVALID]
    return found


def _window(ratio: int) -> int:
    """Positions that one compression looks at: C4 overlaps."""
    return 2 * ratio if ratio == 4 else ratio


def _pages(owner: Int64s, length: Int64s, pages: Int64s, buffered: Int64s, ratio: int) -> Accesses:
    """What compressions that end at `length` take from the buffer: the first `buffered` positions of their windows.

    C4 takes the first half of its window from page 0, the second from page 1, C128 all from page 1. The first group of a
    request has no group before it: its first half is the neutral state, and not read.
    """
    window = _window(ratio)
    place = np.arange(window)[None, :]
    page = np.repeat(pages, ratio, axis=1) if window > ratio else pages[:, 1:].repeat(ratio, axis=1)
    address, position = page * ratio + place % ratio, length[:, None] - window + place
    taken = (place < buffered[:, None]) & (position >= 0)
    request = np.broadcast_to(owner[:, None], taken.shape)
    return Accesses(request[taken], address[taken], position[taken])
