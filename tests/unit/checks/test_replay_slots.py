"""RPL-LOC, RPL-MOVE, RPL-COMPACT: what replay finds, and what looks like a mismatch and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.ledgers import Run

Build = Callable[..., Any]
SOURCES, TARGETS = [100, 101, 103], [100, 101, 102]


def write(slots: list[int], start: int = 10, **columns: Any) -> dict[str, Any]:
    return {
        "event": "table_write",
        "step": 1,
        "row": 1,
        "epoch": 1,
        "start": start,
        "slots": slots,
    } | columns


def move(src: list[int], tgt: list[int], **columns: Any) -> dict[str, Any]:
    line = {"event": "move", "step": 1, "pool": "full", "caller": "accept", "src": src, "tgt": tgt} | columns
    return {name: value for name, value in line.items() if value is not None}


def reader(verify: Build, **columns: Any) -> dict[str, Any]:
    """The request's next verify; it accepts its root only."""
    slots = {"out_cache_loc": [103, 104, 105, 106], "table_slots": [103, 104, 105, 106]}
    last = {"accept_index": [0, -1, -1], "accept_len": 1, "num_correct_drafts": 0, "new_seq_len": 14}
    line: dict[str, Any] = verify(step=2, seq_len=13, bonus_token=21, **slots, **last, **columns)
    return line


# ---- RPL-LOC ------------------------------------------------------------------------------------------


def test_a_row_is_rebuilt_from_its_writes(judge: Build, verify: Build) -> None:
    verify_ = verify(table_slots=None)
    lines = [write([90, 91, 100], 8), write([101, 102], 11), write([103, 104], 13), verify_]
    result = judge("RPL-LOC", *lines)
    assert not result.findings and not result.unknown and result.checked["RPL-LOC"] == 1
    (finding,) = judge("RPL-LOC", *lines[:2], write([109, 104], 13), verify_).findings
    assert finding.slots == (103, 109) and (finding.step, finding.request) == (1, "a")
    assert "kernels.locate.row_slots" in finding.message
    assert finding.evidence[0].rows[3] == (3, 13, 109, None, 2, 103, "✗")


def test_the_last_write_before_the_accept_counts(judge: Build, verify: Build) -> None:
    old, new = write([90, 91, 92, 93]), write([100, 101, 102, 103])
    assert not judge("RPL-LOC", old, new, verify(table_slots=None)).findings
    assert judge("RPL-LOC", new, old, verify(table_slots=None)).findings
    assert not judge("RPL-LOC", new, verify(table_slots=None), old).findings


@pytest.mark.parametrize(
    "stray",
    [
        {"epoch": 2},  # the row's next life
        {"row": 2},
        {"pool": "sidecar"},
        {"epoch": None},
    ],
)
def test_writes_of_others_do_not_count(judge: Build, verify: Build, stray: dict[str, Any]) -> None:
    pools = [
        {"name": "full", "kind": "full", "slots": 1000, "page_size": 1, "reserved_slots": 1},
        {"name": "sidecar", "kind": "c128", "slots": 9, "page_size": 1},
    ]
    lines = [write([100, 101, 102, 103]), write([90, 91, 92, 93], **stray), verify(table_slots=None)]
    assert not judge("RPL-LOC", *lines, pools=pools).findings


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([write([90, 91, 92, 93], epoch=0)], "neither a write into the row nor its snapshot is known"),
        ([write([100, 101])], "neither a write into the row nor its snapshot is known"),
        (
            [write([100, 101, 102, 103]), {**write([0]), "slots": None}],
            "neither a write into the row nor its snapshot is known",
        ),
        (
            [write([100, 101, 102, 103]), write([90], 13, step=2)],
            "the row changed around the time when it was read",
        ),
    ],
)
def test_a_row_that_is_not_known(judge: Build, verify: Build, lines: list[dict[str, Any]], why: str) -> None:
    lines = [{n: v for n, v in line.items() if v is not None} for line in lines]
    result = judge("RPL-LOC", *lines, verify(table_slots=None))
    assert not result.findings
    assert [(each.why, each.instances) for each in result.unknown] == [(why, 1)]


