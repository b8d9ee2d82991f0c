"""MOV: moves and compactions that break the laws, and what looks like a breach and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult

MOV = ("MOV-PAIR", "MOV-HAZARD", "MOV-MISSING", "MOV-COMPACT")
Build = Callable[..., Any]
DUE_SRC, DUE_TGT = [100, 101, 103], [100, 101, 102]


def move(src: list[int], tgt: list[int], **columns: Any) -> dict[str, Any]:
    line = {"event": "move", "step": 1, "pool": "full", "caller": "accept", "src": src, "tgt": tgt} | columns
    return {name: value for name, value in line.items() if value is not None}


def compact(after: list[int], tensor: str = "predict", step: int = 1) -> dict[str, Any]:
    return {"event": "compact", "step": step, "tensor": tensor, "before": [21, 23, 0, 31], "after": after}


COMPACT = compact([21, 23, 31, 99])


@pytest.fixture
def judge(record: Build) -> Build:
    def run(*lines: dict[str, Any], only: tuple[str, ...] = MOV, **head: Any) -> CheckResult:
        return check(record(*lines, head=head), only=only)

    return run


@pytest.fixture
def reader(verify: Build) -> dict[str, Any]:
    """The same request's next verify: it accepts its root only."""
    columns = {
        "step": 2,
        "seq_len": 13,
        "accept_index": [0, -1, -1],
        "accept_len": 1,
        "num_correct_drafts": 0,
    }
    slots = {"out_cache_loc": [103, 104, 105, 106], "table_slots": [103, 104, 105, 106]}
    line: dict[str, Any] = verify(**columns, **slots, new_seq_len=14, bonus_token=21)
    return line


def broken(result: CheckResult) -> list[str]:
    return [finding.rule for finding in result.findings]


def two(verify: Build) -> list[dict[str, Any]]:
    slots = {"out_cache_loc": [200, 201, 202, 203], "table_slots": [200, 201, 202, 203]}
    place = {"request": "b", "row": 2, "batch_index": 1, "block_start": 4, "accept_index": [4, 5, 7]}
    return [verify(), verify(**(place | slots))]


def test_a_pair_of_nobodys_slots_is_no_request_s(judge: Build, verify: Build) -> None:
    call = move([103, 203, 300], [102, 202, 301])
    (finding,) = judge(*two(verify), call, only=("MOV-PAIR",)).findings
    assert (finding.step, finding.request, finding.row) == (1, None, None)
    assert finding.message.endswith("301 <- 300 is not due (slots of no request of the batch)")


def test_a_pair_into_the_dummy_page_moves_nothing(judge: Build, verify: Build) -> None:
    pools = [{"name": "full", "kind": "full", "slots": 960, "page_size": 4, "reserved_slots": 4}]
    inside = move([*DUE_SRC, 0], [*DUE_TGT, 1])
    assert not judge(verify(), inside, only=("MOV-PAIR",), pools=pools).findings
    beyond = move([*DUE_SRC, 0], [*DUE_TGT, 4])
    assert judge(verify(), beyond, only=("MOV-PAIR",), pools=pools).findings


@pytest.mark.parametrize(
    ("call", "rules"),
    [
        (move(DUE_TGT, DUE_SRC), ["MOV-PAIR"]),  # the arguments exchanged
        (move([100, 101, 102], DUE_TGT), ["MOV-PAIR"]),  # source one row off
        (move(DUE_SRC, [100, 101, 104]), ["MOV-PAIR"]),  # target one position late
        (move([100, 101, 0], [100, 101, 0]), ["MOV-PAIR", "MOV-MISSING"]),  # one pair short
        (move([*DUE_SRC, 200], [*DUE_TGT, 201]), ["MOV-PAIR"]),  # a stray pair
        (move([300, 301, 302], [400, 401, 402]), ["MOV-PAIR", "MOV-MISSING"]),
    ],
)
def test_wrong_pairs(
    judge: Build, verify: Build, reader: Any, call: dict[str, Any], rules: list[str]
) -> None:
    result = judge(verify(), call, COMPACT, reader, only=("MOV-PAIR", "MOV-MISSING"))
    assert broken(result) == rules
    assert {(finding.step, finding.request) for finding in result.findings} == {(1, "a")}
    assert [finding.cause for finding in result.findings][1:] == [1] * (len(rules) - 1)


