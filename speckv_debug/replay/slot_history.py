"""The history of a slot or page: every owner, writer, mover and free, each with its event.

Nothing is folded: the answer is the events themselves, in the order of `seq`, so a lost event is a hole in the list and
never a wrong owner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from speckv_debug.errors import UsageError
from speckv_debug.model.process import Pool, Process
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.namespaces import Namespace, Namespaces
from speckv_debug.replay.ring_history import KINDS as RING_KINDS
from speckv_debug.replay.ring_history import TABLES as RING_TABLES
from speckv_debug.replay.ring_history import ring_events
from speckv_debug.replay.slot_entries import SlotEvent, entries
from speckv_debug.replay.slot_scan import Wanted, lists_of, naming
from speckv_debug.replay.unseen import Unseen, unseen

ALWAYS = ("alloc", "free", "table_write", "move", "forward", "cache")
"""Tables that every engine fills: without all their events a history has holes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotHistory:
    """What happened to a slot, or to all slots of a page.

    Attributes:
        pool: The pool whose allocator hands out the ids.
        asked: The pool that was asked for, which may have its ids from there.
        page_size: Slots a page; 1 where the pool's pages can't be followed.
        page, slot: What was asked for; `slot` is None of a page.
        events: Ascending in `seq`; of a slot also the frees of other slots of its page, which a paged pool takes back whole.
        unseen: What the recording lacks, so that more may have happened.
    """

    pool: str
    asked: str
    page_size: int
    page: int
    slot: int | None
    events: tuple[SlotEvent, ...]
    unseen: tuple[Unseen, ...]


def slot_history(
    process: ProcessRecording,
    *,
    slot: int | None = None,
    page: int | None = None,
    pool: str | None = None,
    until_seq: int | None = None,
    on_progress: Callable[[float], None] = lambda share: None,
) -> SlotHistory:
    """The events that granted, named, wrote, moved, kept or freed a slot, or any slot of a page.

    Reads the lists of slots of the recording once, part by part, and a few columns of what was found.

    Args:
        process: The process.
        slot: A slot id of the pool.
        page: Or a page, `slot // page_size`.
        pool: Name of the pool, the main one if None.
        until_seq: Leave out later events.
        on_progress: Told from time to time which share of the recording has been read.

    Raises:
        UsageError: Neither or both of slot and page, no such pool, or an id that the pool can't have.
    """
    spaces = Namespaces(process.info)
    number = _space(process.info, spaces, pool)
    space = spaces.all[number]
    page = _page(space, slot, page)
    if (rings := _rings(process, space)) is not None:
        events, tables = ring_events(process, rings, page, until_seq), {*RING_TABLES}
        return _history(process, space, pool, page, slot, events, tables, until_seq)
    first = page * space.page_size
    wanted = Wanted(space=number, first=first, end=first + space.page_size, slot=slot)
    found = naming(process, spaces, wanted, until_seq, on_progress)
    events = entries(process, found, lists_of(spaces, number), wanted)
    if slot is not None:
        events = [event for event in events if slot in event.slots or event.whole_page]
    tables = {*ALWAYS, *(name for name in lists_of(spaces, number) if name in process.files)}
    return _history(process, space, pool, page, slot, events, tables, until_seq)


def _rings(process: ProcessRecording, space: Namespace) -> Pool | None:
    """The pool, if it holds rings of compressor state: their rows are no slots that anyone grants."""
    return next((p for p in process.info.pools if p.name == space.name and p.kind in RING_KINDS), None)


def _history(
    process: ProcessRecording,
    space: Namespace,
    asked: str | None,
    page: int,
    slot: int | None,
    events: list[SlotEvent],
    tables: set[str],
    until_seq: int | None,
) -> SlotHistory:
    return SlotHistory(
        pool=space.name,
        asked=asked or process.info.main_pool,
        page_size=space.page_size,
        page=page,
        slot=slot,
        events=tuple(events),
        unseen=unseen(process, sorted(tables), until_seq),
    )


def require_held(
    info: Process, *, slot: int | None = None, page: int | None = None, pool: str | None = None
) -> None:
    """Nothing, if the pool can have this slot or page.

    Raises:
        UsageError: As `slot_history`, before anything is read.
    """
    spaces = Namespaces(info)
    _page(spaces.all[_space(info, spaces, pool)], slot, page)


def _space(info: Process, spaces: Namespaces, pool: str | None) -> int:
    known = [each.name for each in info.pools] or [spaces.main_name]
    if pool is not None and pool not in known:
        raise UsageError(f"there is no pool {pool} in {info.label}", f"Known: {', '.join(known)}.")
    return spaces.index(pool)


def _page(space: Namespace, slot: int | None, page: int | None) -> int:
    if (slot is None) == (page is None):
        raise UsageError("a history is that of one slot or of one page", "Name one of the two.")
    what, value = ("slot", slot) if slot is not None else ("page", page)
    size = 1 if slot is not None else space.page_size
    low, high = space.reserved // size, -(-space.bound // size)
    assert value is not None
    if value < 0 or value >= high:
        raise UsageError(f"pool {space.name} has no {what} {value}", f"Its {what}s are {low} to {high - 1}.")
    if (value + 1) * size <= space.reserved:
        raise UsageError(
            f"{what} {value} of pool {space.name} is reserved: rows that pad a batch write there, nobody holds it",
            f"The {what}s that can be held are {low} to {high - 1}.",
        )
    return value // space.page_size if slot is not None else value
