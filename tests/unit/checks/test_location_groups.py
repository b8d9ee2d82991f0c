"""LOC-GROUP: slots of another group's table, and groups that share one by design."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult

Line = dict[str, Any]
Judge = Callable[..., CheckResult]
FULL = {"name": "full", "kind": "full", "slots": 100, "page_size": 1, "reserved_slots": 1}
SWA = FULL | {"name": "swa", "kind": "swa"}
DRAFT = FULL | {"name": "draft", "kind": "draft", "allocated_by": "full"}


def table(start: int, slots: list[int], **columns: Any) -> Line:
    return {"event": "table_write", "step": 1, "row": 1, "epoch": 1, "start": start, "slots": slots} | columns


def mapping(full: list[int], swa: list[int]) -> Line:
    return {"event": "swa_map", "step": 1, "full_slots": full, "swa_slots": swa}


def forward(start: int, slots: list[int], pool: str = "full", **columns: Any) -> Line:
    line: Line = {"event": "forward", "step": 1, "mode": "extend", "request": "a", "row": 1, "epoch": 1}
    return line | {"pool": pool, "start": start, "slots": slots} | columns


def judged(judge: Judge, *lines: Line, pools: tuple[Line, ...] = (FULL, SWA)) -> CheckResult:
    tables = ["forward", "table_write", "swa_map"]
    return judge("LOC-GROUP", *lines, pools=list(pools), tables=tables)


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


WRITTEN = (table(0, [40, 41, 42]), mapping([40, 41, 42], [10, 11, 12]))


def test_each_group_by_its_own_table(judge: Judge) -> None:
    result = judged(judge, *WRITTEN, forward(0, [40, 41, 42]), forward(1, [11, 12], "swa"))
    assert reasons(result) == {} and result.checked["LOC-GROUP"] == 2


@pytest.mark.parametrize(
    ("line", "due"), [(forward(1, [11, 12]), "full"), (forward(1, [41, 42], "swa"), "swa")]
)
def test_a_group_by_the_table_of_another(judge: Judge, line: Line, due: str) -> None:
    (finding,) = judged(judge, *WRITTEN, line).findings
    assert f"for its layers of {due}, from position 1 on" in finding.message
    assert finding.slots == tuple(line["slots"]) and len(finding.evidence[0].rows) == 2


def test_the_group_that_an_event_names_counts(judge: Judge) -> None:
    line = forward(0, [40, 41, 42], "full", group="swa")
    (finding,) = judged(judge, *WRITTEN, line).findings
    assert "for its layers of swa" in finding.message
    other = judged(judge, *WRITTEN, forward(0, [40, 41, 42], "full", group="layers 0 to 3"))
    assert reasons(other) == {}, "a name that is no pool's says nothing of a table"


def test_a_table_of_its_own(judge: Judge) -> None:
    own = table(0, [20, 21, 22], pool="swa")
    result = judged(judge, WRITTEN[0], own, forward(0, [20, 21, 22], "swa"), forward(0, [40, 41, 42]))
    assert reasons(result) == {} and result.checked["LOC-GROUP"] == 2
    (finding,) = judged(judge, WRITTEN[0], own, forward(0, [40, 41], "swa")).findings
    assert finding.slots == (40, 41)


def test_the_row_as_it_was_then(judge: Judge) -> None:
    later = (table(0, [10, 11, 12]), mapping([10, 11, 12], [40, 41, 42]))
    assert reasons(judged(judge, *WRITTEN, forward(0, [40, 41, 42]), *later)) == {}
    assert reasons(judged(judge, *WRITTEN, forward(0, [10, 11, 12], "swa"), *later)) == {}


def test_pools_that_share_the_table(judge: Judge) -> None:
    draft = forward(0, [40, 41, 42], "draft")
    assert reasons(judged(judge, *WRITTEN, draft, pools=(FULL, SWA, DRAFT))) == {}


def test_one_table_alone_is_nothing_to_mix_up(judge: Judge) -> None:
    result = judged(judge, WRITTEN[0], forward(0, [7, 8, 9]), pools=(FULL, DRAFT))
    assert reasons(result) == {} and result.checked["LOC-GROUP"] == 0


def test_forwards_that_are_not_judged(judge: Judge) -> None:
    lines = forward(0, [10, 11, 12], mode="draft"), forward(0, [10, 11, 12], padded=True)
    result = judged(judge, *WRITTEN, *lines)
    assert reasons(result) == {} and result.checked["LOC-GROUP"] == 0


@pytest.mark.parametrize(
    ("line", "due"), [(forward(0, [40, 41, 99]), "full"), (forward(1, [43, 12], "swa"), "swa")]
)
def test_slots_of_nobodys_table(judge: Judge, line: Line, due: str) -> None:
    """The table due says another slot; whose the one that is used may be does not matter."""
    (finding,) = judged(judge, *WRITTEN, line).findings
    assert f"uses slots that are not those of the table of {due}" in finding.message
    assert finding.actual.endswith("by no recorded table") and len(finding.slots) == 1


def test_a_forward_of_a_row_that_has_ended(judge: Judge) -> None:
    """Its slots have been granted again meanwhile, with other peers."""
    end = {"event": "row_free", "step": 1, "row": 1, "epoch": 1, "request": "a"}
    lines = (*WRITTEN, mapping([40, 41, 42], [20, 21, 22]), forward(0, [10, 11, 12], "swa"))
    assert judged(judge, *lines).findings
    ended = judged(judge, WRITTEN[0], WRITTEN[1], end, *lines[2:])
    assert reasons(ended) == {"the request's row has ended before": 1}
    again = judged(judge, *WRITTEN, end | {"epoch": 0}, *lines[2:])
    assert again.findings, "an earlier life's end"


def test_entries_that_were_not_recorded(judge: Judge) -> None:
    why = "no entry of the group's table is known at these positions"
    assert reasons(judged(judge, WRITTEN[1], forward(0, [10, 11, 12]))) == {why: 1}
    assert reasons(judged(judge, *WRITTEN, forward(0, [10, 11, 12], row=2))) == {why: 1}
    cleared = mapping([40, 41, 42], [0, 0, 0])
    assert reasons(judged(judge, *WRITTEN, cleared, forward(0, [40, 41, 42], "swa"))) == {why: 1}


C4 = FULL | {"name": "c4", "kind": "c4", "slots": 25}
PAGED = table(0, [40, 41, 42, 43, 64, 65, 66, 67])
"""Groups of 4 positions, whose entries are 10 and 16."""


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([PAGED, forward(0, [10, 16], "c4")], ""),
        ([PAGED, forward(0, [10, 17], "c4")], "uses slots that are not those of the table of c4 for its layers of c4"),
        ([PAGED, forward(4, [16], "c4")], ""),
        ([PAGED, forward(4, [10], "c4")], "uses slots that are not"),  # the group before
        ([PAGED, forward(6, [16], "c4")], ""),  # the group is begun
        ([PAGED, forward(1, [16], "c4")], ""),  # start counts groups
        ([PAGED, forward(0, [43, 67], "c4")], "uses slots that are not"),  # the slots themselves
        ([PAGED, forward(0, [16, 10], "c4", positions=[7, 3])], ""),
        ([PAGED, forward(0, [10, 16], "c4", positions=[7, 3])], "uses slots that are not"),
        ([PAGED, forward(0, [16, 10], "c4", positions=[1, 0])], ""),  # positions count groups
        ([PAGED, forward(2, [0, 10, 0], "c4", positions=[2, 3, 4])], ""),  # a place for each token
        ([PAGED, forward(2, [0, 16, 0], "c4", positions=[2, 3, 4])], "uses slots that are not"),
        ([PAGED, forward(0, [10, 16], group="c4")], ""),
        ([PAGED, forward(0, [10, 17], group="c4")], "uses slots that are not"),
    ],
)  # fmt: skip
def test_entries_of_c4_follow_from_the_slots(judge: Judge, lines: list[Line], wrong: str) -> None:
    result = judged(judge, *lines, pools=(FULL, C4))
    found = [finding.message for finding in result.findings]
    assert len(found) == bool(wrong) and all(wrong in message for message in found), found
    assert result.checked["LOC-GROUP"] == 1 and not result.unknown
    if "are not those of the table" in wrong:
        assert result.findings[0].expected == "slot 16 at place 1 of its list, by the table of c4"


def test_entries_of_c4_that_are_granted_follow_from_nothing(judge: Judge) -> None:
    why = "no entry of the group's table is known at these positions"
    grant = {"event": "alloc", "step": 1, "pool": "c4", "slots": [17], "reason": "extend"}
    lines = (*WRITTEN, grant, forward(0, [17], "c4"))
    assert reasons(judged(judge, *lines, pools=(FULL, SWA, C4))) == {why: 1}
    assert reasons(judged(judge, forward(0, [10], "c4"), pools=(FULL, C4))) == {why: 1}


def test_a_table_that_was_not_recorded_whole_says_nothing_for_sure(judge: Judge) -> None:
    why = "the group's table was not recorded whole"
    lines = (*WRITTEN, forward(1, [41, 42], "swa"))
    for tables in (["forward", "table_write"], ["forward", "swa_map"]):
        result = judge("LOC-GROUP", *lines, pools=[FULL, SWA], tables=tables)
        assert reasons(result) == {why: 1}
    own = (WRITTEN[0], table(0, [20, 21, 22], pool="swa"), forward(0, [40, 41], "swa"))
    assert judge("LOC-GROUP", *own, pools=[FULL, SWA], tables=["forward", "table_write"]).findings