@pytest.mark.parametrize(
    "calls",
    [
        [move(DUE_SRC, DUE_TGT)],
        [move([*DUE_SRC, 0, 0], [*DUE_TGT, 0, 0])],
        [move([103], [102])],  # an engine that leaves rows in place alone
        [move([100, 103, 0], [100, 102, 0])],  # … or some of them
        [move(DUE_SRC, DUE_TGT, caller=None)],
        [move(DUE_SRC, DUE_TGT, components=["k"]), move(DUE_SRC, DUE_TGT, components=["v"])],
        [move([7, 7], [8, 9], caller="draft_tail"), move(DUE_SRC, DUE_TGT)],
        [move(DUE_SRC, DUE_TGT), move([1, 2], [2, 3], pool="draft")],
    ],
)
def test_right_pairs(judge: Build, verify: Build, reader: Any, calls: list[dict[str, Any]]) -> None:
    result = judge(verify(), *calls, COMPACT, reader, only=("MOV-PAIR", "MOV-MISSING"))
    assert not result.findings
    assert not result.unknown


@pytest.mark.parametrize(
    ("call", "unknown", "checked"),
    [
        (move(DUE_SRC, DUE_TGT), {}, 1),
        (move(DUE_SRC, DUE_TGT, step=7), {"no accept of the call's step": 1}, 0),
        (move(DUE_SRC, DUE_TGT, step=7, caller=None), {"no accept of the call's step": 1}, 0),
        (move(DUE_SRC, None, step=7), {"events of move have no tgt": 1}, 0),
        (move(DUE_SRC, DUE_TGT, step=None), {"events of move have no step": 1}, 0),
        (move([0, 0, 9], [0, 0, 9], step=7), {}, 1),  # nothing is moved, whatever was due
        (move(DUE_SRC, DUE_TGT, step=7, caller="draft_tail"), {}, 0),
        (move(DUE_SRC, DUE_TGT, step=7, caller="other"), {}, 0),
    ],
)
def test_a_call_of_a_step_without_accept(
    judge: Build, verify: Build, call: dict[str, Any], unknown: dict[str, int], checked: int
) -> None:
    result = judge(verify(), call, only=("MOV-PAIR",))
    assert not result.findings
    assert {each.why: each.instances for each in result.unknown} == unknown
    assert result.checked["MOV-PAIR"] == checked


def test_targets_from_the_table_or_from_the_window(judge: Build, verify: Build, reader: Any) -> None:
    apart = verify(table_slots=[110, 111, 112, 113])
    for targets in ([110, 111, 112], [100, 101, 102]):
        result = judge(apart, move(DUE_SRC, targets), COMPACT, reader, only=("MOV-PAIR",))
        assert not result.findings
    assert broken(judge(apart, move(DUE_SRC, [120, 121, 122]), only=("MOV-PAIR",))) == ["MOV-PAIR"]


BEYOND = "an accepted row has no slot of its own (the dummy slot, or an unknown entry)"


@pytest.mark.parametrize(
    "slots",
    [
        {"table_slots": [100, 101, 0, 0]},  # the target's position was never allocated
        {"out_cache_loc": [100, 101, 0, 0], "table_slots": [100, 101, 0, 0]},
        {"out_cache_loc": [100, 101, 102, 0]},  # the row itself has no slot
        {"out_cache_loc": [100, 101, 102, -1]},
    ],
)
def test_a_row_beyond_what_was_allocated_is_not_judged(
    judge: Build, verify: Build, slots: dict[str, list[int]]
) -> None:
    result = judge(verify(**slots), move([100, 101, 7], [100, 101, 0]), only=("MOV-PAIR",))
    assert not result.findings
    assert {(each.why, each.instances) for each in result.unknown} == {(BEYOND, 1)}


