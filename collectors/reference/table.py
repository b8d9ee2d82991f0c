"""`req_to_token`: which slot holds which position of which request, and who holds which row."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.request import Request
from speckv_debug.kernels.locate import row_slots


class RequestTable:
    """Rows of slots in one flat tensor, as kernels see it: a write beyond a row's end lands in the next row.

    Row 0 is padding and holds slot 0 everywhere. A row that was freed keeps its stale contents.
    """

    def __init__(self, rows: int, width: int, observer: Observer) -> None:
        """Rows `[1, rows]` are free; the row freed last is handed out first (SGLang 0.5.23)."""
        self.rows, self.width, self._observer = rows + 1, width, observer
        self.memory = torch.zeros((rows + 2) * width, dtype=torch.int64)
        self._free = list(range(rows, 0, -1))
        self._epochs = [0] * (rows + 1)

    @property
    def free_rows(self) -> int:
        """Rows that can be handed out."""
        return len(self._free)

    def take_row(self, request: Request) -> None:
        """Give the request a row; the row's epoch goes up."""
        request.row = row = self._free.pop()
        self._epochs[row] += 1
        request.epoch = self._epochs[row]
        self._observer.emit("row_alloc", **request.identity)

    def free_row(self, request: Request) -> None:
        """Take the request's row back."""
        assert request.row is not None
        self._observer.emit("row_free", **request.identity)
        self._free.append(request.row)

    def write(self, request: Request, start: int, slots: Sequence[int]) -> None:
        """`req_to_token[row, start:start + n] = slots`, unchecked."""
        if not slots:
            return
        assert request.row is not None
        at = request.row * self.width + start
        self.memory[at : at + len(slots)] = torch.tensor(slots)
        self._observer.emit(
            "table_write", pool="full", row=request.row, epoch=request.epoch, start=start, slots=list(slots)
        )

    def slots(self, request: Request, start: int, end: int) -> list[int]:
        """Slots of the request's positions `[start, end)`."""
        assert request.row is not None
        at = request.row * self.width
        result: list[int] = self.memory[at + start : at + end].tolist()
        return result

    def window(self, rows: Tensor, starts: Tensor, count: int) -> Tensor:
        """Slots `[bs, count]` of positions `[start, start + count)` of each row; starts `[bs]` or one for all."""
        return row_slots(self.memory, self.width, rows, starts, count)
