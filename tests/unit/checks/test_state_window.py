"""ST-SWA: where the cursor of the sliding window may stand, and what looks like a break of the law and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.model.finding import Severity

Build = Callable[..., Any]
POOLS = [
    {"name": "full", "kind": "full", "slots": 1024, "page_size": 8, "reserved_slots": 8},
    {"name": "swa", "kind": "swa", "slots": 512, "page_size": 8, "reserved_slots": 8},
]
SETTINGS = {"sliding_window": 32, "swa_eviction_interval": 16, "num_draft_tokens": 4}
HEAD = {"pools": POOLS, "settings": SETTINGS, "tables": ["lengths", "release", "cache"], "from_start": True}


def lengths(
    committed: int | None, evicted: int | None, cause: str = "spec_prepare", **more: Any
) -> dict[str, Any]:
    line = {
        "event": "lengths",
        "request": "a",
        "row": 1,
        "epoch": 1,
        "committed": committed,
        "allocated": 512,
    }
    line |= {"swa_evicted": evicted, "cause": cause} | more
    return {name: value for name, value in line.items() if value is not None}


def release(kind: str = "session_trim", **more: Any) -> dict[str, Any]:
    return {"event": "release", "request": "a", "row": 1, "epoch": 1, "kind": kind, "committed": 60} | more


PROMPT = lengths(60, 0, "extend")


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([PROMPT, lengths(64, 32)], ""),  # exactly the bound
        ([PROMPT, lengths(71, 32)], ""),  # 71 - 32 = 39, the page begins at 32
        ([PROMPT, lengths(71, 40)], "the eviction cursor stands at 40, behind page_floor(71 - 32) = 32"),
        ([PROMPT, lengths(71, 33)], "the eviction cursor stands at 33"),
        ([lengths(20, 8, "extend")], "the eviction cursor stands at 8, behind page_floor(20 - 32) = 0"),
        ([lengths(100, 64, "extend")], ""),  # a transfer of the tail alone starts past 0
        ([PROMPT, lengths(72, 40), lengths(76, 32)], "the eviction cursor goes back from 40 to 32"),
        ([PROMPT, lengths(72, 40), lengths(76, 40)], ""),
        ([PROMPT, lengths(72, 40), lengths(40, 8, "session_trim")], ""),
        ([PROMPT, lengths(72, 40), release(), lengths(40, 8, "extend")], ""),
        ([PROMPT, lengths(72, 40), lengths(40, 8, "session_trim"), lengths(44, 8)], ""),
        ([PROMPT, lengths(72, 40), lengths(72, 0, "finish")], ""),  # the record is reset
        ([PROMPT, lengths(72, 40), lengths(0, 0, "retract")], ""),
        ([PROMPT, lengths(72, 40), lengths(40, 0, "extend", epoch=2)], ""),  # another life
        ([PROMPT, lengths(72, -8)], "the eviction cursor goes back from 0 to -8"),
    ],
)
def test_where_the_cursor_may_stand(judge: Build, lines: list[dict[str, Any]], wrong: str) -> None:
    result = judge("ST-SWA", *lines, **HEAD)
    assert [f.message for f in result.findings if not f.message.startswith(wrong or "!")] == []
    assert len(result.findings) == bool(wrong) and not result.unknown


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([PROMPT, lengths(64, 64)], ""),  # page_ceil(60): the prompt keeps its slots until the request ends
        ([PROMPT, lengths(64, 60)], ""),
        ([PROMPT, lengths(64, 72)], "the eviction cursor stands at 72, behind page_floor(64 - 32) = 32"),
        ([PROMPT, lengths(112, 80)], ""),
        ([PROMPT, lengths(112, 88)], "the eviction cursor stands at 88"),
        ([lengths(64, 64)], ""),  # how long the prompt was is not known
    ],
)
def test_a_window_that_keeps_the_prompt_begins_behind_it(
    judge: Build, lines: list[dict[str, Any]], wrong: str
) -> None:
    head = HEAD | {"settings": SETTINGS | {"prefill_aware_swa": True}}
    result = judge("ST-SWA", *lines, **head)
    assert [f.message for f in result.findings if not f.message.startswith(wrong or "!")] == []
    assert len(result.findings) == bool(wrong)
    assert {f.rule for f in judge("ST-SWA", PROMPT, lengths(64, 64), **HEAD).findings} == {"ST-SWA"}


def insert(start: int, count: int, **more: Any) -> dict[str, Any]:
    slots = [8 + start + k for k in range(count)]
    return {"event": "cache", "action": "insert", "request": "a", "start": start, "slots": slots} | more


@pytest.mark.parametrize(
    ("tree", "cursor", "broken"),
    [
        ([insert(0, 56)], 56, False),
        ([insert(0, 32), insert(32, 24)], 56, False),
        ([insert(0, 8, key_len=56)], 56, False),
        ([insert(0, 56), insert(0, 8)], 56, False),
        ([insert(0, 56)], 64, True),
        ([insert(0, 56, request="b")], 56, True),
        ([insert(0, 0, action="match", key_len=56, served_len=56)], 56, False),
        ([insert(0, 0, action="match", key_len=56, served_len=32)], 56, True),
    ],
)
def test_the_cursor_begins_behind_what_the_tree_has(
    judge: Build, tree: list[dict[str, Any]], cursor: int, broken: bool
) -> None:
    result = judge("ST-SWA", PROMPT, *tree, lengths(71, cursor), **HEAD)
    assert len(result.findings) == broken and not result.unknown


@pytest.mark.parametrize("lost", [{"tables": ["lengths", "release"]}, {"from_start": False}, {}])
def test_what_the_tree_has_may_not_be_recorded(judge: Build, lost: dict[str, Any]) -> None:
    drop = [] if lost else [{"event": "drop", "table": "cache", "rows": 1, "why": "queue full"}]
    result = judge("ST-SWA", *drop, PROMPT, lengths(71, 56), **(HEAD | lost))
    assert not result.findings and result.unknown


def test_a_cursor_that_does_not_follow_is_a_warning(judge: Build) -> None:
    late = [PROMPT, *(lengths(60 + 4 * k, 0) for k in range(1, 20))]
    (finding,) = judge("ST-SWA", *late, **HEAD).findings
    assert finding.severity is Severity.WARNING
    assert (
        finding.first_seq == 9
    )  # 96 committed, of which 36 after the prompt: interval 16, a page 8, two verifies 8
    assert "96 positions keep slots in the window's pool" in finding.message


def test_a_long_prompt_is_evicted_by_the_steps_that_follow_it(judge: Build) -> None:
    assert not judge("ST-SWA", lengths(500, 0, "extend"), lengths(500, 0), lengths(504, 464), **HEAD).findings


def test_up_to_an_interval_may_wait(judge: Build) -> None:
    steps = [lengths(60 + 4 * k, 0) for k in range(1, 9)]
    assert not judge("ST-SWA", PROMPT, *steps, lengths(96, 64), **HEAD).findings


@pytest.mark.parametrize(
    ("lines", "head", "why"),
    [
        ([lengths(64, 8)], {"settings": {}}, "the window's size was not recorded"),
        ([lengths(None, 8)], {}, "no committed length"),
        ([lengths(64, 8, row=None)], {}, "events of lengths have no row"),
        ([PROMPT, lengths(200, 0)], {"settings": {"sliding_window": 32}}, "how often the engine evicts is not known"),
        (
            [PROMPT, lengths(200, 0)],
            {"pools": [*POOLS, {"name": "mamba", "kind": "mamba", "slots": 4}]},
            "how often the engine evicts is not known",
        ),
        (
            [PROMPT, lengths(200, 0)],
            {"settings": SETTINGS | {"swa_retain_floor": True}},
            "how often the engine evicts is not known",
        ),
    ],
)  # fmt: skip
def test_what_can_t_be_judged(
    judge: Build, lines: list[dict[str, Any]], head: dict[str, Any], why: str
) -> None:
    result = judge("ST-SWA", *lines, **(HEAD | head))
    assert not result.findings and [each.why for each in result.unknown] == [why]


def test_beside_recurrent_state_a_tree_without_a_floor_is_judged(judge: Build) -> None:
    head = HEAD | {"pools": [*POOLS, {"name": "mamba", "kind": "mamba", "slots": 4}]}
    head |= {"settings": SETTINGS | {"swa_retain_floor": False}}
    (finding,) = judge("ST-SWA", PROMPT, lengths(200, 0), **head).findings
    assert finding.severity is Severity.WARNING


def test_reports_without_a_cursor_are_no_instances(judge: Build) -> None:
    result = judge("ST-SWA", lengths(64, None), **HEAD)
    assert not result.checked["ST-SWA"] and not result.unknown


@pytest.mark.parametrize("table", ["lengths", "release"])
def test_what_was_dropped_may_have_been_a_trim(judge: Build, table: str) -> None:
    drop = {"event": "drop", "table": table, "rows": 1, "why": "queue full"}
    result = judge("ST-SWA", PROMPT, lengths(72, 40), drop, lengths(76, 32), **HEAD)
    assert not result.findings and result.unknown


def test_without_a_pool_of_its_own_the_main_pool_has_the_page(judge: Build) -> None:
    head = HEAD | {"pools": POOLS[:1]}
    assert judge("ST-SWA", PROMPT, lengths(71, 33), **head).findings
    assert not judge("ST-SWA", PROMPT, lengths(71, 33), **(head | {"pools": []})).findings


def test_what_waits_is_counted_from_the_prompt_all_of_which_has_to_be_seen(judge: Build) -> None:
    lines = [PROMPT | {"seq": 0}, lengths(128, 32) | {"seq": 1}, lengths(130, 32) | {"seq": 2}]
    assert len(judge("ST-SWA", *lines, **HEAD).findings) == 1
    behind = [lines[0], *(line | {"seq": line["seq"] + 1} for line in lines[1:])]
    result = judge("ST-SWA", *behind, **HEAD)
    assert not result.findings and sum(each.instances for each in result.unknown) == 2, (
        "a part of the prompt may be lost"
    )
    part = judge("ST-SWA", *lines, **(HEAD | {"tables": ["release", "cache"]}))
    assert not part.findings
    assert [each.why for each in part.unknown] == ["reports of lengths were not recorded whole"]
