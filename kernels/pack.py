"""Many small tensors laid into one staging buffer, so that one copy takes them all to the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

ALIGNMENT = 16


class Place(NamedTuple):
    """Where a tensor lies in the buffer: its first byte, its shape and its dtype."""

    start: int
    shape: torch.Size
    dtype: torch.dtype


class Packed(NamedTuple):
    """A buffer `[bytes]` uint8 and the place of each tensor in it."""

    buffer: Tensor
    places: tuple[Place, ...]


def packed_places(tensors: Sequence[Tensor]) -> tuple[tuple[Place, ...], int]:
    """Places of tensors laid one after the other, each from a multiple of 16 bytes on, and the bytes they take."""
    places, start = [], 0
    for tensor in tensors:
        places.append(Place(start, tensor.shape, tensor.dtype))
        start += -(-tensor.numel() * tensor.element_size() // ALIGNMENT) * ALIGNMENT
    return tuple(places), start


def pack(tensors: Sequence[Tensor], out: Tensor | None = None) -> Packed:
    """Copy tensors of any dtypes and shapes into one buffer: on the GPU in one launch for up to 64 of them.

    Nothing is synchronised, and the values are those of the stream's moment. A tensor that is not
    contiguous is made so first, by a launch of its own. The bytes between two places keep what was there.

    Args:
        tensors: All on one device.
        out: `[>= bytes]` uint8 on that device, its first byte aligned to 16, to pack into; a new one if None.
    """
    places, size = packed_places(tensors)
    if out is None:
        device = tensors[0].device if tensors else torch.device("cpu")
        out = torch.empty(size, dtype=torch.uint8, device=device)
    if out.numel() < size:
        raise ValueError(f"the buffer has {out.numel()} bytes, {size} are needed")
    if out.is_cuda:
        from speckv_debug.kernels import pack_triton

        pack_triton.pack(tensors, places, out)
        return Packed(out, places)
    for tensor, place in zip(tensors, places, strict=True):
        flat = tensor.contiguous().view(-1).view(torch.uint8)
        out[place.start : place.start + len(flat)] = flat
    return Packed(out, places)


def unpack(packed: Packed) -> list[Tensor]:
    """The tensors again, as views of the buffer (which may have been copied to the host in between)."""
    return [_view(packed.buffer, place) for place in packed.places]


def _view(buffer: Tensor, place: Place) -> Tensor:
    size = place.shape.numel() * torch.empty(0, dtype=place.dtype).element_size()
    return buffer[place.start : place.start + size].view(place.dtype).view(place.shape)