def test_a_request_beside_one_beyond_its_room_is_judged(judge: Build, verify: Build) -> None:
    slots = {"out_cache_loc": [200, 201, 202, 203], "table_slots": [200, 201, 202, 203]}
    second = verify(request="b", row=2, batch_index=1, block_start=4, accept_index=[4, 5, 7], **slots)
    call = move([100, 101, 103, 201], [100, 101, 0, 203])
    result = judge(verify(table_slots=[100, 101, 0, 0]), second, call, only=("MOV-PAIR",))
    assert [finding.request for finding in result.findings] == ["b"]
    assert [each.why for each in result.unknown] == [BEYOND]


def test_pairs_are_packed_over_the_batch(judge: Build, verify: Build) -> None:
    slots = {"out_cache_loc": [200, 201, 202, 203], "table_slots": [200, 201, 202, 203]}
    second = verify(request="b", row=2, batch_index=1, block_start=4, accept_index=[4, 5, 7], **slots)
    src, tgt = [*DUE_SRC, 200, 201, 203], [*DUE_TGT, 200, 201, 202]
    assert not judge(second, verify(), move(src, tgt), only=("MOV-PAIR",)).findings
    wrong = judge(verify(), second, move(src, [*tgt[:-1], 203]), only=("MOV-PAIR",))
    assert [(finding.rule, finding.request) for finding in wrong.findings] == [("MOV-PAIR", "b")]
    assert {202, 203} <= set(wrong.findings[0].slots or ())
    both = judge(verify(), second, move(tgt, src), only=("MOV-PAIR",))
    assert [finding.cause for finding in both.findings] == [None, 2]


def test_pairs_of_a_request_whose_accept_was_not_recorded(judge: Build, verify: Build) -> None:
    """The last of a batch may be missing without a trace; what touches a request's own slots is judged all the same."""
    rules, tables = ("MOV-PAIR", "RPL-MOVE"), ["move", "forward"]
    both = move([*DUE_SRC, 200, 203], [*DUE_TGT, 200, 202])
    known = judge(verify(), both, only=rules, tables=["accept", *tables])
    assert broken(known) == [*rules]
    result = judge(verify(), both, only=rules, tables=tables)
    assert not result.findings
    assert [(each.rule, each.instances) for each in result.unknown] == [(rule, 1) for rule in rules]
    wrong = move([*DUE_SRC, 200, 203], [*DUE_TGT[:2], 101, 200, 202])
    assert broken(judge(verify(), wrong, only=rules, tables=tables)) == [*rules]


def test_what_a_position_holds_is_said(judge: Build, verify: Build) -> None:
    (finding,) = judge(verify(), move(DUE_TGT, DUE_SRC), only=("MOV-PAIR",)).findings
    assert finding.message == "the move runs backwards: position 12 holds B 22 from now on, not C 23"
    (table,) = finding.evidence
    assert table.rows[2] == (2, "C 23", 3, 12, 103, 102, "103 <- 102", "✗ due 102 <- 103")
    assert table.marked == (2,)


@pytest.mark.parametrize(
    ("src", "tgt", "columns", "hazard"),
    [
        ([41, 42], [40, 41], {}, False),  # read before it is written
        ([41, 42], [42, 43], {}, True),
        ([40, 40], [41, 42], {}, False),  # one source, two targets
        ([41, 42, 0, 0], [42, 43, 0, 0], {}, True),
        ([5, 0, 0], [0, 0, 0], {}, False),  # the dummy holds nothing
        ([41, 41], [41, 42], {}, False),  # a pair in place overwrites nothing
        ([41, 42], [42, 43], {"src_before": [1, 2], "tgt_after": [1, 2]}, False),  # gathered first
        ([41, 42], [42, 43], {"src_before": [1, 2], "tgt_after": [1, 1]}, True),
    ],
)
def test_order_within_a_call(
    judge: Build, src: list[int], tgt: list[int], columns: dict[str, Any], hazard: bool
) -> None:
    result = judge(move(src, tgt, caller="other", **columns), only=("MOV-HAZARD",))
    assert bool(result.findings) is hazard
    assert result.checked["MOV-HAZARD"] == 1