def test_writes_and_snapshot_that_disagree(judge: Build, verify: Build) -> None:
    torn = [write([100, 101, 102, 109]), verify()]
    result = judge("RPL-LOC", *torn)
    assert not result.findings and result.checked["RPL-LOC"] == 0
    assert judge("RPL-LOC", torn[0], verify(out_cache_loc=[100, 101, 102, 110])).findings


def test_no_writes_are_known_where_the_table_is_not_whole(judge: Build, verify: Build) -> None:
    lines = [write([90, 91, 92, 93]), verify(table_slots=None)]
    assert judge("RPL-LOC", *lines).findings
    assert not judge("RPL-LOC", *lines, tables=["accept"]).findings


def test_a_lost_write_makes_the_row_unknown(judge: Build, verify: Build) -> None:
    lines = [write([90, 91, 92, 93], seq=0), verify(table_slots=None, seq=3)]
    result = judge("RPL-LOC", *lines)
    assert not result.findings and "missing" in result.unknown[0].why


# ---- RPL-MOVE -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "calls",
    [
        [move(SOURCES, TARGETS)],
        [move([*SOURCES, 0, 0], [*TARGETS, 0, 0])],
        [move([103], [102])],
        [move([103, 100], [102, 100])],
        [move([*SOURCES, 55], [*TARGETS, 0])],  # padding that copies into the dummy
        [move(SOURCES, TARGETS, caller=None)],
        [move(SOURCES, TARGETS, components=["k"]), move(SOURCES, TARGETS, components=["v"])],
        [move([7, 7], [8, 9], caller="draft_tail"), move(SOURCES, TARGETS)],
    ],
)
def test_the_same_move_in_another_list(judge: Build, verify: Build, calls: list[dict[str, Any]]) -> None:
    result = judge("RPL-MOVE", verify(), *calls)
    assert not result.findings and not result.unknown


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([move(TARGETS, SOURCES)], "102 <- 103 is missing; 103 <- 102 is not due"),
        ([move([100, 101, 102], TARGETS)], "102 <- 103 is missing"),
        ([move(SOURCES, [100, 101, 104])], "102 <- 103 is missing; 104 <- 103 is not due"),
        ([move([*SOURCES, 200], [*TARGETS, 201])], "201 <- 200 is not due"),
        (
            [move(SOURCES, TARGETS, components=["k"]), move([100], [100], components=["v"])],
            "102 <- 103 is missing",
        ),
    ],
)
def test_another_move(judge: Build, verify: Build, calls: list[dict[str, Any]], said: str) -> None:
    (finding,) = judge("RPL-MOVE", verify(), *calls).findings
    assert finding.message == f"the engine's move is not that of kernels.locate.accepted_pairs: {said}"
    assert (finding.step, finding.request, finding.first_seq) == (1, "a", 1)


def test_each_finding_has_its_own_strays(judge: Build, verify: Build) -> None:
    lines = []
    for step in range(1, 5):
        slots = [100 * step + k for k in range(4)]
        lines.append(verify(step=step, request=f"r{step}", out_cache_loc=slots, table_slots=slots))
        pairs = [(slots[3], slots[2])] + [(slots[1] + k, slots[3]) for k in range(step - 1)]
        lines.append(move([s for s, _ in pairs], [t for _, t in pairs], step=step))
    found = {f.step: f.actual for f in judge("RPL-MOVE", *lines).findings}
    assert found == {
        2: "202 <- 203, 203 <- 201",
        3: "302 <- 303, 303 <- 301, 303 <- 302",
        4: "402 <- 403, 403 <- 401, 403 <- 402",
    }


