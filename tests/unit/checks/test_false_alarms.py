"""What looks like a breach and is none: losses that excuse, frees without a name, calls of one step, other pool names."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from speckv_debug.checks.run import check
from speckv_debug.recording.problem import Problem, ProblemKind
from speckv_debug.recording.reader import Recording
from tests.ledgers import TABLES, Run, span

Build = Callable[..., Any]
DROP = {"event": "drop", "rows": 1, "why": "queue full"}


# ---- LEN ------------------------------------------------------------------------------------------


def cut_verify(head: list[str]) -> Run:
    """The second verify starts one short of the first, as after a cut; the row that says so is not there."""
    run = Run(tables=head)
    columns = {"algorithm": "eagle", "accept_len": 3}
    run.add("accept", **run.who(1, None, 1), **columns, seq_len=10, new_seq_len=13)
    run.step = 2
    run.add("accept", **run.who(1, None, 1), **columns, seq_len=12, new_seq_len=15)
    return run


@pytest.mark.parametrize("table", ["lengths", "forward", "release"])
def test_a_dropped_row_may_have_told_of_a_cut(table: str) -> None:
    run = cut_verify(["accept", "lengths", "forward"])
    assert run.check("LEN-SEQ").findings
    run.lines.insert(1, DROP | {"step": 1, "table": table})
    assert not run.check("LEN-SEQ").findings


def test_forwards_do_not_show_a_cut() -> None:
    result = cut_verify(["accept", "forward"]).check("LEN-SEQ")
    assert not result.findings and result.checked["LEN-SEQ"] == 1


def test_a_late_result_that_changes_nothing_on_a_reset_record() -> None:
    run = Run()
    run.start(1, span(10, 14))
    run.end(1, span(10, 14))
    run.add("lengths", **run.who(1, None, 1), committed=4, allocated=0, cause="verify_commit")
    assert not run.check("LEN-ORDER", "LEN-STALE").findings


# ---- OWN ------------------------------------------------------------------------------------------


def freed_without_a_name(reason: str) -> Run:
    """A free that says neither row nor request, of pages that a running request's row names."""
    run = Run(4)
    run.start(1, span(8, 16))
    run.cache("insert", span(8, 16), request="r1")
    run.start(2, span(20, 28))
    run.free(span(20, 28), reason=reason)
    return run


def test_a_nameless_duplicate_is_judged_at_its_next_use() -> None:
    run = freed_without_a_name("duplicate_prefix")
    run.write(2, 0, span(8, 16))
    run.forward(2, 8, [30], start=8)
    result = run.check("OWN-PAGESAFE")
    assert not result.findings and any("names no request" in unknown.why for unknown in result.unknown)


def test_a_nameless_duplicate_that_is_still_read() -> None:
    run = freed_without_a_name("duplicate_prefix")
    run.step = 4
    run.forward(2, 7, [27])
    assert [f.rule for f in run.check("OWN-PAGESAFE", "OWN-UAF").findings] == ["OWN-UAF"]


@pytest.mark.parametrize("reason", ["evict", "finish"])
def test_a_nameless_free_that_no_running_row_can_have_made(reason: str) -> None:
    assert [f.request for f in freed_without_a_name(reason).check("OWN-PAGESAFE").findings] == [None]


def boundary_inside_a_page(head: list[int], *, ended: bool = True) -> Run:
    run = Run(4)
    run.start(1, span(8, 20))
    run.group("begin")
    run.release(1, 6, 12, free_start=6)
    run.free(span(14, 20), 1, "overshoot")
    run.free(head, 1)
    if ended:
        run.group("end")
    run.quiet()
    return run


def test_a_tail_from_inside_a_page_whose_head_goes_back_in_the_same_group() -> None:
    result = boundary_inside_a_page(span(8, 14)).check("OWN-PAGESAFE", "OWN-DFREE", "OWN-LEAK")
    assert not result.findings and not result.unknown


