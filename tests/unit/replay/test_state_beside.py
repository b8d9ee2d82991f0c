"""What `state` says of counted pages and of rings of compressor state."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.recording.reader import Recording
from speckv_debug.replay.request_life import request_life
from speckv_debug.replay.ring_state import states_of
from speckv_debug.replay.slot_history import slot_history
from speckv_debug.replay.snapshots import snapshot
from speckv_debug.viewers.terminal import state

Line = dict[str, Any]
Record = Callable[..., Recording]
HEAD: Line = {
    "pools": [
        {"name": "full", "kind": "full", "slots": 64, "page_size": 1, "reserved_slots": 1},
        {"name": "c128", "kind": "c128", "slots": 8, "page_size": 1, "reserved_slots": 1},
        {"name": "c128_state", "kind": "c128_state", "slots": 512, "page_size": 1, "reserved_slots": 0},
    ],
    "tables": ["page_ref", "state_access", "state_clear", "row_alloc", "alloc", "table_write", "lengths"],
    "from_start": True,
}


def ref(action: str, holder: str, *pages: int, counts: list[int] | None = None) -> Line:
    line = {"event": "page_ref", "step": 1, "pool": "c128", "action": action, "holder": holder}
    return line | {"pages": list(pages)} | ({"count_after": counts} if counts else {})


def write(row: int, *positions: int) -> Line:
    line = {"event": "state_access", "step": 1, "pool": "c128_state", "request": f"r{row}", "row": row}
    return line | {"action": "write", "ring_rows": [p % 256 for p in positions], "positions": list(positions)}


def clear(row: int, *cells: int) -> Line:
    line = {"event": "state_clear", "step": 1, "pool": "c128_state", "request": f"r{row}", "row": row}
    return line | {"ring_size": 256, "ring_rows": list(cells)}


def running(row: int) -> Line:
    return {"event": "row_alloc", "step": 1, "request": f"r{row}", "row": row, "epoch": 1}


def test_a_page_with_two_holders_and_one_that_went_back(record: Record) -> None:
    recording = record(
        ref("retain", "row:1", 3, 4, counts=[1, 1]),
        ref("retain", "tree:7", 3, counts=[2]),
        ref("release", "row:1", 4, counts=[0]),
        ref("release", "row:1", 3, counts=[1]),
        head=HEAD,
    )
    before, after = (snapshot(recording.processes[0], seq).counted[0] for seq in (1, 3))
    assert [(p.page, p.count, p.holders) for p in before.pages] == [
        (3, 2, ("row:1", "tree")),
        (4, 1, ("row:1",)),
    ]
    assert [(p.page, p.count, p.holders) for p in after.pages] == [(3, 1, ("tree",))]
    assert (before.references, after.references) == (3, 1)


def test_a_count_without_holders_is_shown_as_the_engine_has_it(record: Record) -> None:
    lines = [ref("release", "row:1", 3, counts=[-1])]
    (pool,) = snapshot(record(*lines, head=HEAD | {"from_start": False}).processes[0], 0).counted
    assert [(p.page, p.count, p.holders) for p in pool.pages] == [(3, -1, ())]


def test_a_ring_holds_what_was_written_last_and_not_cleared(record: Record) -> None:
    recording = record(
        running(1),
        running(2),
        write(1, *range(250, 262)),
        clear(1, 4, 5),
        write(2, 0, 1),
        write(1, 260),
        head=HEAD,
    )
    first, second = snapshot(recording.processes[0], 5).rings
    assert (first.pool, first.row, first.size, first.cleared) == ("c128_state", 1, 256, 1)
    assert first.positions == (*range(250, 261),)
    assert (second.row, second.positions, second.cleared) == (2, (0, 1), 0)
    earlier, _ = snapshot(recording.processes[0], 4).rings
    assert (earlier.positions[-1], earlier.cleared) == (259, 2)


def test_a_row_that_nobody_has_any_more_is_left_out(record: Record) -> None:
    gone = {"event": "row_free", "step": 1, "request": "r1", "row": 1, "epoch": 1}
    assert snapshot(record(running(1), write(1, 5), gone, head=HEAD).processes[0], 2).rings == ()


def test_text_shows_the_ledger_and_the_strips(record: Record) -> None:
    lines = [running(1), ref("retain", "row:1", 3, counts=[1]), write(1, 8, 9), clear(1, 9)]
    out = io.StringIO()
    state.render(snapshot(record(*lines, head=HEAD).processes[0], 3), out)
    said = out.getvalue()
    assert (
        "pool c128 · counted: 1 page held by 1 reference\n   page  count  holders\n      3      1  row:1\n"
        in said
    )
    assert "pool c128_state · compressor state: 1 ring\n" in said
    (line,) = (line for line in said.splitlines() if line.startswith("   r1") and "256" in line)
    assert line.split() == ["r1", "1", "256", "8", "1"], "no draft was rejected"
    assert "pages can't be followed" not in said


def accept(row: int, length: int, n: int) -> Line:
    line = {"event": "accept", "step": 1, "request": f"r{row}", "row": row, "epoch": 1, "seq_len": length}
    return line | {"accept_len": n, "width": 4}


def freed(row: int) -> Line:
    return {"event": "row_free", "step": 1, "request": f"r{row}", "row": row, "epoch": 1}


def next_life(row: int, request: str = "next") -> Line:
    return {"event": "row_alloc", "step": 2, "request": request, "row": row, "epoch": 2}


def said_of(found: Any) -> list[list[str]]:
    out = io.StringIO()
    state.render(found, out)
    return [line.split() for line in out.getvalue().splitlines()]


def test_rejected_drafts_are_marked_until_they_are_overwritten_or_cleared(record: Record) -> None:
    lines = [running(1), write(1, 8, 9, 10, 11), accept(1, 8, 2), write(1, 10), clear(1, 11)]
    settings = HEAD | {"settings": {"c128_ring_size": 256}}
    process = record(*lines, head=settings).processes[0]
    rings = [snapshot(process, seq).rings[0] for seq in (1, 2, 3, 4)]
    assert [ring.rejected for ring in rings] == [(), (10, 11), (11,), ()]
    assert rings[0].size == 256, "by the settings, where no clear says it"
    assert ["r1", "1", "256", "[8,", "10)", "[10,", "12)", "0"] in said_of(snapshot(process, 2))


def test_a_ring_is_not_shown_as_that_of_who_has_the_row_next(record: Record) -> None:
    own, other = write(1, 3) | {"request": "next"}, write(1, 7)
    lines = [running(1), write(1, 5, 6), clear(1, 6), freed(1), next_life(1), own, other]
    process = record(*lines, head=HEAD).processes[0]
    (before,), (after,) = (snapshot(process, seq).rings for seq in (2, 6))
    assert (before.positions, before.cleared) == ((5,), 1)
    assert (after.positions, after.cleared) == ((3,), 1), "a row that was emptied is empty whoever has it"
    unwritten = record(running(1), write(1, 5), freed(1), next_life(1), head=HEAD).processes[0]
    assert snapshot(unwritten, 3).rings == ()


def test_a_ring_stays_that_of_a_chunked_prompt_which_asks_for_its_row_again(record: Record) -> None:
    process = record(running(1), write(1, 5), running(1), write(1, 6), head=HEAD).processes[0]
    assert snapshot(process, 3).rings[0].positions == (5, 6)
    unnumbered = [running(1) | {"epoch": None}, write(1, 5), running(1) | {"epoch": None}]
    assert snapshot(record(*unnumbered, head=HEAD).processes[0], 2).rings[0].positions == (5,)


@pytest.mark.parametrize("lines", [(freed(1), next_life(1, "r1")), ()], ids=["next life", "somebody else"])
def test_the_accept_of_another_life_rejects_nothing(record: Record, lines: tuple[Line, ...]) -> None:
    late = accept(1, 8, 2) | ({"epoch": 2} if lines else {"request": "x"})
    process = record(running(1), write(1, 8, 9, 10, 11), *lines, late, head=HEAD).processes[0]
    states = states_of(process, 9)
    assert states is not None
    cells = states._last
    assert states._cells.position[cells].tolist() == [8, 9, 10, 11]
    assert not states._rejected(cells).any()


def test_the_accept_of_the_next_life_rejects_nothing_that_lies_by_pages(record: Record) -> None:
    pool = {"name": "c4_state", "kind": "c4_state", "slots": 64, "page_size": 1, "reserved_slots": 0}
    head = HEAD | {"pools": [HEAD["pools"][0], pool | {"owner": "page"}], "settings": {"c4_ring_size": 16}}
    bound = {"event": "state_access", "step": 1, "pool": "c4_state", "action": "write", "request": "r1"}
    wrote = bound | {"ring_rows": [32, 33, 34], "positions": [8, 9, 10]}
    again = [freed(1), next_life(2, "r1")]
    late = accept(2, 9, 1) | {"request": "r1", "epoch": 2}
    for between, rejected in (([], (10,)), (again, ())):
        process = record(running(1), wrote, *between, late, head=head).processes[0]
        assert snapshot(process, 9).page_rings[0].rejected == rejected


def test_state_that_is_bound_to_pages_is_shown_page_by_page(record: Record) -> None:
    pool = {"name": "c4_state", "kind": "c4_state", "slots": 64, "page_size": 1, "reserved_slots": 0}
    swa = {"name": "swa", "kind": "swa", "slots": 16, "page_size": 4, "reserved_slots": 4}
    head = HEAD | {
        "pools": [HEAD["pools"][0], swa, pool | {"owner": "page"}],
        "settings": {"c4_ring_size": 16},
    }
    bound = {"event": "state_access", "step": 1, "pool": "c4_state", "action": "write"}
    lines = [
        running(1),
        bound | {"request": "gone", "ring_rows": [34, 35], "positions": [70, 71]},
        bound | {"request": "r1", "ring_rows": [32, 33, 34], "positions": [8, 9, 10]},
        bound | {"request": "gone", "ring_rows": [48], "positions": [8]},
        accept(1, 9, 1),
        {"event": "alloc", "step": 1, "pool": "swa", "slots": [8], "reason": "extend", "granted": True},
        {"event": "free", "step": 1, "pool": "swa", "slots": [8], "reason": "swa_window"},
    ]
    process = record(*lines, head=head | {"tables": [*HEAD["tables"], "free"]}).processes[0]
    found = snapshot(process, 4)
    (ring,) = found.page_rings
    assert (ring.page, ring.request, ring.positions, ring.rejected, ring.others) == (
        2,
        "r1",
        (8, 9, 10),
        (10,),
        1,
    )
    assert ["2", "r1", "[8,", "10)", "10", "1"] in said_of(found)
    assert snapshot(process, 5).page_rings and not snapshot(process, 6).page_rings, "its page is free"


def test_recurrent_state_is_shown_by_request_and_in_the_tree(record: Record) -> None:
    mamba = {"name": "mamba", "kind": "mamba", "slots": 8, "page_size": 1, "reserved_slots": 1}
    head = HEAD | {"pools": [HEAD["pools"][0], mamba]}
    tree = {"event": "cache", "step": 1, "action": "insert", "pool": "mamba", "node": 3, "key_len": 64}
    commit = {"event": "state_commit", "step": 1, "pool": "mamba", "request": "r1", "row": 1, "step_index": 2}
    lines = [
        running(1),
        accept(1, 8, 2) | {"accept_index": [0, 2, -1], "block_start": 0},
        commit,
        tree | {"slots": [5, 6]},
        tree | {"slots": [6], "action": "evict"},
    ]
    process = record(*lines, {"event": "cache", "step": 1, "action": "reset"}, head=head).processes[0]
    (pool,) = snapshot(process, 4).recurrent
    assert [(kept.row, kept.step, kept.verify_row, kept.tokens) for kept in pool.kept] == [(1, 1, 2, 10)]
    assert [(state.slot, state.node, state.tokens) for state in pool.tracked] == [(5, 3, 64)]
    said = said_of(snapshot(process, 4))
    assert ["r1", "1", "1", "2", "10"] in said and ["5", "3", "64"] in said
    assert snapshot(process, 5).recurrent[0].tracked == (), "the tree started over"


MAMBA = {"name": "mamba", "kind": "mamba", "slots": 8, "page_size": 1, "reserved_slots": 1}


def verified(step: int, length: int, *rows: int) -> Line:
    """A verify of row 1 that accepts these rows of its tree."""
    index = {"step": step, "accept_index": [*rows, -1], "block_start": 0}
    return accept(1, length, len(rows)) | index


def committed(step: int, verify_row: int, request: str | None = "r1") -> Line:
    line = {"event": "state_commit", "step": step, "pool": "mamba", "row": 1, "step_index": verify_row}
    return line | {"request": request}


def kept_in(record: Record, *lines: Line, at: int = 99, accepts: bool = True) -> list[tuple[int | None, ...]]:
    """Step, verify row and tokens of what each request keeps."""
    tables = [*HEAD["tables"], *(["accept"] if accepts else [])]
    head = HEAD | {"pools": [HEAD["pools"][0], MAMBA], "tables": tables}
    found = snapshot(record(*lines, head=head).processes[0], at).recurrent
    return [(kept.step, kept.verify_row, kept.tokens) for pool in found for kept in pool.kept]


def test_a_commit_is_not_that_of_who_has_the_row_next(record: Record) -> None:
    first = [running(1), verified(1, 8, 0, 2), committed(1, 2)]
    assert kept_in(record, *first) == [(1, 2, 10)]
    assert kept_in(record, *first, running(1)) == [(1, 2, 10)], "a chunked prompt has its row again"
    for name in ("next", "r1"):
        assert kept_in(record, *first, freed(1), next_life(1, name)) == []
    late = committed(2, 0)
    assert kept_in(record, *first, freed(1), next_life(1), late) == [], "of somebody else"
    own = [committed(2, 1, "next"), late]
    assert kept_in(record, *first, freed(1), next_life(1), *own) == [(2, 1, None)]
    assert kept_in(record, *first, freed(1), next_life(1), *own, at=2) == [(1, 2, 10)]


def test_tokens_are_known_behind_the_row_that_was_accepted_last_alone(record: Record) -> None:
    for kept, tokens in ((2, 10), (0, None), (1, None), (3, None)):
        assert kept_in(record, running(1), verified(1, 8, 0, 2), committed(1, kept)) == [(1, kept, tokens)]
    unsaid = accept(1, 8, 2)
    assert kept_in(record, running(1), unsaid, committed(1, 1)) == [(1, 1, None)]
    assert kept_in(record, running(1), unsaid | {"layout": "chain"}, committed(1, 1)) == [(1, 1, 10)]


def test_tokens_come_from_no_verify_that_is_still_to_come(record: Record) -> None:
    late = [running(1), committed(1, 2), verified(1, 8, 0, 2)]
    assert kept_in(record, *late, at=1) == [(1, 2, None)]
    deferred = [running(1), verified(1, 8, 0, 2), committed(2, 2), verified(2, 10, 0, 2)]
    assert kept_in(record, *deferred) == [(2, 2, 10)], "of the verify before"
    assert kept_in(record, *deferred, accepts=False) == [(2, 2, None)]


def test_without_such_events_nothing_is_said(record: Record) -> None:
    found = snapshot(record(running(1), head=HEAD).processes[0], 0)
    assert (found.counted, found.rings) == ((), ())


def test_the_history_of_a_counted_page_says_the_count(record: Record) -> None:
    process = record(
        ref("retain", "row:1", 3, 4, counts=[1, 1]), ref("release", "row:1", 4, counts=[0]), head=HEAD
    ).processes[0]
    found = [(event.event, event.detail) for event in slot_history(process, page=4, pool="c128").events]
    assert found == [("page_ref retain", "row:1, count 1"), ("page_ref release", "row:1, count 0")]


def test_the_history_of_a_ring_row_says_who_wrote_what_there(record: Record) -> None:
    ring = 256
    recording = record(
        running(1), write(1, 5), clear(1, 5), write(1, 5 + ring), write(2, 5),
        write(1, 5 + ring) | {"action": "read"}, clear(1, *range(ring)),
        head=HEAD | {"pools": [*HEAD["pools"][:2], HEAD["pools"][2] | {"slots": 4 * ring}]},
    )  # fmt: skip
    history = slot_history(recording.processes[0], slot=ring + 5, pool="c128_state")
    assert [(e.event, e.request, e.positions) for e in history.events] == [
        ("state_access write", "r1", (5, 6)),
        ("state_clear", "r1", None),
        ("state_access write", "r1", (261, 262)),
        ("state_access read", "r1", (261, 262)),
        ("state_clear", "r1", None),
    ]
    assert history.unseen == ()
    shared = write(1, 5) | {"row": None, "ring_rows": [ring + 5], "request": "x"}
    found = slot_history(record(shared, head=HEAD).processes[0], slot=ring + 5, pool="c128_state")
    assert [(e.request, e.positions) for e in found.events] == [("x", (5, 6))], "an address of its own"


def test_the_life_of_a_request_says_what_was_done_to_its_state(record: Record) -> None:
    commit = {"event": "state_commit", "step": 1, "pool": "mamba", "request": "r1", "row": 1, "step_index": 2}
    rejected = clear(1, 4, 5) | {"width": 6, "seq_len": 2, "accept_len": 2}
    lines = [running(1), write(1, 8, 9), rejected, commit, clear(1, *range(256))]
    life = request_life(record(*lines, head=HEAD).processes[0], "r1")
    assert [event.detail for event in life.events][1:] == [
        "c128_state: positions [8, 10)",
        "c128_state: ring rows [4, 6)",
        "mamba: behind verify row 2",
        "c128_state: the whole ring",
    ]
