"""The events of a request as people read them, in the order of `seq`, with the moves that concern it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.page_history import ranges

LENGTHS = ("seq_len", "committed")
DETAILS = {
    "alloc": "reason", "free": "reason", "lengths": "cause", "forward": "mode", "release": "kind", "transfer": "direction",
}  # fmt: skip
OF_STATE = ("state_access", "state_clear", "state_commit")
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeEvent:
    """One event in the life of a request; what its table does not say is None.

    Attributes:
        event: The table; of a cache or transfer event with its action.
        committed, allocated: The host's lengths; of a verify `seq_len` before it, of a reserve the allocated length after it.
        accepted, width: Rows that a verify accepted, of how many.
        start: First position in the request's row that `slots` go to.
        slots: Those that the event names, in its order.
        moved: Pairs (target, source) of a mover call that move what this request verified; `KV[target] <- KV[source]`.
    """

    seq: int
    step: int | None
    event: str
    row: int | None = None
    epoch: int | None = None
    pool: str | None = None
    committed: int | None = None
    allocated: int | None = None
    accepted: int | None = None
    width: int | None = None
    start: int | None = None
    slots: tuple[int, ...] = ()
    moved: Pairs = ()
    detail: str | None = None
    site: str | None = None


def life_events(process: ProcessRecording, found: Mapping[str, Columns]) -> list[LifeEvent]:
    """The events that were found, and the moves of the steps in which the request was verified."""
    events = [_event(table, columns, i) for table, columns in found.items() for i in range(len(columns))]
    if "accept" in found:
        events += _moves(process, found["accept"])
    return sorted(events, key=lambda event: event.seq)


def _event(table: str, columns: Columns, index: int) -> LifeEvent:
    action = columns.text_at("action", index)
    names = ("new_allocated", "allocated") if table == "reserve" else ("allocated",)
    return LifeEvent(
        seq=columns.int_at("seq", index) or 0,
        step=columns.int_at("step", index),
        event=table if action is None else f"{table} {action}",
        row=columns.int_at("row", index),
        epoch=columns.int_at("epoch", index),
        pool=columns.text_at("pool", index),
        committed=_first(columns, LENGTHS, index),
        allocated=_first(columns, names, index),
        accepted=columns.int_at("accept_len", index),
        width=columns.int_at("width", index),
        start=columns.int_at("start", index),
        slots=_slots(columns, index),
        detail=_detail(table, columns, index),
        site=columns.text_at("site", index),
    )


def _first(columns: Columns, names: tuple[str, ...], index: int) -> int | None:
    return next((value for name in names if (value := columns.int_at(name, index)) is not None), None)


def _slots(columns: Columns, index: int) -> tuple[int, ...]:
    name = next((name for name in ("slots", "out_cache_loc") if columns.has(name)), None)
    return () if name is None else columns.lists(name).tuple(index) or ()


def _detail(table: str, columns: Columns, index: int) -> str | None:
    if table == "alloc" and columns.int_at("granted", index) == 0:
        return f"refused: out of memory ({columns.text_at('reason', index) or 'reason not recorded'})"
    if table == "lengths" and (cut := columns.text_at("cut", index)) is not None:
        return f"{columns.text_at('cause', index) or ''}, cut by {cut}"
    if table == "release" and (start := columns.int_at("free_start", index)) is not None:
        return f"{columns.text_at('kind', index) or ''}, tail free starts at {start}"
    if table == "cache" and (node := columns.int_at("node", index)) is not None:
        return f"node {node}"
    if table in OF_STATE:
        return _state(table, columns, index)
    return columns.text_at(DETAILS[table], index) if table in DETAILS else None


def _state(table: str, columns: Columns, index: int) -> str:
    """What is done to state beside the KV, such as `c128_state: positions [0, 12)`."""
    if table == "state_commit":
        what = f"behind verify row {columns.int_at('step_index', index)}"
    elif table == "state_access":
        positions = columns.lists("positions").tuple(index) or ()
        known = tuple(position for position in positions if position >= 0)
        what = f"positions {ranges(known)}" if known else "the neutral state"
    elif columns.int_at("width", index) is None:
        what = "the whole ring"
    else:
        what = f"ring rows {ranges(columns.lists('ring_rows').tuple(index) or ())}"
    return f"{columns.text_at('pool', index) or 'state'}: {what}"


def _moves(process: ProcessRecording, accept: Columns) -> Iterator[LifeEvent]:
    """Mover calls in a step of the request, with the pairs whose source one of its verify rows wrote."""
    verified = {step: i for i in range(len(accept)) if (step := accept.int_at("step", i)) is not None}
    for piece in process.pieces("move"):
        if not np.isin(Columns(piece.read(["step"])).ints("step"), list(verified)).any():
            continue
        columns = Columns(piece.read(["step", "pool", "caller", "src", "tgt"]))
        steps = columns.ints("step")
        for row in np.flatnonzero(np.isin(steps, list(verified))).tolist():
            index = verified[int(steps[row])]
            pairs = _own(accept, index, columns, row)
            if pairs:
                yield LifeEvent(
                    seq=columns.int_at("seq", row) or 0,
                    step=int(steps[row]),
                    event="move",
                    row=accept.int_at("row", index),
                    epoch=accept.int_at("epoch", index),
                    pool=columns.text_at("pool", row),
                    moved=pairs,
                    detail=columns.text_at("caller", row),
                )


def _own(accept: Columns, verify: int, move: Columns, row: int) -> Pairs:
    src, tgt = move.lists("src")[row], move.lists("tgt")[row]
    count = min(len(src), len(tgt))
    mine = np.flatnonzero(np.isin(src[:count], accept.lists("out_cache_loc")[verify]))
    return tuple((int(tgt[k]), int(src[k])) for k in mine.tolist())
