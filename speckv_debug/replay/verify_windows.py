"""Single verifies of a long recording, each whole out of the part of the recording around it; a few such parts are kept.

Indices are those of `StepIndex`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pyarrow as pa

from speckv_debug.model.verify import KVBounds, VerifyStep
from speckv_debug.recording.arrays import empty_table
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.recording.schema import CODED, SCHEMAS
from speckv_debug.recording.table_files import seq_of
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s
from speckv_debug.replay.steps import StepIndex
from speckv_debug.replay.verify_details import CompactedTensor, Recomputed, compacted, recomputed
from speckv_debug.replay.view import ProcessView
from speckv_debug.replay.windows import WindowView

AROUND = ("accept", "move", "compact", "lengths")
"""Tables that one verify is drawn from."""
NEAR = 256
"""Verifies on each side of a window; half of them are drawn from it before another one is made."""
BEHIND = 4096
"""Events behind the last verify of a window: the calls of its step may be among them."""
PIECES = 8
"""Parts of tables that are held in memory."""
WINDOWS = 4


class VerifyWindows:
    """Target verifies of one process, drawn one by one.

    Args:
        process: The process.
        seq: int64[n], the event of each verify, ascending.
        step: int64[n], its engine step, `NULL` where it was not recorded.
    """

    def __init__(self, process: ProcessRecording, seq: Int64s, step: Int64s) -> None:
        self._process, self.seq, self.step = process, seq, step
        self._pieces: OrderedDict[tuple[str, int], pa.Table] = OrderedDict()
        self._windows: OrderedDict[int, StepIndex] = OrderedDict()
        self._views: dict[int, ProcessView] = {}

    @classmethod
    def of(cls, process: ProcessRecording) -> VerifyWindows:
        """Reads the two columns that it needs and no more."""
        empty = empty_table(pa.schema([CODED["accept"].field(name) for name in ("seq", "step")]))
        pieces = (piece.read(["step"], coded=True) for piece in process.pieces("accept"))
        columns = Columns(pa.concat_tables([empty, *(piece.select(["seq", "step"]) for piece in pieces)]))
        return cls(process, columns.ints("seq"), columns.ints("step"))

    def __len__(self) -> int:
        return len(self.seq)

    def verify(self, index: int) -> VerifyStep:
        """Everything known of one verify.

        Raises:
            IndexError: There is no verify of that index.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"verify {index} of {len(self)}")
        window = self._window(index // NEAR)
        step = window.verify(int(np.searchsorted(window.seq, self.seq[index])))
        if step.bounds is None and step.row is not None:
            return replace(step, bounds=self._earlier_bounds(step))
        return step

    def view(self, index: int) -> ProcessView:
        """The part of the recording around a verify, for what is worked out of whole steps."""
        first, last = self._span(index // NEAR)
        tables = {name: self._rows(name, first, last) for name in AROUND}
        return WindowView(ProcessView(self._process), tables, last, 1.0)

    def compacted(self, index: int) -> tuple[CompactedTensor, ...]:
        """A verify's tensors before and after compaction."""
        return compacted(*self._at(index))

    def recomputed(self, index: int) -> tuple[Recomputed, ...]:
        """A verify's result beside what the kernels make of its inputs; imports torch."""
        return recomputed(*self._at(index))

    def _at(self, index: int) -> tuple[ProcessView, int]:
        """The part of the recording around a verify, and its place among the verifies there."""
        window = self._window(index // NEAR)
        return self._views[index // NEAR], int(np.searchsorted(window.seq, self.seq[index]))

    def _window(self, number: int) -> StepIndex:
        if number not in self._windows:
            self._views[number] = self.view(number * NEAR)
            self._windows[number] = StepIndex(self._process, self._views[number])
            while len(self._windows) > WINDOWS:
                del self._views[self._windows.popitem(last=False)[0]]
            pa.default_memory_pool().release_unused()  # whole parts were read for a few rows of them
        self._windows.move_to_end(number)
        return self._windows[number]

    def _span(self, number: int) -> tuple[int, int]:
        """First and last event of a window: verifies on both sides, whole steps, what follows the last one."""
        start, last = max(0, (number - 1) * NEAR), min(len(self), (number + 2) * NEAR) - 1
        while start > 0 and self.step[start - 1] == self.step[start] != NULL:
            start -= 1
        while last + 1 < len(self) and self.step[last + 1] == self.step[last] != NULL:
            last += 1
        return (int(self.seq[start - 1]) + 1 if start else 0), int(self.seq[last]) + BEHIND

    def _rows(self, name: str, first: int, last: int) -> pa.Table:
        found = [SCHEMAS[name].empty_table()]
        for number, piece in enumerate(self._process.pieces(name)):
            if piece.last >= first and piece.first <= last:
                found.append(_between(self._piece(name, number), first, last))
        return pa.concat_tables(found)

    def _piece(self, name: str, number: int) -> pa.Table:
        key = name, number
        if key not in self._pieces:
            self._pieces[key] = self._process.pieces(name)[number].read()
            while len(self._pieces) > PIECES:
                self._pieces.popitem(last=False)
        self._pieces.move_to_end(key)
        return self._pieces[key]

    def _earlier_bounds(self, step: VerifyStep) -> KVBounds | None:
        """The lengths that were reported last, of a request that was silent all through the window."""
        for piece in reversed(self._process.pieces("lengths")):
            if piece.first >= step.seq:
                continue
            columns = Columns(piece.read(["row", "epoch", "pool", "committed", "allocated"]))
            pool = columns.texts("pool")
            mine = (columns.ints("row") == step.row) & (columns.ints("seq") < step.seq)
            mine &= columns.ints("epoch") == (NULL if step.epoch is None else step.epoch)
            at = np.flatnonzero(mine & (pool.equal(self._process.info.main_pool) | ~pool.known))
            if len(at):
                last = [columns.int_at(name, int(at[-1])) for name in ("committed", "allocated")]
                return None if None in last else KVBounds(committed=last[0] or 0, allocated=last[1] or 0)
        return None


def _between(table: pa.Table, first: int, last: int) -> pa.Table:
    """A copy of the rows of `[first, last]`, so that the piece may go."""
    seq: Int64s = seq_of(table)
    start, stop = (int(np.searchsorted(seq, at)) for at in (first, last + 1))
    return table.take(pa.array(np.arange(start, stop)))