def test_targets_by_the_row_or_by_the_window(judge: Build, verify: Build) -> None:
    apart = verify(table_slots=[110, 111, 112, 113])
    for targets in ([110, 111, 112], [100, 101, 102]):
        assert not judge("RPL-MOVE", apart, move(SOURCES, targets)).findings
    assert judge("RPL-MOVE", apart, move(SOURCES, [110, 111, 102])).findings


def test_rows_give_the_slots_that_were_not_recorded(judge: Build, verify: Build) -> None:
    bare = verify(out_cache_loc=None)
    assert not judge("RPL-MOVE", bare, move(SOURCES, TARGETS)).findings
    assert judge("RPL-MOVE", bare, move([100, 101, 102], TARGETS)).findings


def pair(verify: Build, **second: Any) -> list[dict[str, Any]]:
    slots = {"out_cache_loc": [200, 201, 202, 203], "table_slots": [200, 201, 202, 203]}
    place = {"request": "b", "row": 2, "batch_index": 1, "block_start": 4, "accept_index": [4, 5, 7]}
    return [verify(), verify(**(place | slots | second))]


@pytest.mark.parametrize(
    ("src", "tgt", "wrong"),
    [
        ([103, 203], [102, 202], []),
        ([203, 103], [202, 102], []),
        ([103, 203], [102, 201], ["b"]),
        ([203, 103], [202, 101], ["a"]),
        ([103, 203, 300], [102, 202, 301], [None]),  # slots of nobody in a batch of two: whose can't be told
        ([103, 203, 201], [102, 202, 300], ["b"]),  # read from b's window
    ],
)
def test_whose_pair_it_is(
    judge: Build, verify: Build, src: list[int], tgt: list[int], wrong: list[str | None]
) -> None:
    found = judge("RPL-MOVE", *pair(verify), move(src, tgt)).findings
    assert [finding.request for finding in found] == wrong
    assert [finding.message.endswith("(slots of no request of the batch)") for finding in found] == [
        each is None for each in wrong
    ]


@pytest.mark.parametrize(
    ("call", "moved", "notes", "marked"),
    [
        (
            move(TARGETS, SOURCES),
            ["", "", "103 <- 102"],
            ["same slot", "same slot", "✗ due 102 <- 103"],
            (2,),
        ),
        (
            move([*SOURCES, 200], [*TARGETS, 201]),
            ["", "", "102 <- 103", "201 <- 200"],
            ["same slot", "same slot", "", "✗ not due"],
            (3,),
        ),
        (move([100], [100]), ["", "", "nothing"], ["same slot", "same slot", "✗ due 102 <- 103"], (2,)),
    ],
)
def test_what_the_engine_moved_stands_beside_what_is_due(
    judge: Build, verify: Build, call: dict[str, Any], moved: list[str], notes: list[str], marked: tuple[int]
) -> None:
    (finding,) = judge("RPL-MOVE", verify(), call).findings
    (table,) = finding.evidence
    assert [row[-2] for row in table.rows] == moved
    assert [row[-1] for row in table.rows] == notes
    assert (table.columns[-2], table.marked) == ("engine moved", marked)


@pytest.mark.parametrize(
    ("lists", "why"),
    [
        ({"src": [100, 101, None]}, "events of move have no src"),
        ({"tgt": [100, None, 102]}, "events of move have no tgt"),
        ({"src": None}, "events of move have no src"),
    ],
)
def test_a_call_that_does_not_say_all_it_moves(verify: Build, lists: dict[str, Any], why: str) -> None:
    """Such as a file of another writer may have; a line can't."""
    run = Run(tables=["accept", "move", "table_write"])
    run.lines += [verify(), move(SOURCES, TARGETS) | lists]
    result = run.check("RPL-MOVE")
    assert not result.findings
    assert [(each.why, each.instances) for each in result.unknown] == [(why, 1)]


