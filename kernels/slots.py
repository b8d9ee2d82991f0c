"""A pool's memory as slots of bytes: each component of each layer as one strided view, whatever its layout.

A view is uint8 `[pages, page_size, pieces, piece_bytes]` over the engine's own storage: slot s lies in page
`s // page_size` at offset `s % page_size`, its bytes are the pieces one after the other. Views of different layouts
(K and V, an MLA latent, scales, indexer keys) stand side by side in one `SlotBuffers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import gcd
from typing import NamedTuple

import torch
from torch import Tensor

VECTOR = 16
"""Bytes of the widest access of a GPU."""


def row_view(buffer: Tensor) -> Tensor:
    """Slots that lie one after the other.

    SGLang `MHATokenToKVPool.k_buffer[layer]` `[slots, heads, dim]`, `MLATokenToKVPool.kv_buffer[layer]`
    `[slots, 1, latent + rope]`, scale buffers `[slots, scales]`; with rows of whole pages, `[pages, page_bytes]`, the
    unified pools' raw envelope, whose "slots" are pages.

    Args:
        buffer: `[slots, ...]` of any dtype, each `buffer[s]` contiguous.
    """
    _need(
        buffer.numel() == 0 or buffer[0].is_contiguous(), "each row of the buffer must be contiguous", buffer
    )
    size = buffer.element_size()
    row = buffer[0].numel() * size
    return _bytes(buffer, (len(buffer), 1, 1, row), (buffer.stride(0) * size, row, row, 1))


def page_view(buffer: Tensor, order: str = "NHD") -> Tensor:
    """Slots in pages, with the heads of a slot together or apart.

    `NHD` is `[pages, page_size, heads, dim]` (0.5.15 `PageMajorMHATokenToKVPool`, the views of unified pools), `HND` is
    `[pages, heads, page_size, dim]` (`SGLANG_USE_HND_KVCACHE`). Only `dim` must be contiguous.

    Args:
        buffer: 4-D, of any dtype.
        order: `NHD` or `HND`.
    """
    _need(
        buffer.dim() == 4 and buffer.stride(3) == 1, "pages need four dimensions, the last contiguous", buffer
    )
    slot, head = (1, 2) if order == "NHD" else (2, 1)
    size = buffer.element_size()
    shape = (buffer.shape[0], buffer.shape[slot], buffer.shape[head], buffer.shape[3] * size)
    strides = (*(buffer.stride(axis) * size for axis in (0, slot, head)), 1)
    return _bytes(buffer, shape, strides)


def packed_view(buffer: Tensor, page_size: int, start: int, row_bytes: int) -> Tensor:
    """One part of pages that hold first one thing of all their slots, then another.

    SGLang `DSATokenToKVPool.index_k_with_scale_buffer[layer]` `[pages, page_size * (dim + 4)]`: keys are
    `packed_view(b, page_size, 0, dim)`, their scales `packed_view(b, page_size, page_size * dim, 4)`.

    Args:
        buffer: `[pages, bytes]` uint8.
        page_size: Slots a page.
        start: Byte of the page where slot 0's part begins.
        row_bytes: Bytes a slot has in this part.
    """
    _need(buffer.dim() == 2 and buffer.element_size() == 1, "packed pages are [pages, bytes]", buffer)
    _need(start + page_size * row_bytes <= buffer.shape[1], "the part ends behind the page", buffer)
    shape, strides = (len(buffer), page_size, 1, row_bytes), (buffer.stride(0), row_bytes, row_bytes, 1)
    return _bytes(buffer, shape, strides, start)


def _bytes(buffer: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], start: int = 0) -> Tensor:
    at = buffer.storage_offset() * buffer.element_size() + start
    view = torch.empty(0, dtype=torch.uint8, device=buffer.device)
    return view.set_(buffer.untyped_storage(), at, shape, strides)


def _need(condition: bool, what: str, buffer: Tensor) -> None:
    if not condition:
        raise ValueError(f"{what}; got shape {tuple(buffer.shape)}, strides {buffer.stride()}")


class Geometry(NamedTuple):
    """The compile-time facts of a layout, strides and sizes in elements of `element` bytes.

    `page` is 1 where slots follow each other at one distance (then `page_stride` is that distance); `pieces` is 1
    where a slot's bytes do. `align` is what divides each address in bytes, at most 16.
    """

    element: int
    align: int
    page: int
    page_stride: int
    slot_stride: int
    pieces: int
    piece_stride: int
    piece: int

    @property
    def row(self) -> int:
        """Elements a slot."""
        return self.pieces * self.piece


def geometry(view: Tensor) -> Geometry:
    """The layout of a byte view; equal for views that one kernel can serve together."""
    pages, page, pieces, piece = view.shape
    page_stride, slot_stride, piece_stride, _ = view.stride()
    if pieces == 1 or piece_stride == piece:
        pieces, piece, piece_stride = 1, pieces * piece, pieces * piece
    if pages == 1 or page == 1 or page_stride == page * slot_stride:
        page_stride = page_stride if page == 1 else slot_stride
        page, slot_stride = 1, page_stride
    align = gcd(VECTOR, view.data_ptr(), page_stride, slot_stride, piece_stride, piece)
    element = min(align, 4)
    page_stride, slot_stride, piece_stride, piece = (
        size // element for size in (page_stride, slot_stride, piece_stride, piece)
    )
    return Geometry(element, align, page, page_stride, slot_stride, pieces, piece_stride, piece)


class Group(NamedTuple):
    """Components of one geometry: where each begins, and its first word in the fingerprint's numbering; int64."""

    geometry: Geometry
    pointers: Tensor
    first_words: Tensor


class SlotBuffers:
    """The components of a pool that belong together: all layers' K and V, say, and their scales.

    What the GPU needs to know of them (addresses, a table of claims) is built at the first use and kept; a call on
    one `SlotBuffers` must follow the last one on the same stream.

    Attributes:
        components: Byte views, in the order in which the fingerprint counts them.
        slots: Slots that each component has.
        device: Where all of them lie.
    """

    def __init__(self, components: Sequence[Tensor]) -> None:
        """Take byte views made by `row_view`, `page_view` or `packed_view`, all on one device."""
        if not components:
            raise ValueError("a pool has at least one component")
        self.components = tuple(components)
        self.slots = min(view.shape[0] * view.shape[1] for view in components)
        self.device = components[0].device

    @property
    def slot_bytes(self) -> int:
        """Bytes of one slot over all components."""
        return sum(view.shape[2] * view.shape[3] for view in self.components)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Components by geometry, in order of first appearance."""
        found: dict[Geometry, list[tuple[int, int]]] = {}
        word = 0
        for view in self.components:
            found.setdefault(geometry(view), []).append((view.data_ptr(), word))
            word += -(-view.shape[2] * view.shape[3] // 4)
        return tuple(
            Group(shape, *torch.tensor(members, dtype=torch.int64).T.contiguous().to(self.device))
            for shape, members in found.items()
        )

    @cached_property
    def claims(self) -> Tensor:
        """`[slots]` int32, all -1 between calls: which pair of a move writes a slot."""
        return torch.full((self.slots,), -1, dtype=torch.int32, device=self.device)
