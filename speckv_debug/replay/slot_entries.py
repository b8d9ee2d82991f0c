"""Events that name a slot, as people read them: what was done, by whom, at which position, from where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.free_times import FreeTimes
from speckv_debug.replay.life_events import Pairs
from speckv_debug.replay.lives_named import Names
from speckv_debug.replay.ragged import Int64s
from speckv_debug.replay.slot_scan import Wanted
from speckv_debug.replay.verifies import VerifyBatch

WHOLE_PAGE = ("free", "cache evict", "cache session_close")
"""Events that concern the whole page of a slot that they name."""
NO_END = "its free group has no end in the recording"
DETAILS = {
    "alloc": "reason",
    "free": "reason",
    "forward": "mode",
    "move": "caller",
    "transfer": "direction",
}
"""Column that says more of an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotEvent:
    """One event in the history of a slot or page.

    Attributes:
        event: The table; of a cache or transfer event with its action, such as `cache insert`.
        request, row, epoch: Who; the request is that of the row where the event names the row alone.
        slots: Those asked for that the event names; ascending.
        positions: Where they lie in the request's row, or in a tree's sequence, `[first, end)`; None if not said.
        moved: Pairs (target, source) of a mover call that touch the slots, `KV[target] <- KV[source]`.
        detail: Reason of a grant or free, mode of a forward, rows of a verify, who called the mover.
        site: The function that called, if recorded.
        takes_effect: `seq` at which a free that waits in a group takes effect, None at once.
    """

    seq: int
    step: int | None
    event: str
    request: str | None = None
    row: int | None = None
    epoch: int | None = None
    slots: tuple[int, ...] = ()
    positions: tuple[int, int] | None = None
    moved: Pairs = ()
    detail: str | None = None
    site: str | None = None
    takes_effect: int | None = None

    @property
    def whole_page(self) -> bool:
        """Whether it concerns the other slots of the page as well."""
        return self.event in WHOLE_PAGE


Detail = Callable[[int, Int64s], str | None]


def entries(
    process: ProcessRecording,
    found: Mapping[str, Columns],
    lists: Mapping[str, tuple[str, ...]],
    wanted: Wanted,
) -> list[SlotEvent]:
    """The events that were found, ascending in `seq`; `lists` are the columns of each table that may name the ids."""
    maker = _Maker(process, found, lists, wanted)
    return sorted((event for table in found for event in maker.of(table)), key=lambda event: event.seq)


