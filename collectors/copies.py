"""Tensors of a device into a slot's pinned memory by torch alone: one asynchronous copy each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from speckv_debug.collectors.parcels import Plan, Slot

MOST_COPIES = 64
"""Tensors that are taken together where each needs a copy of its own."""


def copy_each(tensors: Sequence[Any], plan: Plan, slot: Slot) -> None:
    """Queue the copies on the current stream; `plan` says where each tensor's bytes begin."""
    for tensor, start in zip(tensors, plan.starts, strict=True):
        flat = tensor.detach().reshape(-1).view(torch.uint8)
        slot.memory[start : start + flat.numel()].copy_(flat, non_blocking=True)
