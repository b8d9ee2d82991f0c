"""A 64-bit fingerprint of what a slot holds, the same on the CPU and on the GPU."""

from __future__ import annotations

import torch
from torch import Tensor

from speckv_debug.kernels.slots import SlotBuffers

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Constants of splitmix64."""
BATCH_WORDS = 1 << 22


def fingerprints(buffers: SlotBuffers, slots: Tensor) -> Tensor:
    """Fingerprint of each slot's bytes over all components, `[n]` int64 (64 bits; the sign means nothing).

    A slot's bytes are cut into little-endian 32-bit words, each component beginning a new word, and numbered through
    all components in their order. The fingerprint is the sum modulo 2^64 of `word p * key(p)`, where `key(p)` is the p-th
    output of splitmix64 made odd. So equal bytes give equal values wherever the slot lies and whatever the layout;
    slots that differ in one word never agree, others by chance in about one of 2^33 or less; a slot of zeros has 0.
    It guards against faults, not against an adversary.

    Args:
        buffers: The components to cover: choose layers by what is put in.
        slots: `[n]` int32 or int64, on the same device, each inside the pool.
    """
    if buffers.device.type == "cuda":
        from speckv_debug.kernels import fingerprint_triton

        return fingerprint_triton.fingerprints(buffers, slots)
    total, word = torch.zeros(len(slots), dtype=torch.int64), 0
    for view in buffers.components:
        words = -(-view.shape[2] * view.shape[3] // 4)
        key = keys(word, words)
        for part in torch.split(torch.arange(len(slots)), max(1, BATCH_WORDS // words)):
            total[part] += (_words(view, slots[part].long(), words) * key).sum(1)
        word += words
    return total


def keys(first: int, count: int) -> Tensor:
    """`key(p)` for `count` words from `first` on, int64."""
    z = torch.arange(first + 1, first + count + 1) * _signed(GOLDEN)
    z = (z ^ _shifted(z, 30)) * _signed(FIRST)
    z = (z ^ _shifted(z, 27)) * _signed(SECOND)
    return (z ^ _shifted(z, 31)) | 1


def _words(view: Tensor, slots: Tensor, count: int) -> Tensor:
    rows = view[slots // view.shape[1], slots % view.shape[1]].flatten(1)
    padded = torch.zeros(len(slots), 4 * count, dtype=torch.uint8)
    padded[:, : rows.shape[1]] = rows
    return padded.view(torch.int32).long() & 0xFFFFFFFF


def _signed(constant: int) -> int:
    return constant - (1 << 64)


def _shifted(z: Tensor, bits: int) -> Tensor:
    return (z >> bits) & ((1 << (64 - bits)) - 1)
