"""Many small tensors into one buffer in Triton. The contract stands in `pack.py`."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from speckv_debug.kernels.pack import ALIGNMENT, Place

MOST = 64  # tensors a launch; 16 bytes of arguments each
BLOCK = 1024


def pack(tensors: Sequence[Tensor], places: Sequence[Place], out: Tensor) -> None:
    """See `pack.pack`."""
    held = [tensor.contiguous() for tensor in tensors]
    for first in range(0, len(held), MOST):
        part = held[first : first + MOST]
        _launch(part, out[places[first].start :])


def _launch(tensors: list[Tensor], out: Tensor) -> None:
    """Addresses and sizes go as arguments, times 16, so that no value among them is worth a compilation of its own."""
    sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
    count = max(4, triton.next_power_of_2(len(tensors)))
    spare = count - len(tensors)
    addresses = [tensor.data_ptr() or out.data_ptr() for tensor in tensors] + [out.data_ptr()] * spare
    word = 4 if all(n % 4 == 0 for n in (*sizes, *addresses)) else 1
    grid = (len(tensors), max(1, min(16, triton.cdiv(max(sizes), 8 * BLOCK * word))))
    _pack[grid](
        out,
        tuple(16 * address for address in addresses),
        tuple(16 * (size + 1) for size in [*sizes, *[0] * spare]),
        COUNT=count,
        WORD=word,
        ALIGNMENT=ALIGNMENT,
        BLOCK=BLOCK,
    )


@triton.jit
def _pack(
    out,
    addresses,
    sizes,
    COUNT: tl.constexpr,
    WORD: tl.constexpr,
    ALIGNMENT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    mine = tl.program_id(0)
    address = addresses[0]
    size = sizes[0] // 16 - 1
    start = mine * 0
    for k in tl.static_range(COUNT):
        bytes_k = sizes[k] // 16 - 1
        start += tl.where(k < mine, (bytes_k + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT, 0)
        address = tl.where(k == mine, addresses[k], address)
        size = tl.where(k == mine, bytes_k, size)
    if WORD == 4:
        source = (address // 16).to(tl.pointer_type(tl.int32))
        target = (out + start).to(tl.pointer_type(tl.int32))
    else:
        source = (address // 16).to(tl.pointer_type(tl.uint8))
        target = out + start
    for first in range(tl.program_id(1) * BLOCK, size // WORD, tl.num_programs(1) * BLOCK):
        at = first + tl.arange(0, BLOCK)
        tl.store(target + at, tl.load(source + at, at < size // WORD), at < size // WORD)