def test_a_pair_may_be_that_of_a_request_whose_path_is_not_known(judge: Build, verify: Build) -> None:
    call = move([103, 300], [102, 301])
    known = judge("RPL-MOVE", *pair(verify, accept_index=[4, -1, -1], accept_len=1), call)
    assert [finding.request for finding in known.findings] == [None]
    open_ = judge("RPL-MOVE", *pair(verify, accept_index=None, accept_len=None), call)
    assert not open_.findings and [each.instances for each in open_.unknown] == [1]


@pytest.mark.parametrize(
    ("accept", "call", "why"),
    [
        ({"accept_index": None, "accept_len": None}, move(SOURCES, TARGETS), "accept_index does not name"),
        ({"batch_index": 1}, move([100], [101]), "the batch begins with requests"),
        ({"out_cache_loc": [100, 101, 102, 0]}, move([100], [100]), "an accepted row has no slot"),
        ({}, move([*SOURCES, 102], [*TARGETS, 102]), "a slot is the target of two pairs"),
    ],
)
def test_a_move_that_can_t_be_judged(
    judge: Build, verify: Build, accept: dict[str, Any], call: dict[str, Any], why: str
) -> None:
    result = judge("RPL-MOVE", verify(**accept), call)
    assert not result.findings
    assert [each.instances for each in result.unknown] == [1]
    assert why in result.unknown[0].why


def test_a_call_that_never_came(judge: Build, verify: Build) -> None:
    (finding,) = judge("RPL-MOVE", verify(), reader(verify)).findings
    assert (finding.step, finding.first_seq, finding.slots) == (1, 1, (103, 102))
    assert not judge("RPL-MOVE", verify(), reader(verify), tables=["accept"], settings={}).findings
    result = judge("RPL-MOVE", verify())
    assert not result.findings
    assert [each.why for each in result.unknown] == [
        "no call moves the rows, and nobody is seen to read them"
    ]
    remap = {"event": "table_write", "step": 1, "row": 1, "epoch": 1, "start": 12, "slots": [103]}
    assert not judge("RPL-MOVE", verify(), remap, reader(verify)).findings


# ---- RPL-COMPACT --------------------------------------------------------------------------------------


def compact(after: list[int], before: list[int], tensor: str = "predict") -> dict[str, Any]:
    return {"event": "compact", "step": 1, "tensor": tensor, "before": before, "after": after}


@pytest.mark.parametrize(
    ("after", "wrong"),
    [
        ([21, 23, 31, 99, 41, 43, 51, 0], []),  # what stands behind the path is anything
        ([21, 23, 0, 31, 41, 43, 51, 51], ["a"]),
        ([21, 23, 31, 21, 41, 43, 50, 51], ["b"]),
        ([21, 23, 31, 41, 43, 51], []),  # gathered to blocks as wide as accept_index
        ([21, 23, 31, 43, 41, 51], ["b"]),
    ],
)
def test_fronts_of_blocks(judge: Build, verify: Build, after: list[int], wrong: list[str]) -> None:
    before = [21, 23, 0, 31, 41, 43, 50, 51]
    result = judge("RPL-COMPACT", *pair(verify), compact(after, before))
    assert [finding.request for finding in result.findings] == wrong
    assert all("kernels.compact.compact_accepted" in finding.message for finding in result.findings)
    assert not result.unknown


def test_blocks_follow_each_other_where_their_start_is_not_recorded(judge: Build, verify: Build) -> None:
    lines = [{**line, "block_start": None, "accept_index": [0, 1, 3]} for line in pair(verify)]
    lines = [{n: v for n, v in line.items() if v is not None} for line in lines]
    before, local = [21, 23, 0, 31, 41, 43, 50, 51], {"settings": {"accept_index_rows": "local"}}
    assert not judge("RPL-COMPACT", *lines, compact([21, 23, 31, 0, 41, 43, 51, 0], before), **local).findings
    found = judge("RPL-COMPACT", *lines, compact(before, before), **local).findings
    assert [finding.request for finding in found] == ["a", "b"]
    short = judge("RPL-COMPACT", lines[0], compact(before, before), **local)
    assert [each.why for each in short.unknown] == ["where the block begins is not known"]
