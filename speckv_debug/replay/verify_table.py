"""All verifies of a long recording by a few columns, each one whole out of the part of the recording around it.

What a viewer needs that must not hold a recording in memory. Indices are those of `StepIndex`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import pyarrow as pa

from speckv_debug.recording.arrays import empty_table
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.recording.schema import CODED, SCHEMAS
from speckv_debug.replay.columns import Texts
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.verify_windows import VerifyWindows
from speckv_debug.replay.windows import KeptColumns

SHOWN = ("step", "row", "accept_len", "width", "request", "sampling")


class Requests(Sequence[str | None]):
    """The request of each verify, as a code and a name."""

    def __init__(self, texts: Texts) -> None:
        self.codes, self.names = texts.codes, texts.names

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str | None]: ...
    def __getitem__(self, index: int | slice) -> str | None | Sequence[str | None]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        code = int(self.codes[index])
        return None if code < 0 else self.names[code]


class VerifyTable(VerifyWindows):
    """All target verifies of one process; columns as of `StepIndex`."""

    def __init__(self, process: ProcessRecording) -> None:
        pieces = (piece.read(list(SHOWN), coded=True) for piece in process.pieces("accept"))
        table = pa.concat_tables([_empty(), *(piece.select(["seq", *SHOWN]) for piece in pieces)])
        names = frozenset(SCHEMAS["accept"].names)
        self._accept = KeptColumns(process, "accept", table.num_rows, names, names, table)
        batch = VerifyBatch(self._accept, process.info)
        super().__init__(process, batch.seq, batch.step)
        self.row = batch.row
        self.accept_len, self.width = batch.accepted, batch.width
        self.simulated = batch.simulated
        self.request = Requests(batch.request)

    def find(self, step: int, request: str | None = None) -> list[int]:
        """Indices of the verifies of a step, of one request if named."""
        at = np.flatnonzero(self.step == step).tolist()
        return at if request is None else [i for i in at if self.request[i] == request]


def _empty() -> pa.Table:
    return empty_table(pa.schema([CODED["accept"].field(name) for name in ("seq", *SHOWN)]))
