"""The history of slots and pages: which events are listed, with whom, and what is said to be unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.errors import UsageError
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.slot_history import slot_history

Line = dict[str, Any]
Record = Callable[..., Recording]
POOLS = [
    {"name": "full", "kind": "full", "slots": 64, "page_size": 4, "reserved_slots": 4},
    {
        "name": "draft",
        "kind": "draft",
        "slots": 64,
        "page_size": 4,
        "reserved_slots": 4,
        "allocated_by": "full",
    },
    {"name": "swa", "kind": "swa", "slots": 32, "page_size": 4, "reserved_slots": 4},
]
TABLES = ["alloc", "free", "table_write", "move", "forward", "cache", "accept"]
WHO: Line = {"request": "a", "row": 1, "epoch": 1}


@pytest.fixture
def process(record: Record) -> Callable[..., ProcessRecording]:
    def build(*lines: Line, **head: Any) -> ProcessRecording:
        facts = {"pools": POOLS, "tables": TABLES, "from_start": True} | head
        return record(*lines, head=facts).processes[0]

    return build


def told(process: ProcessRecording, **query: Any) -> list[tuple[str, tuple[int, ...]]]:
    return [(event.event, event.slots) for event in slot_history(process, **query).events]


def life() -> list[Line]:
    """Two slots are granted, named, written and verified; one is moved onto the other, then the page is freed."""
    verify = {
        "width": 2,
        "block_start": 0,
        "accept_index": [1],
        "accept_len": 1,
        "seq_len": 8,
        "layout": "tree",
    }
    return [
        {"event": "row_alloc", **WHO, "step": 1},
        {"event": "alloc", **WHO, "step": 1, "pool": "full", "slots": [8, 9, 10, 11], "reason": "extend", "site": "a.py:f"},
        {"event": "table_write", "row": 1, "epoch": 1, "step": 1, "start": 8, "slots": [8, 9]},
        {"event": "forward", **WHO, "step": 2, "mode": "target_verify", "pool": "full", "start": 8, "slots": [8, 9]},
        {"event": "accept", **WHO, "step": 2, **verify, "out_cache_loc": [8, 9], "table_slots": [8, 9]},
        {"event": "move", "step": 2, "pool": "full", "src": [9, 0], "tgt": [8, 0], "caller": "accept"},
        {"event": "free_group", "action": "begin", "group": 1, "step": 3},
        {"event": "free", **WHO, "step": 3, "pool": "full", "slots": [8], "reason": "finish", "site": "a.py:g"},
        {"event": "free_group", "action": "end", "group": 1, "step": 3},
    ]  # fmt: skip


def test_every_owner_writer_mover_and_free_of_a_page(process: Callable[..., ProcessRecording]) -> None:
    history = slot_history(process(*life()), page=2)
    alloc, write, forward, accept, move, free = history.events
    assert (alloc.event, alloc.slots, alloc.detail, alloc.site) == (
        "alloc",
        (8, 9, 10, 11),
        "extend",
        "a.py:f",
    )
    assert (write.request, write.positions) == ("a", (8, 10))
    assert (forward.detail, forward.positions) == ("target_verify", (8, 10))
    assert accept.detail == "row 1 accepted, 0 rejected"
    assert (move.request, move.moved, move.detail) == ("a", ((8, 9),), "accept")
    assert (free.detail, free.site, free.takes_effect) == ("finish", "a.py:g", 8)
    assert history.unseen == ()


def test_a_slot_lists_its_own_events_and_the_frees_of_its_page(
    process: Callable[..., ProcessRecording],
) -> None:
    found = process(*life())
    of_nine = [
        ("alloc", (9,)),
        ("table_write", (9,)),
        ("forward", (9,)),
        ("accept", (9,)),
        ("move", (9,)),
        ("free", (8,)),
    ]
    assert told(found, slot=9) == of_nine
    assert told(found, slot=10) == [("alloc", (10,)), ("free", (8,))]
    assert told(found, slot=12) == []


def test_other_pages_of_an_event_are_left_out(process: Callable[..., ProcessRecording]) -> None:
    found = process({"event": "alloc", **WHO, "pool": "full", "slots": [4, 8, 12, 13]})
    assert told(found, page=3) == [("alloc", (12, 13))]


def test_ids_mean_something_only_inside_their_allocator(process: Callable[..., ProcessRecording]) -> None:
    found = process(
        {"event": "alloc", **WHO, "pool": "full", "slots": [8]},
        {"event": "alloc", **WHO, "pool": "swa", "slots": [8]},
        {"event": "forward", **WHO, "mode": "draft", "pool": "draft", "start": 0, "slots": [8]},
        {"event": "swa_map", "full_slots": [8], "swa_slots": [12]},
    )
    assert [name for name, _ in told(found, slot=8)] == ["alloc", "forward", "swa_map"]
    assert [name for name, _ in told(found, slot=8, pool="draft")] == ["alloc", "forward", "swa_map"]
    assert [name for name, _ in told(found, slot=8, pool="swa")] == ["alloc"]
    (mapped,) = slot_history(found, slot=12, pool="swa").events
    assert mapped.detail == "full 8 → swa 12"


def test_the_tree_and_transfers_are_owners_too(process: Callable[..., ProcessRecording]) -> None:
    found = process(
        {"event": "cache", "action": "insert", "request": "a", "node": 7, "start": 4, "slots": [8, 9, 10, 11], "pool": "full"},
        {"event": "transfer", "action": "begin", "direction": "to_host", "request": "a", "pool": "full", "slots": [8]},
        {"event": "cache", "action": "reset", "pool": "full"},
    )  # fmt: skip
    insert, begin = slot_history(found, page=2).events
    assert (insert.event, insert.positions, insert.detail) == ("cache insert", (4, 8), "node 7")
    assert (begin.event, begin.detail) == ("transfer begin", "to_host")


def test_later_events_can_be_left_out(process: Callable[..., ProcessRecording]) -> None:
    found = process(*life())
    assert [name for name, _ in told(found, page=2, until_seq=2)] == ["alloc", "table_write"]


def test_which_rows_were_accepted_is_not_guessed(process: Callable[..., ProcessRecording]) -> None:
    line = {"event": "accept", **WHO, "step": 2, "seq_len": 8, "out_cache_loc": [8, 9], "table_slots": [8, 9]}
    (accept,) = slot_history(process(line), slot=9).events
    assert accept.detail == "row 1, which rows were accepted is not recorded"


def test_a_move_of_several_requests_names_none(process: Callable[..., ProcessRecording]) -> None:
    verify = {"event": "accept", "step": 2, "seq_len": 8, "out_cache_loc": [8], "table_slots": [8]}
    other = {"request": "b", "row": 2, "epoch": 1}
    found = process(
        verify | WHO, verify | other, {"event": "move", "step": 2, "pool": "full", "src": [8], "tgt": [9]}
    )
    assert [event.request for event in slot_history(found, slot=8).events] == ["a", "b", None]


def test_what_the_recording_lacks_is_said(process: Callable[..., ProcessRecording]) -> None:
    late = process(*life(), from_start=False, tables=["alloc", "forward:target_verify"])
    whys = [each.why for each in slot_history(late, page=2).unseen]
    assert "the recording did not see the process start" in whys
    assert "accept, cache, free, move, table_write: not recorded whole" in whys
    assert any("forward" in why and "in part" in why for why in whys)
    lines = [line | {"seq": seq} for seq, line in zip([0, 1, 2, 5, 6], life(), strict=False)]
    (gap,) = slot_history(process(*lines), page=2).unseen
    assert (gap.first, gap.end, gap.why) == (3, 5, "events 3 to 4 are missing")
    head = [line | {"seq": seq + 10} for seq, line in enumerate(life())]
    (lost,) = slot_history(process(*head), page=2).unseen
    assert (lost.first, lost.end) == (0, 10)


def test_dropped_rows_are_said(process: Callable[..., ProcessRecording]) -> None:
    drop = {"event": "drop", "table": "free", "rows": 3, "why": "the queue was full"}
    found = process(*life(), drop)
    (lost,) = slot_history(found, page=2).unseen
    assert "3 rows of free were dropped" in lost.why


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({}, "one slot or of one page"),
        ({"slot": 8, "page": 2}, "one slot or of one page"),
        ({"slot": 3}, "is reserved"),
        ({"page": 0}, "is reserved"),
        ({"slot": 68}, "has no slot 68"),
        ({"slot": -1}, "has no slot -1"),
        ({"slot": 36, "pool": "swa"}, "pool swa has no slot 36"),
        ({"slot": 8, "pool": "c4"}, "no pool c4"),
    ],
)
def test_what_can_not_be_asked(
    process: Callable[..., ProcessRecording], query: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        slot_history(process(*life()), **query)


def test_frees_without_a_named_group_wait_for_the_innermost_open_one(
    process: Callable[..., ProcessRecording],
) -> None:
    free = {"event": "free", **WHO, "pool": "full", "slots": [8]}
    begin, end = ({"event": "free_group", "action": action} for action in ("begin", "end"))
    lines = [
        begin | {"group": 1},
        begin | {"group": 2},
        free,
        end | {"group": 2},
        free,
        end | {"group": 1},
        free,
    ]
    assert [event.takes_effect for event in slot_history(process(*lines), slot=8).events] == [3, 5, None]
    unended = slot_history(process(begin | {"group": 1}, free), slot=8).events[0]
    assert (unended.takes_effect, unended.detail) == (None, "its free group has no end in the recording")