def test_a_tail_from_inside_a_page_of_which_a_position_is_kept() -> None:
    result = boundary_inside_a_page(span(8, 13)).check("OWN-PAGESAFE")
    assert [(f.first_seq, f.pages) for f in result.findings] == [(5, (3,))]


# ---- MOV ------------------------------------------------------------------------------------------


def pair(verify: Build) -> list[dict[str, Any]]:
    """Two requests of one step; of each the last accepted row moves."""
    slots = {"out_cache_loc": [200, 201, 202, 203], "table_slots": [200, 201, 202, 203]}
    second = verify(request="b", row=2, batch_index=1, block_start=4, accept_index=[4, 5, 7], **slots)
    return [verify(), second]


def move(src: list[int], tgt: list[int], **columns: Any) -> dict[str, Any]:
    return {"event": "move", "step": 1, "pool": "full", "caller": "accept", "src": src, "tgt": tgt} | columns


def test_pairs_in_place_are_left_out_of_some_requests(judge: Build, verify: Build) -> None:
    in_place = verify(request="c", row=3, batch_index=2, block_start=8, accept_index=[8, 9, 10])
    in_place |= {"out_cache_loc": [300, 301, 302, 303], "table_slots": [300, 301, 302, 303]}
    call = move([103, 200, 203, 300, 301, 302], [102, 200, 202, 300, 301, 302])
    assert not judge("MOV-PAIR", *pair(verify), in_place, call).findings


def test_each_request_of_a_step_has_a_call_of_its_own(judge: Build, verify: Build) -> None:
    calls = [move([100, 101, 103], [100, 101, 102]), move([200, 201, 203], [200, 201, 202])]
    assert not judge("MOV-PAIR", *pair(verify), *calls).findings


def test_a_component_is_not_excused_by_the_call_of_another(judge: Build, verify: Build) -> None:
    calls = [move([103, 203], [102, 202], components=["k"]), move([103], [102], components=["v"])]
    assert [f.request for f in judge("MOV-PAIR", *pair(verify), *calls).findings] == ["b"]


def gathered(after: list[int]) -> dict[str, Any]:
    """A compaction into blocks as wide as accept_index."""
    before = [21, 23, 0, 31, 41, 43, 0, 51]
    return {"event": "compact", "step": 1, "tensor": "predict", "before": before, "after": after}


def test_a_lost_accept_shifts_the_blocks_of_a_gathered_compaction(judge: Build, verify: Build) -> None:
    first, second = pair(verify)
    second |= {"predict": [41, 43, 0, 51]}
    after = [21, 23, 31, 41, 43, 51]
    assert not judge("MOV-COMPACT", first, second, gathered(after)).findings
    assert judge("MOV-COMPACT", first, second, gathered([*after[:3], 0, 0, 0])).findings
    drop = DROP | {"table": "accept"}
    assert not judge("MOV-COMPACT", drop, second, gathered(after)).findings
    lines = [verify(seq=0, step=0), second | {"seq": 5}, gathered(after) | {"seq": 6}]
    assert not judge("MOV-COMPACT", *lines).findings


# ---- LOC ------------------------------------------------------------------------------------------


def test_a_masked_slot_of_a_verify_that_pads_the_batch(judge: Build, verify: Build) -> None:
    pad = verify(request=None, row=0, batch_index=1, out_cache_loc=[-1, -1, -1, -1], table_slots=None)
    for rule in ("LOC-RANGE", "LOC-PAD"):
        assert not judge(rule, verify(), pad).findings
    assert judge("LOC-RANGE", verify(out_cache_loc=[-1, 101, 102, 103])).findings


TARGET = [{"name": "target", "kind": "full", "slots": 200, "page_size": 8, "reserved_slots": 8}]


def test_the_main_pool_has_another_name(judge: Build, verify: Build) -> None:
    pad = verify(request=None, row=0, batch_index=1, out_cache_loc=[0, 1, 2, 3], table_slots=None)
    result = judge("LOC-PAD", verify(), pad, pools=TARGET)
    assert not result.findings and result.checked["LOC-PAD"] == 1
    result = judge("LOC-RANGE", verify(), pools=TARGET)
    assert not result.findings and not result.unknown
    assert judge("LOC-RANGE", verify(out_cache_loc=[100, 101, 102, 208]), pools=TARGET).findings


