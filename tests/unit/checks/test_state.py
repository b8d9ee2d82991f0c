"""ST-C128: which ring rows a clear may empty, and what looks like a break of the law and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult
from speckv_debug.replay.clear_owners import ClearOwners
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.searching import NEVER
from speckv_debug.replay.verifies import VerifyBatch
from tests.ledgers import Run

Build = Callable[..., Any]
POOLS = [
    {"name": "full", "kind": "full", "slots": 960, "page_size": 1, "reserved_slots": 1},
    {"name": "c128_state", "kind": "c128_state", "slots": 64, "page_size": 1, "reserved_slots": 0},
    {"name": "mamba", "kind": "mamba", "slots": 8, "page_size": 1, "reserved_slots": 1},
]


@pytest.fixture
def judge(record: Build) -> Build:
    def run(
        *lines: dict[str, Any],
        replay: bool = False,
        accepts: bool = True,
        whole: bool = True,
        **settings: Any,
    ) -> CheckResult:
        tables = ["accept"] * accepts + ["state_clear"]
        head = {"pools": POOLS, "settings": settings, "tables": tables, "from_start": whole}
        return check(
            record(*lines, head=head),
            only=["ST-C128", *(["RPL-STATE"] if replay else [])],
            on_error=lambda rule, e: pytest.fail(f"{rule}: {e!r}"),
        )

    return run


def clear(rows: list[int] | None, **columns: Any) -> dict[str, Any]:
    line = {"event": "state_clear", "step": 1, "pool": "c128_state", "request": "a", "row": 1, "seq_len": 10}
    line |= {"accept_len": 3, "width": 4, "ring_size": 8, "ring_rows": rows}
    line |= {"first_half": 0.0, "second_half": "-inf"} | columns
    return {name: value for name, value in line.items() if value is not None}


def whole(rows: list[int], **columns: Any) -> dict[str, Any]:
    return clear(rows, seq_len=None, accept_len=None, width=None, **columns)


READ = ", which holds accepted position 12, read at boundary 128"
WRAPPED = ", which holds accepted position 14, read at boundary 128"


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (clear([5]), ""),
        (clear([5, 5]), ""),
        (clear([4, 5]), f"ring row 4 is cleared{READ}"),
        (clear([]), "ring row 5 is not cleared, which holds rejected position 13"),
        (clear([5, 6]), "ring row 6 is cleared"),
        (clear([5, 8]), "ring row 8 is cleared"),
        (clear([5, -1]), "ring row -1 is cleared"),
        (clear([5], first_half=1.0), "the cleared ring rows are left at 1 and -inf"),
        (clear([5], second_half=0.0), "the cleared ring rows are left at 0 and 0"),
        (clear([5], second_half="nan"), "the cleared ring rows are left at 0 and nan"),
        (clear([5], first_half=None, second_half=None), ""),
        (clear([0, 7], seq_len=14, accept_len=1, width=3), ""),
        (clear([0, 7, 6], seq_len=14, accept_len=1, width=3), f"ring row 6 is cleared{WRAPPED}"),
        (clear([], accept_len=4, first_half=3.0), ""),  # nothing is cleared, whatever the values
        (clear([], accept_len=0, width=1), ""),  # a verify of one row clears nothing
        (clear([2], accept_len=0, width=1), "ring row 2 is cleared"),
        (clear(list(range(8)), accept_len=0, width=8), ""),
        (whole(list(range(8))), ""),
        (whole(list(range(7))), "ring row 7 is not cleared"),
        (clear([], seq_len=(1 << 62) + 2, accept_len=4), ""),
    ],
)
def test_cleared_ring_rows(judge: Build, line: dict[str, Any], wrong: str) -> None:
    """Without accepts by what the engine passed."""
    result = judge(line, accepts=False)
    found = [f.message for f in result.findings]
    assert found == ([wrong] if wrong else [])
    assert result.checked["ST-C128"] == 1 and not result.unknown


def test_the_accept_says_what_is_cleared(judge: Build, verify: Build) -> None:
    drafts = clear([4, 5], accept_len=2)  # the engine passed the accepted drafts
    assert not judge(drafts).findings
    (finding,) = judge(verify(), drafts).findings
    assert "ring row 4 is cleared" in finding.message
    assert (finding.step, finding.request, finding.expected) == (1, "a", "ring rows [5], values 0 and -inf")


def test_replay_follows_from_the_law(judge: Build, verify: Build) -> None:
    first, then = judge(verify(), clear([4, 5]), replay=True).findings
    assert (first.rule, then.rule, then.cause) == ("ST-C128", "RPL-STATE", first.first_seq)


def test_a_clear_of_another_row_than_the_request_has_in_its_accept(judge: Build, verify: Build) -> None:
    (finding,) = judge(verify(), clear([5], row=9)).findings
    assert "request row 9 are cleared, the request has row 1 in its accept (event 0)" in finding.message
    assert (finding.expected, finding.actual) == ("a clear of request row 1", "a clear of request row 9")


@pytest.mark.parametrize(
    ("line", "whose"),
    [
        (clear([5], row=9, request="b"), "request b (row 9)"),
        (clear([5], row=9, request=None), "request row 9"),
        (clear([4, 5], accept_len=2, request="b"), "request b (row 1)"),  # its row is another request's in the accept
        (clear([5], row=None, request="b"), "request b"),
        (whole(list(range(8)), row=9), ""),
    ],
)  # fmt: skip
def test_a_clear_of_whom_no_verify_of_the_step_has(
    judge: Build, verify: Build, line: dict[str, Any], whose: str
) -> None:
    result = judge(verify(), line)
    found = [finding.message for finding in result.findings]
    assert found == [f"ring rows of {whose} are cleared, which no verify of step 1 has"] * bool(whose)
    assert not judge(verify(), line, accepts=False).findings, "accepts were not recorded whole"
    if whose:
        late = judge(verify(), line, whole=False)
        assert not late.findings and late.unknown, "the step began before the recording"
        assert judge(verify(step=0, request="c", row=3), verify(), line, whole=False).findings
    first, then = verify() | {"seq": 0}, line | {"seq": 2}
    assert not judge(first, then).findings, "the accept may be what is missing"


UNSEEN = "no accept of its step"


@pytest.mark.parametrize(
    ("accepts", "line", "whose", "why"),
    [
        ([{"request": None}], clear([0]), "", ""),
        ([{"request": None}], clear([0], row=None), "", "no request row"),
        ([{"request": None, "row": None}], clear([0]), "", UNSEEN),
        ([{"request": None}], clear([0], request="b", row=7), "b (row 7)", ""),
        ([{"request": None, "row": 2}, {}], clear([0], request="b", row=7), "b (row 7)", ""),
        ([{"request": None, "row": 2}, {}], clear([0], request="b"), "b (row 1)", ""),  # its row is a's
        ([{"request": None, "row": 2}, {}], clear([0], request="b", row=2), "", ""),
        ([{"request": None, "row": 0}, {}], clear([0], request="b", row=7), "b (row 7)", ""),  # padding
        ([{"request": None, "row": 0}, {}], clear([0], request="b", row=None), "b", ""),
        ([{"row": None}], clear([0], request="b", row=7), "b (row 7)", ""),
        ([{"row": None}], clear([0], request=None), "", UNSEEN),
        ([{"row": None}, {"request": "c", "row": 2}], clear([0], request=None, row=2), "", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("named", [True, False], ids=["named elsewhere", "named nowhere"])
def test_an_accept_that_lacks_its_request_or_row_may_be_the_one_of_a_clear(
    judge: Build, verify: Build, named: bool, accepts: list[dict[str, Any]], line: dict[str, Any],
    whose: str, why: str,
) -> None:  # fmt: skip
    """Whether another step's accepts name the request or not."""
    first = verify() if named else verify(request=None)
    lines = [verify(step=2, seq_len=13, new_seq_len=16) | columns for columns in accepts]
    result = judge(first, *lines, line | {"step": 2, "seq_len": 13})
    due = f"ring rows of request {whose} are cleared, which no verify of step 2 has"
    assert [finding.message for finding in result.findings] == [due] * bool(whose)
    assert [each.why for each in result.unknown] == [why] * bool(why)