def test_a_hazard_names_its_request(judge: Build, verify: Build) -> None:
    path = verify(
        next_token=[2, -1, 3, -1], next_sibling=[-1] * 4, accept_index=[0, 2, 3], predict=[22, 0, 23, 31]
    )
    (finding,) = judge(path, move([103, 102, 100], [102, 101, 100]), only=("MOV-HAZARD",)).findings
    assert (finding.step, finding.request, finding.slots) == (1, "a", (102, 101))


def test_nothing_moved_before_the_next_verify(judge: Build, verify: Build, reader: Any) -> None:
    (finding,) = judge(verify(), COMPACT, reader, only=("MOV-PAIR", "MOV-MISSING")).findings
    assert (finding.rule, finding.step, finding.request, finding.first_seq) == ("MOV-MISSING", 1, "a", 2)
    assert finding.slots == (103, 102)


@pytest.mark.parametrize(
    ("call", "rules"),
    [
        (move(DUE_SRC, DUE_TGT, step=7), []),  # folded into a later step
        (move(DUE_SRC, [100, 101, 107], step=7), ["MOV-MISSING"]),
        (move([103], [200], step=7), ["MOV-MISSING"]),
        (move([300], [102], step=7), ["MOV-MISSING"]),
        (move(DUE_TGT, DUE_SRC, step=7), ["MOV-MISSING"]),
    ],
)
def test_a_call_of_a_step_that_verified_nothing_moves_rows_where_they_are_due(
    judge: Build, verify: Build, reader: Any, call: dict[str, Any], rules: list[str]
) -> None:
    assert broken(judge(verify(), call, COMPACT, reader, only=("MOV-PAIR", "MOV-MISSING"))) == rules


@pytest.mark.parametrize(
    ("columns", "rules"),
    [
        ({"pool": "full"}, []),
        ({}, []),
        ({"epoch": None}, []),
        ({"pool": "c128"}, ["MOV-MISSING"]),
        ({"epoch": 2}, ["MOV-MISSING"]),
        ({"row": 2}, ["MOV-MISSING"]),
    ],
)
def test_the_request_row_may_be_changed_instead(
    judge: Build, verify: Build, reader: Any, columns: dict[str, Any], rules: list[str]
) -> None:
    write = {"event": "table_write", "row": 1, "epoch": 1, "start": 12, "slots": [103], "step": 1} | columns
    write = {name: value for name, value in write.items() if value is not None}
    pools = [
        {"name": name, "kind": name, "slots": 960, "page_size": 1, "reserved_slots": 1}
        for name in ("full", "c128")
    ]
    result = judge(verify(), COMPACT, write, reader, only=("MOV-MISSING",), pools=pools)
    assert broken(result) == rules


def test_a_move_that_comes_too_late(judge: Build, verify: Build, reader: Any) -> None:
    assert broken(judge(verify(), COMPACT, reader, move(DUE_SRC, DUE_TGT), only=("MOV-MISSING",))) == [
        "MOV-MISSING"
    ]


@pytest.mark.parametrize(
    "line",
    [
        {
            "event": "cache",
            "step": 1,
            "action": "insert",
            "request": "a",
            "start": 0,
            "slots": list(range(20, 33)),
        },
        {
            "event": "forward",
            "step": 2,
            "mode": "decode",
            "request": "a",
            "row": 1,
            "epoch": 1,
            "slots": [103],
        },
    ],
)
def test_other_readers(judge: Build, verify: Build, line: dict[str, Any]) -> None:
    assert broken(judge(verify(), COMPACT, line, only=("MOV-MISSING",))) == ["MOV-MISSING"]