class _Maker:
    def __init__(
        self,
        process: ProcessRecording,
        found: Mapping[str, Columns],
        lists: Mapping[str, tuple[str, ...]],
        wanted: Wanted,
    ) -> None:
        self._found, self._lists, self._wanted = found, lists, wanted
        self._names, self._info = Names(process), process.info
        self._free_times = FreeTimes(lambda: Columns(process.columns("free_group", "action", "group")))
        self._movers = self._verified_at()

    def of(self, table: str) -> Iterator[SlotEvent]:
        columns, details = self._found[table], self._details(table)
        for index in range(len(columns)):
            at = self._places(table, index)
            yield self._event(table, columns, index, at, details(index, at))

    def _event(self, table: str, columns: Columns, index: int, at: Int64s, detail: str | None) -> SlotEvent:
        step, row, epoch = (columns.int_at(name, index) for name in ("step", "row", "epoch"))
        seq, request = columns.int_at("seq", index) or 0, columns.text_at("request", index)
        slots = self._slots(table, index)
        if table == "move":
            request, row, epoch = (
                self._movers.get(step, (None, None, None)) if step is not None else (None,) * 3
            )
        action = columns.text_at("action", index)
        group = self._free_times.group_of(columns, index, seq) if table == "free" else None
        return SlotEvent(
            seq=seq,
            step=step,
            event=table if action is None else f"{table} {action}",
            request=request if request is not None else self._names.of(row, epoch),
            row=row,
            epoch=epoch,
            slots=slots,
            positions=self._positions(table, columns, index, at),
            moved=self._pairs(index) if table == "move" else (),
            detail=detail if group is None or group[1] is not None else NO_END,
            site=columns.text_at("site", index),
            takes_effect=None if group is None else group[1],
        )

    def _places(self, table: str, index: int) -> Int64s:
        """Where in the event's first list that names one the ids stand."""
        for name in self._lists[table]:
            if len(at := np.flatnonzero(self._wanted.inside(self._found[table].lists(name)[index]))):
                return at.astype(np.int64)
        return np.empty(0, dtype=np.int64)

    def _slots(self, table: str, index: int) -> tuple[int, ...]:
        values = np.concatenate([self._found[table].lists(name)[index] for name in self._lists[table]])
        return tuple(np.unique(values[self._wanted.inside(values)]).tolist())

    def _positions(self, table: str, columns: Columns, index: int, at: Int64s) -> tuple[int, int] | None:
        name = "seq_len" if table == "accept" else "start"
        start = columns.int_at(name, index)
        return None if start is None or not len(at) else (start + int(at[0]), start + int(at[-1]) + 1)

    def _details(self, table: str) -> Detail:
        columns = self._found[table]
        if table == "accept":
            return _Rows(VerifyBatch(columns, self._info)).say
        if table == "swa_map":
            return self._mapping
        if table == "page_ref":
            return self._holder
        name = DETAILS.get(table)
        if table == "cache":
            return lambda index, at: _node(columns.int_at("node", index))
        return lambda index, at: None if name is None else columns.text_at(name, index)

    def _pairs(self, index: int) -> Pairs:
        columns = self._found["move"]
        src, tgt = columns.lists("src")[index], columns.lists("tgt")[index]
        count = min(len(src), len(tgt))
        inside = self._wanted.inside(np.concatenate((src[:count], tgt[:count])))
        pairs = np.flatnonzero(inside[:count] | inside[count:]).tolist()
        return tuple((int(tgt[k]), int(src[k])) for k in pairs)

    def _holder(self, index: int, at: Int64s) -> str | None:
        """Who takes or gives up a reference, and the count behind it."""
        columns = self._found["page_ref"]
        counts, holder = columns.lists("count_after")[index], columns.text_at("holder", index)
        told = [f"count {counts[k]}" for k in at[:1].tolist() if k < len(counts)]
        return ", ".join([*([] if holder is None else [holder]), *told]) or None

    def _mapping(self, index: int, at: Int64s) -> str | None:
        columns = self._found["swa_map"]
        full, swa = columns.lists("full_slots")[index], columns.lists("swa_slots")[index]
        if len(full) != len(swa):
            return None
        return ", ".join(f"full {full[k]} → swa {swa[k]}" for k in at.tolist())

    def _verified_at(self) -> dict[int, tuple[str | None, int | None, int | None]]:
        """Step → whose verify wrote the slots then: whom a move in that step belongs to, where it was one alone."""
        accept, found = self._found.get("accept"), dict[int, tuple[str | None, int | None, int | None]]()
        for index in range(0 if accept is None else len(accept)):
            assert accept is not None
            who = (
                accept.text_at("request", index),
                accept.int_at("row", index),
                accept.int_at("epoch", index),
            )
            if (step := accept.int_at("step", index)) is not None:
                found[step] = who if found.get(step, who) == who else (None, None, None)
        return found


class _Rows:
    """What became of the verify rows that wrote the slots."""

    def __init__(self, verifies: VerifyBatch) -> None:
        self._verifies = verifies

    def say(self, index: int, at: Int64s) -> str:
        """Such as `rows 0, 1, 3 accepted, 2 rejected`."""
        rows = at.tolist()
        if not self._verifies.path_known[index]:
            return f"{_listed(rows)}, which rows were accepted is not recorded"
        taken = set(self._verifies.path[index].tolist())
        accepted, rejected = [r for r in rows if r in taken], [r for r in rows if r not in taken]
        if not rejected:
            return f"{_listed(accepted)} accepted"
        if not accepted:
            return f"{_listed(rejected)} rejected"
        return f"{_listed(accepted)} accepted, {', '.join(map(str, rejected))} rejected"


def _listed(rows: list[int]) -> str:
    return f"row{'' if len(rows) == 1 else 's'} {', '.join(map(str, rows))}"


def _node(node: int | None) -> str | None:
    return None if node is None else f"node {node}"
