"""Stretches of the rows of req_to_token on a GPU, in two calls where torch needs six."""

# mypy: allow-untyped-calls
from __future__ import annotations

import ctypes
import logging
from struct import Struct
from typing import Any

import torch
from torch import Tensor

log = logging.getLogger("speckv_debug")
KINDS = ((torch.int64, torch.int64), (torch.int64, torch.int32))
"""Dtypes of rows and of starts that engines pass."""
FIELDS = Struct("=4Q3i")


class Windows:
    """The kernel for each of `KINDS`, launched directly.

    Args:
        kernels: The module of the kernel.
        launcher: Makes what launches a compiled kernel (`carry_triton.Launch`).
        device: The GPU.

    Raises:
        Exception: Whatever Triton or the driver refuses.
    """

    def __init__(self, kernels: Any, launcher: Any, device: torch.device) -> None:
        self._launches: dict[tuple[torch.dtype, torch.dtype], Any] = {}
        self._table: Tensor | None = None
        self._row: tuple[int, int] | None = None
        self._values = ctypes.create_string_buffer(64)
        first = ctypes.addressof(self._values)
        places = (0, 8, 16, 24, 32, 36, 40, 48, 56)  # four pointers, three 32-bit numbers, Triton's scratch
        self._arguments = (ctypes.c_void_p * len(places))(*(first + place for place in places))
        table = torch.arange(60, dtype=torch.int32, device=device).view(3, 20)
        for rows, starts in KINDS:
            chosen = torch.tensor([2, 0], dtype=rows, device=device)
            begun = torch.tensor([15, 3], dtype=starts, device=device)
            out = torch.empty(16, dtype=torch.int32, device=device)
            self._launches[rows, starts] = launcher(kernels.windows(table, chosen, begun, out, 8))
            found = self(table, chosen, begun, 8, torch.cuda.current_stream(device).cuda_stream)
            due = [*range(55, 60), 59, 59, 59, *range(3, 11)]
            if found is None or found.tolist() != due or out.tolist() != due:
                raise ValueError("the kernel of table windows delivered something else")

    def _know(self, table: Tensor) -> None:
        """Words between two rows and the last column, None of a table that the kernel can't read."""
        fits = table.dtype == torch.int32 and table.ndim == 2 and table.stride(1) == 1
        self._table, self._row = table, (table.stride(0), table.shape[1] - 1) if fits else None

    def __call__(self, table: Tensor, rows: Tensor, starts: Tensor, width: int, stream: int) -> Tensor | None:
        """`table[row, start : start + width]` of each row, flat, on the current stream; None for other dtypes.

        Args:
            table: `[rows, columns]` int32, a row's entries side by side.
            rows: `[n]`.
            starts: `[n]`.
            width: Entries of each; what would lie past the end of a row repeats its last one.
            stream: The current stream.
        """
        launch, count = self._launches.get((rows.dtype, starts.dtype)), rows.numel()
        if table is not self._table:
            self._know(table)
        if launch is None or self._row is None or not count or not width or starts.numel() != count:
            return None
        if not (rows.is_contiguous() and starts.is_contiguous()):
            return None
        out = torch.empty(count * width, dtype=torch.int32, device=rows.device)
        addresses = (table.data_ptr(), rows.data_ptr(), starts.data_ptr(), out.data_ptr())
        FIELDS.pack_into(self._values, 0, *addresses, *self._row, width)
        launch(count, 1, stream, self._arguments)
        return out
