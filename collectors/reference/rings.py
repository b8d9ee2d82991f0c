"""Rings of compressor state: where a position's state lies, and what happens to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from speckv_debug.collectors.reference.compression import C4_RING
from speckv_debug.collectors.reference.model import DTYPE
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.table import RequestTable
from speckv_debug.collectors.reference.window import WindowPeers

EMPTY = -1
"""The position that a row without one is said to hold."""


class RingAddress(Protocol):
    """Which row of a pool of states belongs to a position of a request."""

    size: int

    def of(self, rows: Tensor, positions: Tensor) -> Tensor:
        """Addresses, for request rows and positions of one shape."""

    def local(self, row: int, positions: Sequence[int]) -> list[int]:
        """What `state_access` and `state_clear` call them."""


class RequestRing:
    """A ring of a request: `row * size + position % size` (C128; C4 on A5)."""

    def __init__(self, size: int) -> None:
        """Of so many rows a request."""
        self.size = size

    def of(self, rows: Tensor, positions: Tensor) -> Tensor:
        """Addresses."""
        return rows * self.size + positions % self.size

    def local(self, row: int, positions: Sequence[int]) -> list[int]:
        """Rows of the request's ring."""
        return [position % self.size for position in positions]


class PageRing:
    """A ring of a page of the sliding window: `page * size + slot % size` (C4 before A5).

    Whoever shares the page shares the states, and they go with it.
    """

    def __init__(self, table: RequestTable, peers: WindowPeers) -> None:
        """Of the window's slots that `table` and `peers` name."""
        self.size, self._table, self._peers = C4_RING, table, peers

    def of(self, rows: Tensor, positions: Tensor) -> Tensor:
        """Addresses."""
        slots = self._peers.mapping[self._table.memory[rows * self._table.width + positions.clamp(min=0)]]
        return slots // self._peers.page_size * self.size + slots % self.size

    def local(self, row: int, positions: Sequence[int]) -> list[int]:
        """The addresses themselves: they belong to no request."""
        at = torch.tensor(list(positions), dtype=torch.int64)
        found: list[int] = self.of(torch.full_like(at, row), at).tolist()
        return found


class StateRing:
    """The states of one layer, and the events about them."""

    def __init__(self, pool: str, rows: int, width: int, address: RingAddress, observer: Observer) -> None:
        """`rows` rings of states of `width` numbers, all empty."""
        self.pool, self.address, self._observer = pool, address, observer
        self.half = width // 2
        self.memory = torch.zeros(rows * address.size, width, dtype=DTYPE)
        self.memory[:, self.half :] = -math.inf

    def read(self, rows: Tensor, positions: Tensor) -> Tensor:
        """States `[..., width]` that stand where those positions belong."""
        return self.memory[self.address.of(rows, positions)]

    def write(self, rows: Tensor, positions: Tensor, states: Tensor) -> None:
        """Overwrite them; of positions that share a row of the ring the last one stays."""
        size = self.address.size
        last = (slice(None), slice(-size, None))
        at = self.address.of(rows[last], positions[last]).flatten()
        self.memory[at] = states[last].flatten(0, 1)

    def empty(self, rows: Tensor, positions: Tensor) -> None:
        """What they hold weighs nothing any more: first half 0, second half -inf."""
        at = self.address.of(rows, positions)
        self.memory[at, : self.half] = 0
        self.memory[at, self.half :] = -math.inf

    # ---- events -----------------------------------------------------------------------------------

    def report_read(self, request: Request, cells: Sequence[int], wanted: Sequence[int]) -> None:
        """A compression has read the cells of these positions, for `wanted`."""
        self._report("read", request, cells, wanted)

    def report_write(self, request: Request, cells: Sequence[int], stored: Sequence[int]) -> None:
        """The cells of these positions hold `stored` now."""
        size = self.address.size
        self._report("write", request, cells[-size:], stored[-size:])

    def report_clear(self, request: Request, cells: Sequence[int], **more: int | None) -> None:
        """The cells of these positions were emptied; `more` are columns of the event."""
        assert request.row is not None
        at = self.address.of(torch.full((len(cells),), request.row), torch.tensor(cells, dtype=torch.int64))
        halves = (self.memory[at, : self.half], self.memory[at, self.half :])
        first, second = ([float(half.min()), float(half.max())] if len(cells) else [] for half in halves)
        self._observer.emit(
            "state_clear",
            pool=self.pool,
            request=request.id,
            row=request.row,
            ring_size=self.address.size,
            ring_rows=self.address.local(request.row, cells),
            first_half=_worst(first, 0.0),
            second_half=_worst(second, -math.inf),
            **more,
        )

    def _report(self, action: str, request: Request, cells: Sequence[int], positions: Sequence[int]) -> None:
        if not cells:
            return
        assert request.row is not None
        self._observer.emit(
            "state_access",
            pool=self.pool,
            request=request.id,
            row=request.row if isinstance(self.address, RequestRing) else None,
            action=action,
            ring_rows=self.address.local(request.row, cells),
            positions=list(positions),
        )


def _worst(found: list[float], due: float) -> float:
    """A value that is not the due one, if there is one."""
    return next((value for value in found if value != due), due)
