"""Tensors of whole 32-bit words, which leave a device as they are; others are made so first."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np

KINDS: dict[Any, np.dtype[Any]] = {}
"""NumPy's dtype of each torch dtype that consists of whole 32-bit words; filled by `long`."""
_kind_of = attrgetter("dtype")
_count_of: Any = methodcaller("numel")
_is_contiguous: Any = methodcaller("is_contiguous")


Measured = tuple[Sequence[Any], list[int], list[np.dtype[Any]]]
"""Tensors, how many values each has, and of which dtype."""


def long() -> Any:
    """torch.int64; torch is imported at the first call."""
    import torch

    global _count_of, _is_contiguous
    if not KINDS:
        _count_of, _is_contiguous = torch.Tensor.numel, torch.Tensor.is_contiguous  # called without a look-up
        same = {torch.int32: np.int32, torch.int64: np.int64, torch.float32: np.float32}
        KINDS.update({ours: np.dtype(theirs) for ours, theirs in same.items()})
    return torch.int64


def as_words(tensor: Any) -> Any:
    """The tensor, or a contiguous one of int64 with its values."""
    return (tensor if tensor.dtype in KINDS else tensor.to(long())).contiguous()


def measured(tensors: Sequence[Any]) -> Measured:
    """The tensors, those that are no contiguous whole words made so, with what is asked of them.

    It runs where caches are cold: no Python function is called for each of them.
    """
    if not all(map(_is_contiguous, tensors)) or not KINDS.keys() >= set(map(_kind_of, tensors)):
        tensors = list(map(as_words, tensors))
    return tensors, list(map(_count_of, tensors)), list(map(KINDS.__getitem__, map(_kind_of, tensors)))