def test_where_the_verify_of_a_clear_would_have_been(record: Build, verify: Build) -> None:
    """Between the nearest accepts of other steps, as a search through all of them finds it."""
    steps = [1, 1, 2, 1, 3, 3, 3, 2]
    lines = [verify(step=step, request="a") | {"seq": 2 * at + 2} for at, step in enumerate(steps)]
    (process,) = record(*lines, head={"pools": POOLS, "tables": ["accept"]}).processes
    verifies = VerifyBatch(Columns(process.table("accept")), process.info)
    seq, step = (each.ravel() for each in np.meshgrid(np.arange(1, 20, 2), [1, 2, 3]))
    owners = ClearOwners(verifies, seq, step, np.full(len(seq), -1), np.full(len(seq), 1))
    first, last = owners.reach()
    for at, own in enumerate(step.tolist()):
        others = verifies.seq[verifies.step != own]
        assert first[at] == others.max(where=others < seq[at], initial=0)
        assert last[at] == others.min(where=others > seq[at], initial=NEVER)
        assert owners.begun[at] == (others < seq[at]).any()


@pytest.mark.parametrize("lines", [[], [{}]], ids=["none", "of another step"])
def test_a_clear_of_a_step_without_accepts_is_unknown(
    judge: Build, verify: Build, lines: list[dict[str, Any]]
) -> None:
    result = judge(*(verify(step=1) for _ in lines), clear([5], step=2))
    assert not result.findings and [each.why for each in result.unknown] == ["no accept of its step"]
    assert judge(clear([4, 5], step=2)).findings, "other rows than by its own figures"


def test_a_clear_without_a_row_goes_by_the_accept_of_its_request(judge: Build, verify: Build) -> None:
    (finding,) = judge(verify(), clear([4, 5], accept_len=2, row=None)).findings
    assert "ring row 4 is cleared" in finding.message
    result = judge(verify(), clear([5], row=None))
    assert not result.findings and [each.why for each in result.unknown] == ["no request row"]


