"""One compressed layer in memory: entries of complete groups, states of positions, and what a verify does to both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from speckv_debug.collectors.reference.batch import Round
from speckv_debug.collectors.reference.compressor import Compressor
from speckv_debug.collectors.reference.model import DTYPE, Addresses, Block, Entries
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.rings import EMPTY, StateRing

EntrySlots = Callable[[Tensor, Tensor], Tensor]
"""Where the entries of groups lie, for request rows and groups of one shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a forward had of a layer.

    Attributes:
        states: `[B, T, width]` of its rows.
        entries: `[B, T, hidden]` that each row's path makes of the group it lies in.
        cells: `[B, T, window]` positions of its window.
        read: `[B, T, window]` which of them it read from the ring.
        wrote: The states went to the ring at once.
    """

    block: Block
    positions: Tensor
    states: Tensor
    entries: Tensor
    cells: Tensor
    read: Tensor
    wrote: bool


class CompressedLayer:
    """The kernel knows no lengths: it takes a group's whole window from the ring, but for the rows that it computes itself.

    A state that was never written, or emptied, weighs nothing. So it reads the ring before it writes to it, rows of
    rejected drafts must be emptied where the window reaches beyond the row (C128), and need not be where it ends with it (C4).
    """

    def __init__(
        self,
        compressor: Compressor,
        ring: StateRing,
        entries: int,
        slots: EntrySlots,
        *,
        by_prefix: bool,
    ) -> None:
        """With `by_prefix` states of a verify are written once it is known which rows are accepted (DSpark)."""
        self.compressor, self.ring, self.slots, self.by_prefix = compressor, ring, slots, by_prefix
        self.compression = compressor.compression
        self.memory = torch.zeros(entries, compressor.hidden, dtype=DTYPE)
        self.group_of: dict[int, int] = {}
        self.looked: Looked | None = None
        self._left: list[tuple[int, list[int]]] = []

    def look(self, x: Tensor, where: Addresses) -> Entries:
        """Entries that rows attend to: of complete groups, and what each row's own path makes of the groups of the block."""
        block, kind = where.block, self.compression
        assert block is not None
        self._enter_groups(block)
        states, positions = self.compressor.states(x), where.positions
        first = kind.first(positions)
        cells = first[..., None] + torch.arange(kind.window)
        behind = (cells < block.starts[:, None, None]) | (cells > positions[..., None])
        read = behind & (cells >= 0)
        held = self.ring.read(block.rows[:, None, None].expand_as(cells), cells)
        count = x.shape[1]
        own = states[:, None].expand(-1, count, -1, -1)
        offsets = positions[:, None] - first[..., None]
        inside = block.sees & (offsets >= 0) & (offsets < kind.window)
        made = self.compressor.entries(
            torch.cat((held, own), 2),
            torch.cat((torch.arange(kind.window).expand_as(cells), offsets), 2),
            torch.cat((read, inside), 2),
        )
        wrote = block.settled or not self.by_prefix
        if wrote:
            at = block.starts[:, None] + torch.arange(count)
            self.ring.write(block.rows[:, None].expand_as(at), at, states)
        self.looked = Looked(
            block=block,
            positions=positions,
            states=states,
            entries=made,
            cells=cells,
            read=read & (kind.ends(positions) | kind.pending)[..., None],
            wrote=wrote,
        )
        if block.settled:
            self._keep_complete(block.rows, positions, made)
        return self._visible(block, positions, made)

    def _visible(self, block: Block, positions: Tensor, made: Tensor) -> Entries:
        kind, count = self.compression, positions.shape[1]
        groups = torch.arange(int(block.starts.max()) // kind.ratio)
        rows = block.rows[:, None].expand(-1, len(groups))
        old = self.memory[self.slots(rows, groups.expand_as(rows))]
        valid = (groups < (block.starts // kind.ratio)[:, None])[:, None].expand(-1, count, -1)
        mine = block.sees & kind.ends(positions)[:, None]
        if kind.pending:
            mine = mine | torch.eye(count, dtype=torch.bool)
        return Entries(values=torch.cat((old, made), 1), mask=torch.cat((valid, mine), 2))

    def _keep_complete(self, rows: Tensor, positions: Tensor, made: Tensor) -> None:
        """Entries of the groups that some of the positions complete; all `[B, T]`, entries `[B, T, hidden]`."""
        done = self.compression.ends(positions)
        rows = rows[:, None].expand_as(positions)[done]
        self.memory[self.slots(rows, positions[done] // self.compression.ratio)] = made[done]

    def _enter_groups(self, block: Block) -> None:
        """The first forward in a group empties the rows that the group before has left, for the group behind."""
        kind = self.compression
        if not kind.pending:
            return
        for row, start in zip(block.rows.tolist(), block.starts.tolist(), strict=True):
            group = start // kind.ratio
            if row and group > self.group_of.get(row, 0):
                left = list(range((group - 1) * kind.ratio, group * kind.ratio))
                self.ring.empty(torch.full((len(left),), row), torch.tensor(left))
                self.group_of[row] = group
                self._left.append((row, left))

    # ---- behind a verify --------------------------------------------------------------------------

    def settle(self, round_: Round, paths: list[list[int]]) -> None:
        """Keep the states and entries of the accepted local rows of each request, in the place of their positions."""
        looked = self.looked
        assert looked is not None
        for i, (request, path) in enumerate(zip(round_.requests, paths, strict=True)):
            start = round_.starts[i]
            if looked.wrote:
                self._bring_forward(request, start, path)
            else:
                self.commit(request, start, looked.states[i, path])
            row, at = torch.tensor([request.row]), start + torch.arange(len(path))[None]
            self._keep_complete(row, at, looked.entries[i, path][None])

    def commit(self, request: Request, start: int, states: Tensor) -> None:
        """Write the states of positions from `start` on (DSpark: those of accepted rows)."""
        cells = torch.arange(start, start + len(states))[None]
        self.ring.write(torch.full_like(cells, request.row or 0), cells, states[None])
        self.ring.report_write(request, cells[0].tolist(), cells[0].tolist())

    def _bring_forward(self, request: Request, start: int, path: list[int]) -> None:
        """States of accepted rows come to the front of the window, as their KV does."""
        moved = [(start + row, start + k) for k, row in enumerate(path) if row != k]
        if not moved:
            return
        sources, targets = (torch.tensor(cells) for cells in zip(*moved, strict=True))
        row = torch.full_like(sources, request.row or 0)
        self.ring.memory[self.ring.address.of(row, targets)] = self.ring.read(row, sources)
        self.ring.report_read(request, sources.tolist(), targets.tolist())
        self.ring.report_write(request, targets.tolist(), targets.tolist())

    def clear(self, request: Request, start: int, offsets: range, *, accept_len: int, width: int) -> None:
        """Empty the rows of the verify window at `offsets` from its start (SGLang `clear_unaccepted_c128_draft_states`)."""
        cells = [start + offset for offset in offsets]
        rows = torch.full((len(cells),), request.row or 0)
        self.ring.empty(rows, torch.tensor(cells, dtype=torch.int64))
        self.ring.report_clear(request, cells, seq_len=start, accept_len=accept_len, width=width)

    def end_row(self, request: Request) -> None:
        """Empty a request's whole ring, before someone else gets its row (SGLang `clear_request_scoped_state`)."""
        assert request.row is not None
        cells = list(range(self.ring.address.size))
        self.ring.empty(torch.full((len(cells),), request.row), torch.tensor(cells))
        self.group_of.pop(request.row, None)
        self.ring.report_clear(request, cells, seq_len=None, accept_len=None, width=None)

    # ---- events -----------------------------------------------------------------------------------

    def report(self, requests: list[Request]) -> None:
        """What the last forward did for these requests, the first of its batch: rows emptied, read, written."""
        looked = self.looked
        assert looked is not None
        for row, cells in self._left:
            who = next(request for request in requests if request.row == row)
            self.ring.report_write(who, cells, [EMPTY] * len(cells))
        self._left = []
        for i, request in enumerate(requests):
            start = int(looked.block.starts[i])
            cells = sorted(set(looked.cells[i][looked.read[i]].tolist()))
            self.ring.report_read(request, cells, [cell if cell < start else EMPTY for cell in cells])
        if looked.wrote:
            for i, request in enumerate(requests):
                start = int(looked.block.starts[i])
                at = list(range(start, start + looked.positions.shape[1]))
                self.ring.report_write(request, at, looked.positions[i].tolist())
