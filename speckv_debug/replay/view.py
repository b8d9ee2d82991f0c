"""What rules look at: the instances of each kind in one process, column-wise, built once.

Each scope is a cached property that a rule names in `@rule(scope=...)`; what they are about is said in `*_view.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.recording.meaning import senseless
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.left_out import MOST, NEVER_LEFT_OUT, Reasons, as_drops, odd_events, without
from speckv_debug.replay.lives_named import Names
from speckv_debug.replay.ragged import Int64s
from speckv_debug.replay.recompute import Kernels
from speckv_debug.replay.replay_view import ReplayScopes
from speckv_debug.replay.state_view import StateScopes
from speckv_debug.replay.stream import Stretches
from speckv_debug.replay.told_whole import Loose, Origin, poolless
from speckv_debug.replay.united import United

OF_PAIRS = frozenset({"relocations", "moved_pairs", "launches", "settlements", "replayed_moves"})
BESIDE = {
    "lengths": {
        "successions",
        "commits",
        "late_commits",
        "session_trims",
        "row_grants",
        "reuses",
        "bounds",
        "reserves",
        "growths",
        "replayed_reserves",
        "tokens",
        "evictions",
        "reaches",
    },
    "target_writes": {"tokens", "reaches"},
    "written_tokens": {"tokens"},
    "recomputed_slots": {"replayed_slots", "replayed_moves"},
    **dict.fromkeys(("relocations", "due_pairs", "pair_match", "settlements"), OF_PAIRS),
}
"""What scopes are made from, and the scopes that it is held for."""
STEPPED = ("accept", "forward", "reserve", "compact", "alloc", "lengths")
"""Tables whose events mostly say their step."""
__all__ = ["ProcessView", "Recording", "views"]


class ProcessView(StateScopes, ReplayScopes):
    """One recorded process as columns and scopes.

    Args:
        process: The process.
        device: Where replay runs its kernels, `cpu` or `cuda`.
        processes: All processes of the recording, for what is compared between ranks.

    Attributes:
        formatted: Whether the recording says in which format it is written.
        left_out: Table → its columns and the events of it that are not judged, once `leave_out` was called.
        kept: Whether `keep` was called since it was made or forgot.
        pools: Table → the pools that its events name, where all of it has been looked at.
        senseless: Table → what in it has no meaning, see `senseless_in`, where all of it has been looked at.
    """

    def __init__(
        self, process: ProcessRecording, device: str = "cpu", processes: Sequence[ProcessRecording] = ()
    ) -> None:
        self.process, self.processes = process, processes or (process,)
        self.kernels = Kernels(device)
        self._columns: dict[str, Columns] = {}
        self.formatted, self.kept = True, False
        self.left_out: Mapping[str, tuple[Columns, Reasons]] | None = None
        self.pools: Mapping[str, AbstractSet[str]] = {}
        self.senseless: Mapping[str, AbstractSet[tuple[str, str]]] = {}

    @property
    def info(self) -> Process:
        """What the process says of itself."""
        return self.process.info

    @property
    def label(self) -> str:
        """The process's label, such as `tp0-pp0-dp0-4711`."""
        return self.process.label

    @property
    def settings(self) -> Mapping[str, Any]:
        """The engine's settings, as recorded."""
        return self.process.info.settings

    @cached_property
    def names(self) -> Names:
        """Which request a row and epoch is of."""
        return Names(self.process)

    def columns(self, table: str) -> Columns:
        """The columns of one event table, empty ones if there is none."""
        if table not in self._columns:
            self._columns[table] = Columns(self.process.table(table))
        return self._columns[table]

    def let_go(self, scope: str, needed: AbstractSet[str]) -> None:
        """Free what a scope holds, unless it is among those still needed; it is made again if it is asked for."""
        for name in (scope, *(made for made, users in BESIDE.items() if not needed & users)):
            if name not in needed:
                vars(self).pop(name, None)

    def keep(self, table: str, columns: Columns) -> None:
        """Look at these columns of a table from now on."""
        self._columns[table], self.kept = columns, True

    def forget(self) -> None:
        """Free all columns and scopes; they are made again if they are asked for."""
        process, processes, kernels, formatted = self.process, self.processes, self.kernels, self.formatted
        vars(self).clear()
        self.process, self.processes, self.kernels, self.formatted = process, processes, kernels, formatted
        self._columns, self.kept, self.pools, self.senseless, self.left_out = {}, False, {}, {}, None

    def leave_out(self) -> None:
        """Look no more at events in which something means nothing, as if the recorder had dropped them: before any scope."""
        if self.left_out is not None:
            return
        found = {name: self._odd_events(name) for name in self.process.present if name not in NEVER_LEFT_OUT}
        self.left_out = {
            name: odd for name, odd in found.items() if 0 < sum(map(len, odd[1].values())) <= MOST
        }
        for name, (_, reasons) in self.left_out.items():
            self._columns[name] = Columns(without(self.process.table(name), reasons))
        if self.left_out:
            self._columns["drop"] = Columns(as_drops(self.process.table("drop"), self.left_out))
            vars(self).pop("unanswered", None)

    def _poolless(self) -> Int64s:
        """`seq` of grants of pools that are not declared, those that are left out among them."""
        if (left_out := (self.left_out or {}).get("alloc")) is not None:
            return poolless(left_out[0], self.info)
        odd = not {self.info.main_pool, *self.pools_of("alloc")} <= self.info.declared_pools
        return poolless(self.columns("alloc"), self.info) if odd else np.empty(0, dtype=np.int64)

    def _odd_events(self, table: str) -> tuple[Columns, Reasons]:
        declared = self.info.declared_pools if self.info.pools else frozenset[str]()
        if not (self.senseless_in(table) or (declared and self.pools_of(table) - declared)):
            return self.columns(table), {}
        columns = Columns(self.process.table(table))
        return columns, odd_events(table, columns, declared)

    def senseless_in(self, table: str) -> AbstractSet[tuple[str, str]]:
        """Columns of a table that hold a value without a meaning, and what it is."""
        if table not in self.senseless:
            return frozenset(senseless(table, self.process.table(table)))
        return self.senseless[table]

    def close(self) -> None:
        """Free all memory now, for good: scopes refer to the view and to one another."""
        vars(self).clear()

    def pools_of(self, table: str) -> AbstractSet[str]:
        """The pools that the events of a table name."""
        if table not in self.pools and self.columns(table).has("pool"):
            return self.columns(table).texts("pool").used
        return self.pools.get(table, frozenset())

    @property
    def stepless(self) -> bool:
        """Whether no event says its step: a recording may do without steps altogether."""
        return all(self.columns(table).absent("step").all() for table in STEPPED)

    @cached_property
    def stretches(self) -> United:
        """One instance a stretch of events without a hole, one the process itself, and one a grant or a verify that lacks
        what belongs to it."""
        process, info = self.process, self.info
        cut_off = any(problem.kind == "missing_end" for problem in process.problems)
        stretches = Stretches(process.gaps(), process.present, self.columns, cut_off)
        origin = Origin(info, formatted=self.formatted, events=len(stretches) > 0)
        grants = Loose(self._poolless())
        return United(stretches, origin, grants, Loose(self.unanswered))


def views(recording: Recording, device: str = "cpu") -> tuple[ProcessView, ...]:
    """A view of each process, in the recording's order; replay runs its kernels on `device`."""
    found = tuple(ProcessView(process, device, recording.processes) for process in recording.processes)
    for view in found:
        view.formatted = "format_version" in recording.manifest
    return found
