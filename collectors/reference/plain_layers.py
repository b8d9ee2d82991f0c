"""The oracle's compressed and recurrent layers: by their definition, with everything kept by position."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from speckv_debug.collectors.reference.compressor import (
    C4_LAYER,
    C128_LAYER,
    RECURRENT_LAYER,
    Compressor,
    Recurrence,
    SideWeights,
)
from speckv_debug.collectors.reference.model import DTYPE, Entries


class PlainLayer(Protocol):
    """What one layer has beside keys and values."""

    def look(self, x: Tensor, positions: Tensor) -> Entries:
        """Entries for new rows `[1, T, hidden]` at positions `[T]`, which follow on what was seen before."""


class PlainCompression:
    """States and entries by position; a row attends to complete groups before it and, of C128, to its own so far."""

    def __init__(self, compressor: Compressor, length: int) -> None:
        """Room for `length` positions."""
        self.compressor = compressor
        self._states = torch.zeros(length, compressor.width, dtype=DTYPE)
        self._entries = torch.zeros(length, compressor.hidden, dtype=DTYPE)

    def look(self, x: Tensor, positions: Tensor) -> Entries:
        """An entry a position, made of the window of its group up to the position."""
        kind = self.compressor.compression
        self._states[positions] = self.compressor.states(x[0])
        offsets = torch.arange(kind.window).expand(len(positions), -1)
        cells = kind.first(positions)[:, None] + offsets
        counts = (cells >= 0) & (cells <= positions[:, None])
        made = self.compressor.entries(self._states[cells.clamp(min=0) * counts], offsets, counts)
        self._entries[positions] = made
        seen = torch.arange(int(positions[-1]) + 1)
        mask = kind.ends(seen) & (seen <= positions[:, None])
        if kind.pending:
            mask = mask | (seen == positions[:, None])
        return Entries(values=self._entries[None, : len(seen)], mask=mask[None])


class PlainRecurrence:
    """One state, moved on position by position."""

    def __init__(self, recurrence: Recurrence, hidden: int) -> None:
        """It begins with nothing."""
        self._recurrence = recurrence
        self._state = torch.zeros(1, hidden, dtype=DTYPE)

    def look(self, x: Tensor, positions: Tensor) -> Entries:
        """Each row attends to the state behind it."""
        alone, states = torch.ones(1, 1, 1, dtype=torch.bool), []
        for row in x[0]:
            at = torch.zeros(1, 1, dtype=torch.int64)
            self._state = self._recurrence.states(self._state, row[None, None], at, alone)[0]
            states.append(self._state[0])
        mask = torch.eye(len(states), dtype=torch.bool)[None]
        return Entries(values=torch.stack(states)[None], mask=mask)


def plain_layers(side: SideWeights, length: int) -> dict[int, PlainLayer]:
    """By layer, for sequences of up to `length` positions."""
    layers: dict[int, PlainLayer] = {
        C4_LAYER: PlainCompression(side.c4, length),
        C128_LAYER: PlainCompression(side.c128, length),
    }
    if side.recurrence:
        layers[RECURRENT_LAYER] = PlainRecurrence(side.recurrence, side.c4.hidden)
    return layers