@pytest.mark.parametrize(
    "lines",
    [
        [],  # the recording ends
        [
            {"event": "cache", "action": "insert", "request": "a", "start": 0, "slots": list(range(20, 30))}
        ],  # [0, L)
        [
            {
                "event": "forward",
                "step": 2,
                "mode": "draft",
                "request": "a",
                "row": 1,
                "epoch": 1,
                "slots": [103],
            }
        ],
        [{"event": "row_free", "row": 1, "epoch": 1, "request": "a"}]
        + [{"event": "cache", "action": "insert", "request": "a", "start": 0, "slots": list(range(20, 40))}],
    ],
)
def test_nobody_reads(judge: Build, verify: Build, lines: list[dict[str, Any]]) -> None:
    result = judge(verify(), COMPACT, *lines, only=("MOV-MISSING",))
    assert not result.findings
    assert [(unknown.why, unknown.instances) for unknown in result.unknown] == [
        ("nobody reads the rows before the recording ends", 1)
    ]


def test_the_row_may_change_instead_of_the_data(judge: Build, verify: Build, reader: Any) -> None:
    remap = {"event": "table_write", "step": 1, "row": 1, "epoch": 1, "start": 12, "slots": [103]}
    assert not judge(verify(), COMPACT, remap, reader, only=("MOV-MISSING",)).findings


def test_a_prefix_needs_no_move_and_no_compaction(judge: Build, verify: Build, reader: Any) -> None:
    prefix = verify(accept_index=[0, 1, -1], accept_len=2, num_correct_drafts=1, bonus_token=23)
    result = judge(prefix, reader, only=("MOV-MISSING",))
    assert not result.findings
    assert result.checked["MOV-MISSING"] == 2


def test_a_table_that_is_not_whole_is_no_evidence(judge: Build, verify: Build, reader: Any) -> None:
    result = judge(
        verify(), COMPACT, move([7], [7], step=9), reader, only=("MOV-MISSING",), tables=["accept"]
    )
    assert not result.findings
    assert [unknown.why for unknown in result.unknown] == ["move was not recorded whole"]


def test_a_drafter_that_stores_predictions_reads_them(judge: Build, verify: Build) -> None:
    line = verify()
    who = {name: line[name] for name in ("request", "row", "epoch", "step")}
    stored = {"event": "forward", "mode": "draft_extend", "pool": "draft", "padded": False, **who}
    call = move(DUE_SRC, DUE_TGT)
    assert broken(judge(line, call, stored, only=("MOV-MISSING",))) == ["MOV-MISSING"]
    assert not judge(line, call, COMPACT, stored, only=("MOV-MISSING",)).findings
    assert not judge(line, call, stored | {"step": 2}, only=("MOV-MISSING",)).findings


def test_a_compaction_that_is_missing(judge: Build, verify: Build, reader: Any) -> None:
    call = move(DUE_SRC, DUE_TGT)
    (finding,) = judge(verify(), call, reader, only=("MOV-MISSING",)).findings
    assert "predict was not compacted" in finding.message
    partly = {"tables": ["accept", "move"]}
    assert not judge(verify(), call, reader, only=("MOV-MISSING",), **partly).findings
    ngram = [verify(algorithm="ngram"), call, {**reader, "algorithm": "ngram"}]
    assert not judge(*ngram, only=("MOV-MISSING",)).findings


@pytest.mark.parametrize(
    ("after", "kept"),
    [([21, 23, 31, 0], True), ([21, 23, 31, 31], True), ([21, 23, 0, 31], False), ([23, 21, 31, 0], False)],
)
def test_only_the_accepted_places_count(judge: Build, verify: Build, after: list[int], kept: bool) -> None:
    result = judge(verify(), compact(after), only=("MOV-COMPACT",))
    assert bool(result.findings) is not kept


def test_tensors_are_told_apart(judge: Build, verify: Build) -> None:
    tree_order = compact([21, 23, 0, 31], "hidden_states")
    (finding,) = judge(verify(), COMPACT, tree_order, only=("MOV-COMPACT",)).findings
    assert finding.message.startswith("hidden_states was left in tree order")


