"""The changes are what they say, and the dictionary model tells which of them matter."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.mutation import bases, kinds
from benchmarks.mutation.bases import Base, in_memory, numbered
from benchmarks.mutation.consequence import account, consequence
from benchmarks.mutation.judging import Outcome, judge, judged
from benchmarks.mutation.kinds import LOSSES, Mutant
from benchmarks.mutation.state import Line, State
from benchmarks.mutation.table import goals, report
from speckv_debug.api import open_recording
from speckv_debug.recording.jsonl_export import export_jsonl
from speckv_debug.recording.jsonl_import import import_jsonl

HEAD: Line = {
    "pools": [
        {"name": "full", "kind": "full", "slots": 16, "page_size": 4, "reserved_slots": 4},
        {"name": "draft", "kind": "draft", "allocated_by": "full"},
        {"name": "swa", "kind": "swa", "slots": 16, "page_size": 4},
    ],
    "settings": {"accept_index_rows": "flat"},
}
WHO: Line = {"request": "a", "row": 1, "epoch": 1}
FORWARD: Line = {
    "event": "forward",
    "mode": "target_verify",
    "slots": [6, 7, 8],
    "tokens": [3, 4, 5],
    "positions": [2, 3, 3],
}
ACCEPT: Line = {
    "event": "accept", "step": 1, "seq_len": 2, "accept_len": 2, "accept_index": [0, 2, -1], "block_start": 0, "new_seq_len": 4,
    "width": 3, "draft_tokens": [3, 4, 5], "predict": [5, 0, 9], "out_cache_loc": [6, 7, 8], "bonus_token": 9,
}  # fmt: skip


def run() -> list[Line]:
    """A prompt of two, a verify that accepts its first and third row, the next draft, the end."""
    lines: list[Line] = [
        {"event": "row_alloc", **WHO},
        {"event": "alloc", **WHO, "slots": [4, 5, 6, 7, 8, 9], "pool": "full"},
        {"event": "table_write", "row": 1, "epoch": 1, "start": 0, "slots": [4, 5, 6, 7, 8, 9]},
        {"event": "lengths", **WHO, "committed": 2, "allocated": 6, "cause": "extend"},
        {"event": "forward", **WHO, "mode": "extend", "slots": [4, 5], "tokens": [1, 2], "positions": [0, 1], "next_token": 3},
        FORWARD | WHO,
        ACCEPT | WHO,
        {"event": "move", "pool": "full", "src": [6, 8, 0], "tgt": [6, 7, 0], "caller": "accept"},
        {"event": "lengths", **WHO, "committed": 4, "allocated": 6, "cause": "verify_commit"},
        {"event": "forward", **WHO, "mode": "draft", "pool": "draft"},
        {"event": "pool_stat", "pool": "full", "available": 8, "total": 16},
        {"event": "free_group", "action": "begin", "group": 1},
        {"event": "free", **WHO, "slots": [4, 5, 6, 7, 8, 9], "pool": "full", "group": 1},
        {"event": "free_group", "action": "end", "group": 1},
        {"event": "row_free", **WHO},
    ]  # fmt: skip
    return list(numbered(lines))


def at(event: str, number: int = 0) -> int:
    return [i for i, line in enumerate(run()) if line["event"] == event][number]


def matters(index: int, **columns: Any) -> str:
    """What differs first when columns of that event change."""
    lines = run()
    return consequence(
        HEAD, lines[:index], lines[index : index + 1], [lines[index] | columns], lines[index + 1 :]
    )


def test_the_model_follows_tokens_slots_and_free_pages() -> None:
    state = State(HEAD)
    for line in run()[:11]:
        state.take(line)
    assert state.tokens[1, 1] == {0: 1, 1: 2, 2: 3, 3: 5} and state.outputs[1, 1] == {2: 3, 3: 5, 4: 9}
    assert [state.kv[state.table["full", 1, 1][p]] for p in range(4)] == [(1, 0), (2, 1), (3, 2), (5, 3)]
    assert account(state, {"pool": "full"}) == {
        "available": 8, "evictable": 0, "protected": 0, "session": 0, "total": 16,
    }  # fmt: skip
    for line in run()[11:]:
        state.take(line)
    assert dict(state.free["full"]) == {1: 1, 2: 1, 3: 1, 4: 1} and not state.rows


@pytest.mark.parametrize(
    ("event", "number", "columns", "differs"),
    [
        ("accept", 0, {"accept_index": [0, 1, -1]}, "outputs"),
        ("accept", 0, {"draft_tokens": [3, 7, 5]}, ""),
        ("accept", 0, {"draft_tokens": [3, 4, 7]}, "tokens"),
        ("accept", 0, {"num_correct_drafts": 2}, ""),
        ("accept", 0, {"out_cache_loc": [6, 7, 9]}, "placed"),
        ("move", 0, {"src": [6, 7, 0]}, "kv"),
        ("move", 0, {"src": [6, 8, 8], "tgt": [6, 7, 9]}, ""),
        ("forward", 1, {"tokens": [3, 4, 7]}, "kv"),
        ("forward", 1, {"tokens": [3, 7, 5]}, ""),
        ("lengths", 1, {"committed": 3}, "lengths"),
        ("lengths", 0, {"allocated": 5}, "lengths"),
        ("lengths", 1, {"cause": "extend"}, ""),
        ("table_write", 0, {"pool": "draft"}, ""),
        ("table_write", 0, {"pool": "swa"}, "table"),
        ("table_write", 0, {"slots": [4, 5, 6, 7, 8, 10]}, "table"),
        ("alloc", 0, {"slots": [4, 5, 6, 7]}, "free"),
        ("free", 0, {"reason": "other"}, ""),
        ("free", 0, {"slots": [4, 5, 6, 7]}, "free"),
        ("free", 0, {"group": 2}, "free"),
        ("pool_stat", 0, {"available": 12}, "account of available"),
        ("pool_stat", 0, {"session": 5}, ""),
        ("row_free", 0, {"row": 2}, "rows"),
    ],
)  # fmt: skip
def test_what_matters(event: str, number: int, columns: Line, differs: str) -> None:
    assert matters(at(event, number), **columns) == differs


def test_what_lies_in_memory_and_nobody_reads() -> None:
    lines = [line for line in run() if line.get("mode") != "draft"]
    index = next(i for i, line in enumerate(lines) if line["event"] == "move")
    moved = [lines[index] | {"src": [6, 7, 0]}]
    assert not consequence(HEAD, lines[:index], lines[index : index + 1], moved, lines[index + 1 :])


def test_what_nobody_looks_at_before_it_is_right_again() -> None:
    lines, decided = run(), {"event": "reserve", **WHO, "committed": 2, "new_allocated": 6, "seq": 0}
    assert not consequence(HEAD, lines[:3], [decided], [decided | {"new_allocated": 7}], lines[3:])
    assert consequence(HEAD, lines[:4], [decided], [decided | {"new_allocated": 7}], lines[4:]) == "lengths"
    assert not consequence(HEAD, lines[:4], [decided], [], lines[4:])


def test_a_slot_beyond_the_allocated_length_is_stale() -> None:
    lines = run()
    beyond = {"event": "table_write", "row": 1, "epoch": 1, "start": 6, "slots": [13], "seq": 0}
    assert not consequence(HEAD, lines[:4], [beyond], [beyond | {"slots": [14]}], lines[4:])


def test_the_order_of_a_free_and_the_grant_of_its_page() -> None:
    free = {"event": "free", "slots": [4], "pool": "full", "seq": 1}
    alloc = {"event": "alloc", "slots": [4], "pool": "full", "seq": 2}
    before = [{"event": "alloc", "slots": [4], "pool": "full", "seq": 0}]
    assert not consequence(HEAD, before, [free, alloc], [free, alloc], [])
    assert consequence(HEAD, before, [free, alloc], [alloc, free], []) == "granted"


def test_events_in_memory_are_read_as_from_a_file(tmp_path: Any) -> None:
    base = bases.reference(3)
    there = in_memory(base.head, base.lines)
    text = tmp_path / "x.jsonl"
    with text.open("w") as out:
        export_jsonl(there, out)
    import_jsonl(text, tmp_path / "x.speckv")
    back = open_recording(tmp_path / "x.speckv")
    assert list(back.processes[0].events()) == list(there.processes[0].events())
    assert len(list(there.processes[0].events())) == len(base.lines)


def changes(base: Base, count: int) -> list[Mutant]:
    drawn = (kinds.drawn(base, 0, number) for number in range(count))
    return [mutant for mutant in drawn if mutant is not None]


def test_a_change_is_one_event_and_the_same_each_time() -> None:
    base = bases.reference(3)
    first, again = changes(base, 300), changes(base, 300)
    assert [m.lines(base) for m in first] == [m.lines(base) for m in again]
    assert {m.kind for m in first} == {*kinds.VALUE_KINDS, *kinds.EVENT_KINDS}
    for mutant in first:
        lines = mutant.lines(base)
        seqs = [line["seq"] for line in lines]
        assert lines != list(base.lines) and seqs == sorted(set(seqs))
        holes = len(base.lines) - len(lines) if mutant.kind == "lost" else 0
        assert seqs[-1] - seqs[0] + 1 == len(lines) + holes
        if mutant.column:
            (event,) = (new for new, old in zip(lines, base.lines, strict=True) if new != old)
            assert {name for name in event if event[name] != base.lines[mutant.first][name]} == {
                mutant.column
            }


def test_a_base_that_is_written_in_a_process_of_several_is_none() -> None:
    assert bases.stored("rules/ACC-CHAIN/pass.jsonl") is not None
    assert bases.stored("cases/ranks-by-design.jsonl") is None
    assert len(bases.real()) >= 7 and len(bases.by_hand()) >= 30


def outcome(kind: str = "value", **columns: Any) -> Outcome:
    told: Line = {
        "consequence": "table",
        "rules": ("LOC-ROW",),
        "family": True,
        "exact": True,
        "unknown": False,
    }
    place = {"base": "b", "number": 0, "table": "accept", "column": "out_cache_loc", "seq": 1}
    return Outcome(kind=kind, **(place | told | columns))


def test_the_tables_count_what_came_of_changes() -> None:
    missed = outcome(rules=(), family=False, exact=False)
    lost = outcome("lost", rules=(), family=False, exact=False, unknown=True)
    lines = list(report([outcome(), missed, lost, outcome("absent")], lambda o: o.kind))
    assert "| value | 2 | 2 | 1 | 1 | 1 | 0 | 1 | 0 | 0 | 0 |" in lines
    assert "| lost | 1 | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 0 | 0 |" in lines
    assert "| absent | 1 | 1 | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 1 |" in lines
    assert [line.partition(",")[0] for line in goals([outcome(), missed, lost])] == [
        "found: 1 of 2 changes of consequence",
        "exact: 1 of 2 changes of consequence",
    ]


def test_a_changed_length_is_found_where_it_is() -> None:
    base = judged(bases.reference(3))
    assert not base.rules
    commits = [
        line
        for line in base.base.lines
        if line["event"] == "lengths" and line.get("cause") == "verify_commit"
    ]
    line = commits[len(commits) // 2]
    changed = line | {"committed": line["committed"] + 1}
    where = {"first": line["seq"], "end": line["seq"] + 1, "now": (changed,), "touched": (line, changed)}
    found = judge(base, 0, Mutant(kind="off_by_one", table="lengths", column="committed", **where))
    assert found.consequence == "lengths" and "LEN-COMMIT" in found.rules and found.family and found.exact
    assert not found.missed and not found.false_alarm


@pytest.mark.parametrize("kind", LOSSES)
def test_what_the_recorder_missed_is_no_fault_of_the_engine(kind: str) -> None:
    base = judged(bases.reference(4))
    drawn = [m for m in changes(base.base, 400) if m.kind == kind][:12]
    outcomes = [judge(base, number, mutant) for number, mutant in enumerate(drawn)]
    assert len(outcomes) == 12 and not [o for o in outcomes if o.false_alarm]
    assert any(o.unknown for o in outcomes)
