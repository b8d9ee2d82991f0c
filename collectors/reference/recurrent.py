"""The recurrent layer in memory: one state a request row, moved on by what a verify accepts."""

from __future__ import annotations

import torch
from torch import Tensor

from speckv_debug.collectors.reference.batch import Round
from speckv_debug.collectors.reference.compressor import Recurrence
from speckv_debug.collectors.reference.model import DTYPE, Addresses, Entries
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.request import Request

POOL = "mamba"


class RecurrentLayer:
    """Each verify row has the state behind it; the request keeps that of its last accepted row (SGLang
    `commit_mamba_states_after_verify`).
    """

    def __init__(self, recurrence: Recurrence, rows: int, hidden: int, observer: Observer) -> None:
        """All rows begin with nothing."""
        self.recurrence, self._observer = recurrence, observer
        self.memory = torch.zeros(rows, hidden, dtype=DTYPE)
        self.looked: Tensor | None = None

    def look(self, x: Tensor, where: Addresses) -> Entries:
        """Each row attends to the state behind it."""
        block = where.block
        assert block is not None
        distance = where.positions - block.starts[:, None]
        states = self.recurrence.states(self.memory[block.rows], x, distance, block.sees)
        if block.settled:
            self.memory[block.rows] = states[:, -1]
        self.looked = states
        return Entries(values=states, mask=torch.eye(x.shape[1], dtype=torch.bool).expand(len(x), -1, -1))

    def settle(self, round_: Round, kept: list[int]) -> None:
        """Keep the state behind local row `kept[i]` of each request."""
        assert self.looked is not None
        for i, (request, step) in enumerate(zip(round_.requests, kept, strict=True)):
            assert request.row is not None
            self.memory[request.row] = self.looked[i, step]
            self._observer.emit(
                "state_commit", pool=POOL, request=request.id, row=request.row, step_index=step
            )

    def begin_row(self, request: Request, state: Tensor | None) -> None:
        """A request starts from a state that the tree has kept, or from nothing."""
        assert request.row is not None
        self.memory[request.row] = 0 if state is None else state
