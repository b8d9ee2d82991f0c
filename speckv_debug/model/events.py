"""One frozen dataclass a table of the recording; a field is None where the recorder left it out.

List fields are tuples. Slots, pages, rows, positions and tokens are plain integers here, told
apart by the field's name (see `spaces.py`). Shapes: `w` verify rows of the request, `W` width of
accept_index, half-open intervals everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What every table has: the place in the process's event order, the engine step, the time."""

    table: ClassVar[str]
    seq: int
    step: int | None = None
    t_ns: int | None = None
    lane: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept(Event):
    """One request in one target verify: what was drafted, what the target chose, what was accepted."""

    table: ClassVar[str] = "accept"
    request: str | None = None
    row: int | None = None
    epoch: int | None = None
    batch_index: int | None = None
    algorithm: str | None = None
    layout: str | None = None
    sampling: str | None = None
    topk: int | None = None
    width: int | None = None
    block_start: int | None = None
    seq_len: int | None = None
    draft_tokens: Ints | None = None
    positions: Ints | None = None
    next_token: Ints | None = None
    next_sibling: Ints | None = None
    target_predict: Ints | None = None
    predict: Ints | None = None
    accept_index: Ints | None = None
    accept_len: int | None = None
    num_correct_drafts: int | None = None
    out_cache_loc: Ints | None = None
    table_slots: Ints | None = None
    new_seq_len: int | None = None
    bonus_token: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(Event):
    """One call of the pool's mover, `KV[tgt] <- KV[src]`, lists as the engine passed them."""

    table: ClassVar[str] = "move"
    pool: str | None = None
    target_source: str | None = None
    src: Ints | None = None
    tgt: Ints | None = None
    components: tuple[str, ...] | None = None
    caller: str | None = None
    src_before: Ints | None = None
    tgt_after: Ints | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact(Event):
    """Accepted rows of one tensor brought to the front of each request's block."""

    table: ClassVar[str] = "compact"
    tensor: str | None = None
    before: Ints | None = None
    after: Ints | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward(Event):
    """One request in one forward: what was written where, and how far was read."""

    table: ClassVar[str] = "forward"
    mode: str | None = None
    request: str | None = None
    row: int | None = None
    epoch: int | None = None
    pool: str | None = None
    start: int | None = None
    slots: Ints | None = None
    tokens: Ints | None = None
    positions: Ints | None = None
    read_len: int | None = None
    padded: bool | None = None
    next_token: int | None = None
    group: str | None = None
    begin_ns: int | None = None
    end_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alloc(Event):
    """Slots that an allocator granted, or refused (`granted` false, no slots)."""

    table: ClassVar[str] = "alloc"
    pool: str | None = None
    request: str | None = None
    row: int | None = None
    epoch: int | None = None
    slots: Ints | None = None
    reason: str | None = None
    group: int | None = None
    site: str | None = None
    granted: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Free(Event):
    """Slots that the engine passed to a free; a paged pool takes back their whole pages."""

    table: ClassVar[str] = "free"
    pool: str | None = None
    request: str | None = None
    row: int | None = None
    epoch: int | None = None
    slots: Ints | None = None
    reason: str | None = None
    group: int | None = None
    site: str | None = None
    form: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeGroup(Event):
    """Begin or end of a deferred free group; its frees take effect at the end."""

    table: ClassVar[str] = "free_group"
    action: str | None = None
    group: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWrite(Event):
    """`req_to_token[row, start:start+len(slots)] = slots`."""

    table: ClassVar[str] = "table_write"
    pool: str | None = None
    row: int | None = None
    epoch: int | None = None
    start: int | None = None
    slots: Ints | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAlloc(Event):
    """A request row of req_to_token handed out; `epoch` counts how often."""

    table: ClassVar[str] = "row_alloc"
    row: int | None = None
    epoch: int | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFree(Event):
    """A request row given back."""

    table: ClassVar[str] = "row_free"
    row: int | None = None
    epoch: int | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths(Event):
    """The host's committed and allocated length of a request after a change."""

    table: ClassVar[str] = "lengths"
    pool: str | None = None
    request: str | None = None
    row: int | None = None
    epoch: int | None = None
    committed: int | None = None
    allocated: int | None = None
    swa_evicted: int | None = None
    cause: str | None = None
    cut: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve(Event):
    """The growth that a decode preparation decides for a request."""

    table: ClassVar[str] = "reserve"
    request: str | None = None
    row: int | None = None
    epoch: int | None = None
    committed: int | None = None
    allocated: int | None = None
    reserve: int | None = None
    page_size: int | None = None
    new_allocated: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache(Event):
    """What the prefix tree or a session takes, serves, locks or lets go."""

    table: ClassVar[str] = "cache"
    action: str | None = None
    request: str | None = None
    node: int | None = None
    start: int | None = None
    slots: Ints | None = None
    pool: str | None = None
    key_len: int | None = None
    served_len: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Event):
    """The end of a request's hold; `[free_start, allocated)` is what its tail free returns."""

    table: ClassVar[str] = "release"
    request: str | None = None
    row: int | None = None
    epoch: int | None = None
    kind: str | None = None
    committed: int | None = None
    allocated: int | None = None
    target: int | None = None
    free_start: int | None = None
    page_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SwaMap(Event):
    """Full slots mapped to SWA slots; 0 clears a mapping."""

    table: ClassVar[str] = "swa_map"
    full_slots: Ints | None = None
    swa_slots: Ints | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRef(Event):
    """References to C128 pages taken or given up."""

    table: ClassVar[str] = "page_ref"
    pool: str | None = None
    action: str | None = None
    pages: Ints | None = None
    holder: str | None = None
    row: int | None = None
    count_after: Ints | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateClear(Event):
    """Compressor ring rows cleared; local rows in `[0, ring_size)`."""

    table: ClassVar[str] = "state_clear"
    pool: str | None = None
    request: str | None = None
    row: int | None = None
    seq_len: int | None = None
    accept_len: int | None = None
    width: int | None = None
    ring_size: int | None = None
    ring_rows: Ints | None = None
    first_half: float | None = None
    second_half: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCommit(Event):
    """Recurrent state committed at the local verify row of the last accepted row."""

    table: ClassVar[str] = "state_commit"
    pool: str | None = None
    request: str | None = None
    row: int | None = None
    step_index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateAccess(Event):
    """Compressor ring rows read or written for positions."""

    table: ClassVar[str] = "state_access"
    pool: str | None = None
    request: str | None = None
    row: int | None = None
    action: str | None = None
    ring_rows: Ints | None = None
    positions: Ints | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer(Event):
    """A KV transfer to or from the host or another engine."""

    table: ClassVar[str] = "transfer"
    action: str | None = None
    direction: str | None = None
    request: str | None = None
    pool: str | None = None
    slots: Ints | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStat(Event):
    """The engine's own account of a pool at a settled point."""

    table: ClassVar[str] = "pool_stat"
    pool: str | None = None
    available: int | None = None
    evictable: int | None = None
    protected: int | None = None
    session: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(Event):
    """Rows that the recorder had to leave out, of the table `of` (column `table` in the recording)."""

    table: ClassVar[str] = "drop"
    of: str | None = None
    rows: int | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Event):
    """Something that the engine or the recorder said."""

    table: ClassVar[str] = "note"
    level: str | None = None
    text: str | None = None


EVENTS: dict[str, type[Event]] = {
    cls.table: cls
    for cls in (
        Accept,
        Move,
        Compact,
        Forward,
        Alloc,
        Free,
        FreeGroup,
        TableWrite,
        RowAlloc,
        RowFree,
        Lengths,
        Reserve,
        Cache,
        Release,
        SwaMap,
        PageRef,
        StateClear,
        StateCommit,
        StateAccess,
        Transfer,
        PoolStat,
        Drop,
        Note,
    )
}