# ---- damaged columns ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "table", "column"),
    [
        ("LEN-COMMIT", "lengths", "cut"),
        ("LEN-SEQ", "lengths", "cut"),
        ("MOV-PAIR", "move", "caller"),
        ("MOV-MISSING", "forward", "padded"),
        ("LOC-UNIQ", "forward", "pool"),
        ("LOC-RANGE", "accept", "request"),
        ("OWN-PAGESAFE", "free", "reason"),
        ("OWN-LEAK", "cache", "action"),
    ],
)
def test_a_damaged_column_makes_rules_on_its_table_unknown(rule: str, table: str, column: str) -> None:
    run = Run(tables=[*TABLES, "move", "compact"])
    run.start(1, span(10, 20))
    verify = {"algorithm": "eagle", "layout": "chain", "seq_len": 8, "new_seq_len": 10, "accept_len": 2}
    run.add("accept", **run.who(1, None, 1), **verify, width=2, out_cache_loc=[18, 19], table_slots=[18, 19])
    run.add("move", pool="full", src=[18, 19], tgt=[18, 19], caller="accept")
    run.add("lengths", **run.who(1, None, 1), committed=12, allocated=20, cause="verify_commit")
    run.forward(1, 12, [12])
    run.end(1, span(10, 20))
    run.quiet()
    assert run.check(rule).checked[rule] > 0
    stream = run.stream()
    what = f"column {column} has another type: it counts as absent"
    problem = Problem(kind=ProblemKind.DAMAGED_COLUMN, where=table, what=what, tables=(table,))
    stream.problems = (problem,)  # type: ignore[assignment]
    result = check(cast(Recording, SimpleNamespace(processes=(stream,), manifest={})), only=[rule])
    instances = sum(u.instances for u in result.unknown if u.why.startswith(f"a damaged column of {table}"))
    assert instances > 0 and (result.checked[rule] == 0 or rule == "LOC-RANGE")
    assert not result.findings


# ---- drops that are noted late --------------------------------------------------------------------


def uncommitted(*, drop_step: int) -> Run:
    """Commits at steps 1 to 7, those of steps 2, 4 and 6 without an accept; a drop of accepts is noted behind one step."""
    run = Run(tables=["accept", "lengths"])
    run.add("lengths", **run.who(1, None, 1), committed=4, allocated=20, cause="extend")
    for step in range(1, 8):
        run.step = step
        if step % 2:
            columns = {"algorithm": "eagle", "accept_len": 1, "seq_len": 3 + step, "new_seq_len": 4 + step}
            run.add("accept", **run.who(1, None, 1), **columns)
        told = {"committed": 4 + step, "allocated": 20, "cause": "verify_commit"}
        run.add("lengths", **run.who(1, None, 1), **told)
        if step == drop_step:
            run.lines.append(DROP | {"table": "accept"})
    return run


@pytest.mark.parametrize(("drop_step", "broken"), [(0, 3), (7, 2), (5, 1)])
def test_what_a_drop_reports_may_have_stood_in_its_step_or_the_one_before(
    drop_step: int, broken: int
) -> None:
    (finding,) = uncommitted(drop_step=drop_step).check("LEN-COMMIT").findings
    assert finding.step == 2 and "no verify of the step accepted any" in finding.message
    assert finding.repeats == broken - 1


def test_a_row_whose_grant_was_dropped_and_noted_late() -> None:
    run = Run()
    run.start(2, span(20, 24))
    run.start(1, span(10, 14))
    grant = next(i for i, line in enumerate(run.lines) if line["event"] == "row_alloc" and line["row"] == 1)
    del run.lines[grant]
    assert run.check("OWN-ROW").findings
    run.lines.append(DROP | {"table": "row_alloc"})
    assert not run.check("OWN-ROW").findings
