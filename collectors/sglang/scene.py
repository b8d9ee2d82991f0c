"""What every group of hooks works with, and the shape of such a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from speckv_debug.collectors.hooking import Hook, Methods, Target
from speckv_debug.collectors.sglang.activity import Activity
from speckv_debug.collectors.sglang.engine import Engine
from speckv_debug.collectors.sglang.journal import Journal
from speckv_debug.collectors.sglang.requests import Rows
from speckv_debug.collectors.staging import Staged, stage, stage_windows


@dataclass(frozen=True, slots=True)
class Scene:
    """The engine that is recorded, where events go, and what is known about the moment.

    `withdraw(table, why)` stops claiming that a table is recorded whole. `level` is how much is recorded: 1, 2 or 3.
    `ended()` puts the engine's functions back, as the recording has ended by itself.
    """

    engine: Engine
    journal: Journal
    activity: Activity
    rows: Rows
    withdraw: Callable[[str, str], None] = lambda table, why: None
    level: int = 2
    ended: Callable[[], None] = lambda: None

    def table_slots(self, row: int, start: int, stop: int, *, settled: bool = False) -> Staged:
        """`req_to_token[row, start:stop]` as it stands now; `settled` as for `stage`."""
        return stage(self.engine.table.req_to_token[row, start:stop], settled=settled)

    def table_windows(self, rows: Any, starts: Any, width: int) -> Staged:
        """`req_to_token[row, start : start + width]` of many rows as it stands now, [rows * width].

        Args:
            rows: [n] row of each, on the table's device.
            starts: [n] first column of each, on that device.
            width: Columns of each; what would lie past the end of a row repeats its last entry.
        """
        table = self.engine.table.req_to_token
        if (staged := stage_windows(table, rows, starts, width)) is not None:
            return staged
        import torch

        columns = starts[:, None] + torch.arange(width, device=table.device)
        windows = table[rows[:, None].long(), columns.clamp_(max=table.shape[1] - 1)]
        return stage(windows, settled=True)


class HookGroup(Protocol):
    """Hooks that record one part of the engine."""

    def functions(self) -> Iterable[tuple[Target, Hook]]:
        """Module functions and methods of known classes."""

    def methods(self) -> Iterable[Methods]:
        """Methods of the classes that this scheduler built."""


def tensor_like(value: Any) -> bool:
    """Whether a value has a tensor's interface."""
    return hasattr(value, "numel") and hasattr(value, "device")
