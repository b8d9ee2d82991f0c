"""LOC: addresses that break the laws, and what looks like a breach and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult

LOC = ("LOC-ROW", "LOC-UNIQ", "LOC-RANGE", "LOC-PAD", "LOC-WIDTH")
Build = Callable[..., Any]
POOLS = [
    {
        "name": "full",
        "kind": "full",
        "slots": 64,
        "page_size": 16,
        "reserved_slots": 16,
        "namespace": "target",
    },
    {
        "name": "draft",
        "kind": "draft",
        "slots": 32,
        "page_size": 16,
        "reserved_slots": 16,
        "namespace": "draft",
    },
]


@pytest.fixture
def judge(record: Build) -> Build:
    def run(*lines: dict[str, Any], only: tuple[str, ...] = LOC, **head: Any) -> CheckResult:
        return check(record(*lines, head={"pools": POOLS, "settings": {"row_width": 24}, **head}), only=only)

    return run


def broken(result: CheckResult) -> list[tuple[str, str | None]]:
    return [(finding.rule, finding.request) for finding in result.findings]


def forward(request: str | None, row: int, slots: list[int], **columns: Any) -> dict[str, Any]:
    line = {
        "event": "forward",
        "step": 1,
        "mode": "decode",
        "pool": "full",
        "padded": False,
        "row": row,
        "epoch": 1,
    }
    line |= {"request": request, "slots": slots} | columns
    return {name: value for name, value in line.items() if value is not None}


def test_a_verify_through_the_slots_of_the_round_before(judge: Build, verify: Build) -> None:
    first = verify(out_cache_loc=[30, 31, 32, 33], table_slots=[30, 31, 32, 33])
    frozen = verify(step=2, out_cache_loc=[30, 31, 32, 33], table_slots=[33, 34, 35, 36])
    (finding,) = judge(first, frozen).findings
    assert (finding.rule, finding.step, finding.request) == ("LOC-ROW", 2, "a")
    assert "step 1, the verify before" in finding.message
    assert {30, 33} <= set(finding.slots or ())


@pytest.mark.parametrize("slots", [[], [100, 101, 102]])
def test_a_row_that_is_not_told_whole_is_unknown(judge: Build, verify: Build, slots: list[int]) -> None:
    result = judge(verify(table_slots=slots), only=("LOC-ROW",))
    assert [u.why for u in result.unknown] == ["table_slots is shorter than the verify"]
    assert not result.findings and not result.checked["LOC-ROW"]
    moved = judge(verify(table_slots=[99, *slots[1:]]), only=("LOC-ROW",))
    assert broken(moved) == [("LOC-ROW", "a")]


def test_one_forward_writes_a_slot_for_two_requests(judge: Build) -> None:
    result = judge(forward("a", 1, [20, 21]), forward("b", 2, [22, 21]))
    assert broken(result) == [("LOC-UNIQ", "a"), ("LOC-UNIQ", "b")]
    assert result.findings[0].slots == (21,)
    assert result.findings[1].cause == result.findings[0].first_seq


@pytest.mark.parametrize(
    "lines",
    [
        [forward("a", 1, [20]), forward("b", 2, [20], pool="draft")],  # target and draft share ids
        [forward("a", 1, [20], mode="draft"), forward("a", 1, [20], mode="draft")],  # two draft steps
        [forward("a", 1, [20]), forward("b", 2, [20], step=2)],
        [forward("a", 1, [20], step=None), forward("b", 2, [20], step=None)],  # no step: no common forward
        [forward("a", 1, [20], group="0"), forward("b", 2, [20], group="1")],
        [forward(None, 0, [0], padded=True), forward(None, 0, [0], padded=True)],
        [forward("a", 1, [3]), forward("b", 2, [3])],  # dummy slots
    ],
)
def test_slots_that_may_meet(judge: Build, lines: list[dict[str, Any]]) -> None:
    assert not judge(*lines).findings


def test_a_prefill_chunk_and_a_decode_are_one_forward(judge: Build) -> None:
    result = judge(forward("a", 1, [20, 21], mode="extend"), forward("b", 2, [21], mode="decode"))
    assert broken(result) == [("LOC-UNIQ", "a"), ("LOC-UNIQ", "b")]


def test_verifies_without_a_forward_are_judged_by_their_accepts(judge: Build, verify: Build) -> None:
    slots = {"out_cache_loc": [20, 21, 22, 23], "table_slots": [20, 21, 22, 23]}
    second = verify(request="b", row=2, batch_index=1, block_start=4, **slots)
    assert broken(judge(verify(**slots), second)) == [("LOC-UNIQ", "a"), ("LOC-UNIQ", "b")]
    seen = forward("a", 1, [20, 21, 22, 23], mode="target_verify")
    assert judge(seen, verify(**slots)).checked["LOC-UNIQ"] == 1


SLOT_LINES = [
    ({"event": "alloc", "pool": "full", "request": "a"}, "slots"),
    ({"event": "free", "pool": "full", "request": "a"}, "slots"),
    ({"event": "table_write", "row": 1, "epoch": 1, "start": 0}, "slots"),
    ({"event": "cache", "action": "insert", "pool": "full", "start": 0}, "slots"),
    ({"event": "forward", "mode": "extend", "request": "a"}, "slots"),
    ({"event": "move", "tgt": [20, 21]}, "src"),
    ({"event": "move", "src": [20, 21]}, "tgt"),
    ({"event": "accept", "request": "a", "row": 1}, "out_cache_loc"),
    ({"event": "accept", "request": "a", "row": 1}, "table_slots"),
]


@pytest.mark.parametrize(("line", "column"), SLOT_LINES)
@pytest.mark.parametrize(("slots", "wild"), [([20, 79], ()), ([20, 80], (80,)), ([-1, 20], (-1,))])
def test_every_table_that_names_slots(
    judge: Build, line: dict[str, Any], column: str, slots: list[int], wild: tuple[int, ...]
) -> None:
    result = judge(line | {column: slots}, only=("LOC-RANGE",))
    assert [finding.slots for finding in result.findings] == ([wild] if wild else [])
    assert result.checked["LOC-RANGE"] == 1


def test_reserved_slots_are_never_granted(judge: Build) -> None:
    """A free may name them: engines leave them out themselves."""
    line = {"event": "alloc", "pool": "full", "request": "a"}
    freed = {"event": "free", "pool": "full", "request": "a", "slots": [0, 16]}
    assert not judge(line | {"slots": [16, 17]}, freed, only=("LOC-RANGE",)).findings
    (finding,) = judge(line | {"slots": [16, 15, 0]}, only=("LOC-RANGE",)).findings
    assert finding.message == "alloc names slot 15, which is a reserved one of pool full"
    assert finding.slots == (15, 0) and finding.expected == "slots in [16, 80)"


BESIDE = [
    *POOLS,
    {"name": "swa", "kind": "swa", "slots": 32, "page_size": 16, "reserved_slots": 16},
    {"name": "c128", "kind": "c128", "slots": 64, "page_size": 4, "reserved_slots": 4, "owner": "sidecar"},
]
MAP: dict[str, Any] = {"event": "swa_map", "full_slots": [79], "swa_slots": [47]}
REF: dict[str, Any] = {
    "event": "page_ref",
    "pool": "c128",
    "action": "retain",
    "holder": "row:1",
    "pages": [16],
}
SIDECAR: dict[str, Any] = {
    "event": "table_write",
    "pool": "c128",
    "row": 1,
    "epoch": 1,
    "start": 0,
    "slots": [16],
}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (MAP | {"full_slots": [80]}, "slot 80, which lies outside pool full"),
        (MAP | {"swa_slots": [48]}, "slot 48, which lies outside pool swa"),
        (REF | {"pages": [17]}, "page 17, which lies outside pool c128"),
        (REF | {"pages": [17], "pool": None}, "page 17, which lies outside pool c128"),
        (SIDECAR | {"slots": [17]}, "page 17, which lies outside pool c128"),
    ],
)
def test_peers_and_pages_have_bounds_of_their_own(judge: Build, line: dict[str, Any], said: str) -> None:
    clean = judge(MAP, REF, SIDECAR, only=("LOC-RANGE",), pools=BESIDE)
    assert not clean.findings and clean.checked["LOC-RANGE"] == 3
    (finding,) = judge(line, only=("LOC-RANGE",), pools=BESIDE).findings
    assert said in finding.message and (finding.pages or finding.slots) == (int(said.split()[1][:-1]),)


def test_a_window_of_unknown_size_bounds_nothing(judge: Build) -> None:
    result = judge(MAP, only=("LOC-RANGE",))
    assert [unknown.why for unknown in result.unknown] == ["the pool's size is not known"]


def test_each_pool_has_its_own_size(judge: Build) -> None:
    assert not judge(forward("a", 1, [50]), only=("LOC-RANGE",)).findings
    assert judge(forward("a", 1, [50], pool="draft"), only=("LOC-RANGE",)).findings
    result = judge(forward("a", 1, [50], pool="other"), only=("LOC-RANGE",))
    assert not result.findings
    assert [unknown.why for unknown in result.unknown] == [
        "events of forward name pool other, which the process line does not declare"
    ]


def test_events_without_slots_are_no_instances(judge: Build) -> None:
    refused = {"event": "alloc", "pool": "full", "request": "a", "granted": False}
    lock = {"event": "cache", "action": "lock", "request": "a"}
    result = judge(refused, lock, only=("LOC-RANGE",))
    assert result.checked["LOC-RANGE"] == 0
    assert not result.unknown


@pytest.mark.parametrize(
    ("slots", "bad"), [([0, 0], ()), ([0, 15], ()), ([-1, 0], ()), ([16, 0], (16,)), ([-2], (-2,))]
)
def test_padding_writes_to_the_dummy_page(judge: Build, slots: list[int], bad: tuple[int, ...]) -> None:
    for columns in ({"padded": True}, {"mode": "idle", "padded": None}):
        result = judge(forward(None, 0, slots, **columns), only=("LOC-PAD",))
        assert [finding.slots for finding in result.findings] == ([bad] if bad else [])


def test_a_verify_that_pads_the_batch(judge: Build, verify: Build) -> None:
    pad = verify(request=None, row=0, out_cache_loc=[0, 0, 40, 0], table_slots=None)
    assert broken(judge(pad)) == [("LOC-PAD", None)]


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ({"event": "table_write", "row": 1, "epoch": 1, "start": 20, "slots": [20, 21, 22, 23]}, True),
        ({"event": "table_write", "row": 1, "epoch": 1, "start": 21, "slots": [20, 21, 22, 23]}, False),
        ({"event": "table_write", "pool": "c128", "row": 1, "start": 99, "slots": [1]}, None),
        ({"event": "reserve", "row": 1, "committed": 16, "reserve": 8, "new_allocated": 24}, True),
        ({"event": "reserve", "row": 1, "committed": 16, "reserve": 8, "new_allocated": 32}, False),
        ({"event": "reserve", "row": 1, "committed": 17, "reserve": 8}, False),
        ({"event": "accept", "row": 1, "seq_len": 20, "width": 4}, True),
        ({"event": "accept", "row": 1, "seq_len": 21, "width": 4}, False),
    ],
)
def test_row_width(judge: Build, line: dict[str, Any], fits: bool | None) -> None:
    result = judge(line, only=("LOC-WIDTH",))
    assert len(result.findings) == (fits is False)
    assert result.checked["LOC-WIDTH"] == (fits is not None)


def test_warm_up_writes_where_nobody_is(judge: Build) -> None:
    pad, alloc = forward(None, 0, [40], padded=True), {"event": "alloc", "pool": "full", "slots": [41]}
    assert not judge(pad, alloc, only=("LOC-PAD",), from_start=True).findings
    assert judge(alloc, pad, only=("LOC-PAD",), from_start=True).findings
    assert judge(pad, alloc, only=("LOC-PAD",), from_start=False).findings