def test_the_size_of_the_ring_is_that_of_the_pool(judge: Build, verify: Build) -> None:
    lines = verify(), clear([5])
    assert not judge(*lines, c128_ring_size=8).findings
    (finding,) = judge(*lines, c128_ring_size=16).findings
    assert finding.message.startswith("the clear counts by a ring of 8 rows, the pool's rings have 16")
    (finding,) = judge(whole(list(range(8))), c128_ring_size=16).findings
    assert (finding.expected, finding.actual) == ("ring_size 16", "ring_size 8")


def test_several_sizes_of_one_ring_are_unknown(judge: Build, verify: Build) -> None:
    result = judge(verify(), clear([5]), verify(step=2), clear([13], ring_size=16, step=2))
    assert not result.findings
    assert [(each.why, each.instances) for each in result.unknown] == [
        ("clears of the pool have several ring sizes", 2)
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (clear([1], ring_size=None), "a length, the width or the ring size is not known"),
        (clear([1], width=None), "a length, the width or the ring size is not known"),
        (clear([1], width=9), "a length, the width or the ring size is not known"),
        (clear([1], accept_len=5), "a length, the width or the ring size is not known"),
        (clear([1], seq_len=None), "a length, the width or the ring size is not known"),
        (clear([1], ring_size=1 << 24), "a length, the width or the ring size is not known"),
        (clear(None), "no ring_rows"),
    ],
)
def test_a_clear_that_can_t_be_judged(judge: Build, line: dict[str, Any], why: str) -> None:
    result = judge(line)
    assert not result.findings and [each.why for each in result.unknown] == [why]


def test_a_clear_that_is_wider_than_a_ragged_verify_is_unknown(judge: Build, verify: Build) -> None:
    result = judge(verify(), clear([5, 6], width=5))
    assert not result.findings and [each.why for each in result.unknown] == [
        "the clear is wider than the verify"
    ]


@pytest.mark.parametrize(("n", "width"), [(3, 3), (2, 3), (1, 1)])
def test_a_clear_of_drafts_instead_of_rows_leaves_the_last_one(
    judge: Build, verify: Build, n: int, width: int
) -> None:
    """The verify has 4 rows, whatever width its clear is told."""
    path = [0, 1, 2][:n] + [-1] * (3 - n)
    accept = verify(accept_len=n, num_correct_drafts=n - 1, accept_index=path, new_seq_len=10 + n)
    line = clear([(10 + d) % 8 for d in range(n, width)], accept_len=n, width=width)
    (finding,) = judge(accept, line).findings
    assert "ring row 5 is not cleared, which holds rejected position 13" in finding.message
    assert finding.expected.startswith(f"ring rows {[(10 + d) % 8 for d in range(n, 4)]}")


def test_a_ring_row_that_is_missing_in_the_list_is_unknown() -> None:
    run = Run(tables=["state_clear"], pools=POOLS)
    run.lines.append(clear([]) | {"ring_rows": [5, None], "second_half": float("-inf")})
    result = run.check("ST-C128")
    assert not result.findings and [each.why for each in result.unknown] == ["no ring_rows"]


def test_other_layouts_and_algorithms_are_not_judged(judge: Build, verify: Build) -> None:
    online = judge(clear([1]), online_c128=True)
    uno = judge(verify(algorithm="uno"), clear([1]))
    for result in (online, uno):
        assert not result.findings and result.checked["ST-C128"] == 0 and result.unknown


@pytest.mark.parametrize("line", [clear([1], pool="mamba"), clear([1], request=None, row=0)])
def test_other_pools_and_padding_are_no_instances(judge: Build, line: dict[str, Any]) -> None:
    result = judge(line)
    assert not result.findings and not result.checked["ST-C128"]


def test_a_clear_that_is_missing_is_no_finding(judge: Build, verify: Build) -> None:
    assert not judge(verify()).findings


def test_two_accepts_of_one_row_leave_a_clear_to_what_the_engine_passed(judge: Build, verify: Build) -> None:
    twice = judge(verify(), verify(), clear([5]))
    assert not twice.findings and twice.checked["ST-C128"] == 1


@pytest.mark.parametrize(("table", "unknown"), [("accept", 1), ("state_clear", 1), ("move", 0)])
def test_rows_dropped_between_an_accept_and_its_clear(
    judge: Build, verify: Build, table: str, unknown: int
) -> None:
    drop = {"event": "drop", "step": 1, "table": table, "rows": 1, "why": "queue full"}
    result = judge(verify(), drop, clear([4, 5]))
    assert (len(result.findings), sum(each.instances for each in result.unknown)) == (1 - unknown, unknown)


def test_a_release_whose_clear_does_nothing_is_told_as_not_performing_it(judge: Build, verify: Build) -> None:
    result = judge(verify(), whole(list(range(8))), c128_draft_clear="not performed")
    assert result.findings == () and result.checked["ST-C128"] == 1, (
        "the whole ring at the end of a row is judged"
    )
    (unknown,) = (each for each in result.unknown if each.instances)
    assert (unknown.rule, unknown.why, unknown.instances) == (
        "ST-C128", "not performed by this release of the engine", 1,
    )  # fmt: skip