def test_blocks_gathered_as_wide_as_the_index(judge: Build, verify: Build) -> None:
    second = verify(request="b", row=2, batch_index=1, block_start=4, accept_index=[4, 5, 7])
    both = {"event": "compact", "step": 1, "tensor": "predict", "before": [21, 23, 0, 31] * 2}
    assert not judge(verify(), second, both | {"after": [21, 23, 31] * 2}, only=("MOV-COMPACT",)).findings
    result = judge(verify(), second, both | {"after": [21, 23, 31, 21, 31, 23]}, only=("MOV-COMPACT",))
    assert [finding.request for finding in result.findings] == ["b"]


def test_no_verify_at_all(judge: Build) -> None:
    result = judge(
        {"event": "forward", "step": 1, "mode": "extend", "request": "a", "row": 1, "slots": [100]}
    )
    assert result.checked == dict.fromkeys(MOV, 0)
    assert not result.unknown


def test_a_compaction_that_is_cut(judge: Build, verify: Build) -> None:
    cut = compact([21, 23, 31])
    result = judge(verify(), cut | {"before": [21, 23, 0, 31]}, only=("MOV-COMPACT",))
    assert not result.findings, "as wide as accept_index: what NGRAM gathers"
    whole = [verify(step=2), compact([21, 23, 31, 99], step=2)]
    (finding,) = judge(verify(), compact([21, 23, 31, 99, 7]), *whole, only=("MOV-COMPACT",)).findings
    assert finding.message == "predict has 4 rows before its compaction and 5 behind it: the batch has 4"
    (finding,) = judge(verify(), COMPACT | {"before": [21, 23, 0]}, *whole, only=("MOV-COMPACT",)).findings
    assert finding.message.startswith("predict has 3 rows before")


def test_a_recorder_that_keeps_short_lists_only(judge: Build, verify: Build) -> None:
    result = judge(verify(), COMPACT | {"before": [21, 23, 0]}, only=("MOV-COMPACT",))
    assert not result.findings and not result.checked["MOV-COMPACT"]


def test_a_batch_that_is_padded_is_wider_than_its_verifies(judge: Build, verify: Build) -> None:
    padded = compact([21, 23, 31]) | {"before": [21, 23, 0, 31, 0, 0, 0, 0], "after": [21, 23, 31, 0, 0, 0]}
    result = judge(verify(), padded, only=("MOV-COMPACT",))
    assert not result.findings and not result.checked["MOV-COMPACT"]


def test_other_values_than_the_predictions(judge: Build, verify: Build) -> None:
    """A list that was exchanged with another tensor's is in order by itself."""
    other = {"before": [7, 8, 9, 6], "after": [7, 8, 6, 9]}
    assert not judge(verify(), compact([], "hidden_states") | other, only=("MOV-COMPACT",)).findings
    (finding,) = judge(verify(), compact([]) | other, only=("MOV-COMPACT",)).findings
    assert "is not what the verify predicted in accepted row 0" in finding.message
    assert not judge(verify(predict=None), compact([]) | other, only=("MOV-COMPACT",)).findings


def test_a_second_move_of_what_a_first_has_overwritten(judge: Build) -> None:
    """Also where fingerprints show that each call by itself gathered first."""
    prints = {"src_before": [1, 2, 3], "tgt_after": [1, 2, 3]}
    first = move([100, 102, 103], [100, 101, 102], components=["k", "v"], **prints)
    assert not judge(first, only=("MOV-HAZARD",)).findings
    (finding,) = judge(first, first, only=("MOV-HAZARD",)).findings
    assert finding.slots == (102,)
    assert (
        finding.message == "slot 102 is read by a second move of the step, after event 0 has overwritten it"
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"components": ["k"]}, {"components": ["v"]}),
        ({}, {}),
        ({"components": ["k"]}, {"components": ["k"], "step": 2}),
        ({"components": ["k"]}, {"components": ["k"], "pool": "draft"}),
        ({"components": ["k"], "caller": "draft_tail"}, {"components": ["k"], "caller": "draft_tail"}),
    ],
)
def test_two_moves_that_are_not_one(judge: Build, first: dict[str, Any], second: dict[str, Any]) -> None:
    lines = [move([100, 102, 103], [100, 101, 102], **each) for each in (first, second)]
    assert not judge(*lines, only=("MOV-HAZARD",)).findings
