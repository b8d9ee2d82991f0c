"""Addresses of slots in Triton, such that the compiler sees 16 bytes at a time."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

import functools
from typing import Any

import torch
import triton
import triton.language as tl

from speckv_debug.kernels.slots import Geometry

ELEMENTS = {1: tl.int8, 2: tl.int16, 4: tl.int32}


def element_type(shape: Geometry) -> Any:
    """The Triton type that a layout is copied in."""
    return ELEMENTS[shape.element]


def next_tile(row: int, most: int) -> int:
    """Columns of a tile, a power of two: the widest that wastes at most an eighth, else the least wasteful."""
    widest: int = min(triton.next_power_of_2(row), most)
    widths = [widest >> k for k in range(widest.bit_length()) if widest >> k >= min(32, widest)]
    waste = {width: -(-row // width) * width / row for width in widths}
    return next((w for w in widths if waste[w] <= 1.125), min(widths, key=lambda w: waste[w]))


def programs(device: torch.device, per_sm: int) -> int:
    """Programs that a persistent kernel is launched with; a few where Triton is interpreted on the CPU."""
    return _multiprocessors(device) * per_sm if device.type == "cuda" else 3


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def early_start(wanted: bool) -> dict[str, Any]:
    """Options of a launch that begins while the kernel before it still runs, and waits for that one with `gdc_wait`."""
    return {"launch_pdl": True} if wanted else {}


@functools.cache
def starts_early(device: torch.device) -> bool:
    """Whether a GPU can launch so: NVIDIA's from Hopper on."""
    if device.type != "cuda" or torch.version.hip is not None:
        return False
    return torch.cuda.get_device_capability(device) >= (9, 0)


@triton.jit
def slot_offset(slot, PAGE: tl.constexpr, PAGE_STRIDE: tl.constexpr, SLOT_STRIDE: tl.constexpr):
    """Elements from the first byte of a component to that of a slot, int64."""
    wide = slot.to(tl.int64)
    if PAGE == 1:
        return wide * PAGE_STRIDE
    else:
        return wide // PAGE * PAGE_STRIDE + wide % PAGE * SLOT_STRIDE


@triton.jit
def element_offset(e, PIECES: tl.constexpr, PIECE_STRIDE: tl.constexpr, PIECE: tl.constexpr):
    """Elements from the first byte of a slot to its element e."""
    if PIECES == 1:
        return e
    else:
        return e // PIECE * PIECE_STRIDE + e % PIECE
