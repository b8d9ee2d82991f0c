"""RPL-RESERVE, RPL-STATE: what replay finds, and what looks like a mismatch and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult, Severity
from tests.ledgers import Run

Build = Callable[..., Any]


@pytest.fixture
def judge(record: Build) -> Build:
    def run(rule: str, *lines: dict[str, Any], **head: Any) -> CheckResult:
        return check(
            record(*lines, head={"settings": {}} | head),
            only=[rule],
            on_error=lambda rule, e: pytest.fail(f"{rule}: {e!r}"),
        )

    return run


def paged(size: int) -> list[dict[str, Any]]:
    return [{"name": "full", "kind": "full", "slots": 960, "page_size": size, "reserved_slots": size}]


def reserve(**columns: Any) -> dict[str, Any]:
    line = {"event": "reserve", "step": 2, "request": "a", "row": 1, "epoch": 1, "committed": 10}
    line |= {"allocated": 16, "reserve": 8, "page_size": 16, "new_allocated": 32}
    return {name: value for name, value in (line | columns).items() if value is not None}


def release(**columns: Any) -> dict[str, Any]:
    line = {"event": "release", "step": 3, "request": "a", "row": 1, "epoch": 1, "kind": "finish"}
    line |= {"committed": 20, "allocated": 48, "free_start": 32, "page_size": 16}
    return {name: value for name, value in (line | columns).items() if value is not None}


@pytest.mark.parametrize(
    ("version", "grown", "kept"),
    [
        ("0.5.23", 32, True),
        ("0.5.16", 18, False),
        ("0.5.15", 18, True),
        ("0.5.12", 32, False),
        ("0.5.11", 32, True),
        ("0.5.11", 18, True),
        (None, 18, True),
        (None, 24, False),
    ],
)
def test_growth_by_version(judge: Build, version: str | None, grown: int, kept: bool) -> None:
    line = reserve(new_allocated=grown)
    result = judge("RPL-RESERVE", line, engine_version=version, pools=paged(16))
    assert bool(result.findings) is not kept
    assert result.checked["RPL-RESERVE"] == 1


def test_a_growth_names_the_kernel(judge: Build) -> None:
    (finding,) = judge("RPL-RESERVE", reserve(new_allocated=18), pools=paged(16)).findings
    assert finding.message == "the row grows to 18, kernels.reserve.grown_length = 32"
    assert (finding.expected, finding.actual) == ("kernels.reserve.grown_length = 32", "new_allocated 18")


def test_a_length_that_both_forms_give_is_named_once(judge: Build) -> None:
    line = reserve(committed=16, allocated=16, reserve=16, new_allocated=48)
    (finding,) = judge("RPL-RESERVE", line, engine_version=None, pools=paged(16)).findings
    assert f"{finding.expected}".count("= 32") == 1 and " or " not in finding.message


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        ({}, True),
        ({"free_start": 48}, False),
        ({"committed": 45, "free_start": 64}, True),  # beyond the allocated length: nothing to free
        ({"committed": 45, "free_start": 48}, True),
        ({"kind": "retract", "free_start": 48}, False),
        ({"kind": "session_trim", "target": 33, "committed": 40, "free_start": 48}, True),
        ({"kind": "session_trim", "target": 17, "committed": 40, "free_start": 48}, False),
    ],
)
def test_start_of_a_tail(judge: Build, columns: dict[str, Any], kept: bool) -> None:
    result = judge("RPL-RESERVE", release(**columns), pools=paged(16))
    assert bool(result.findings) is not kept
    assert result.checked["RPL-RESERVE"] == 1


def test_a_trim_may_keep_less_than_its_target(judge: Build) -> None:
    trim = release(kind="session_trim", target=40, free_start=32)
    kept = {"event": "lengths", "step": 3, "request": "a", "row": 1, "epoch": 1, "cause": "session_trim"}
    assert not judge("RPL-RESERVE", trim, kept | {"committed": 30}, pools=paged(16)).findings
    assert judge("RPL-RESERVE", trim, kept | {"committed": 40}, pools=paged(16)).findings


def test_a_trim_of_which_no_length_is_told_is_unknown(judge: Build) -> None:
    trim = release(kind="session_trim", target=None)
    kept = {"event": "lengths", "step": 3, "request": "a", "row": 1, "epoch": 1, "cause": "session_trim"}
    result = judge("RPL-RESERVE", trim, kept, release(), pools=paged(16))
    assert not result.findings
    assert result.checked["RPL-RESERVE"] == 1 and [each.instances for each in result.unknown] == [1]


def test_an_end_may_keep_less_than_is_committed(judge: Build) -> None:
    result = judge("RPL-RESERVE", release(free_start=16), pools=paged(16))
    assert not result.findings
    assert [each.instances for each in result.unknown] == [1]
    trim = release(kind="session_trim", target=20, free_start=16)
    assert judge("RPL-RESERVE", trim, pools=paged(16)).findings


@pytest.mark.parametrize("kind", ["retract", "abort"])
def test_no_stop_cuts_what_a_request_keeps_that_did_not_finish(judge: Build, kind: str) -> None:
    line = release(kind=kind, free_start=16)
    (finding,) = judge("RPL-RESERVE", line, pools=paged(16)).findings
    assert "16" in finding.actual
    result = judge("RPL-RESERVE", line, pools=paged(16), settings={"strip_thinking_cache": True})
    assert not result.findings and [each.instances for each in result.unknown] == [1]


def test_a_tail_inside_a_page_is_left_to_the_law(judge: Build) -> None:
    result = judge("RPL-RESERVE", release(free_start=20), pools=paged(16))
    assert not result.findings
    assert [each.instances for each in result.unknown] == [1]


@pytest.mark.parametrize(
    "line",
    [reserve(reserve=None), reserve(new_allocated=None), release(free_start=None), release(committed=None)],
)
def test_a_length_that_is_not_recorded(judge: Build, line: dict[str, Any]) -> None:
    result = judge("RPL-RESERVE", line, pools=paged(16))
    assert not result.findings and result.checked["RPL-RESERVE"] == 0


def test_a_reserve_without_room_for_one_verify_is_a_note(judge: Build) -> None:
    settings = {"algorithm": "EAGLE", "topk": 2, "num_steps": 2, "num_draft_tokens": 40}
    lines = [reserve(request=name) for name in "ab"]
    (finding,) = judge("RPL-RESERVE", *lines, pools=paged(16), settings=settings).findings
    assert finding.severity is Severity.NOTE and "decode_reserve gives 128" in finding.message
    for changed in ({"num_draft_tokens": 4}, {"algorithm": "UNO"}, {"num_steps": None}):
        assert not judge("RPL-RESERVE", *lines, pools=paged(16), settings=settings | changed).findings
    large = reserve(reserve=200, new_allocated=224)
    assert not judge("RPL-RESERVE", large, pools=paged(16), settings=settings).findings


# ---- RPL-STATE ----------------------------------------------------------------------------------------


def clear(rows: list[int], **columns: Any) -> dict[str, Any]:
    line = {"event": "state_clear", "step": 1, "pool": "c128_state", "request": "a", "row": 1, "seq_len": 10}
    line |= {"accept_len": 3, "width": 4, "ring_size": 8, "ring_rows": rows}
    line |= {"first_half": 0.0, "second_half": "-inf"} | columns
    return {name: value for name, value in line.items() if value is not None}


STATES = [
    *paged(1),
    {"name": "c128_state", "kind": "c128_state", "slots": 64, "page_size": 1, "reserved_slots": 0},
    {"name": "mamba", "kind": "mamba", "slots": 8, "page_size": 1, "reserved_slots": 1},
]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (clear([5]), ""),
        (clear([4, 5]), "ring row 4 is cleared"),
        (clear([]), "ring row 5 is not cleared"),
        (clear([5, 6]), "ring row 6 is cleared"),
        (clear([5], first_half=1.0), "it leaves 1 and -inf"),
        (clear([5], second_half=0.0), "it leaves 0 and 0"),
        (clear([5], second_half="nan"), "it leaves 0 and nan"),
        (clear([5], first_half=None, second_half=None), ""),
        (clear([0, 7, 6], seq_len=14, accept_len=1, width=3, ring_size=8), "ring row 6 is cleared"),
        (clear([0, 7], seq_len=14, accept_len=1, width=3, ring_size=8), ""),
        (clear([], accept_len=1, width=1), ""),  # one row: nothing is drafted
        (clear(list(range(8)), seq_len=None, accept_len=None, width=None), ""),
        (clear(list(range(7)), seq_len=None, accept_len=None, width=None), "ring row 7 is not cleared"),
        (clear([5, 5]), ""),
        (clear([5, 8]), "ring row 8 is cleared"),
        (clear([5, -1]), "ring row -1 is cleared"),
        (
            clear([1], width=None, ring_size=1 << 20),
            "; ".join(f"ring row {k} is not cleared" for k in (0, 2, 3, 4)),
        ),
    ],
)
def test_cleared_ring_rows(judge: Build, line: dict[str, Any], wrong: str) -> None:
    result = judge("RPL-STATE", line, pools=STATES)
    assert [f.message.partition(": ")[2] for f in result.findings] == ([wrong] if wrong else [])
    assert result.checked["RPL-STATE"] == 1


def test_the_accepted_path_says_what_is_cleared(judge: Build, verify: Build) -> None:
    drafts = clear([4, 5], accept_len=2)  # the engine passed the accepted drafts
    assert not judge("RPL-STATE", drafts, pools=STATES).findings
    (finding,) = judge("RPL-STATE", verify(), drafts, pools=STATES).findings
    assert "ring row 4 is cleared" in finding.message


def test_a_clear_of_another_row_than_the_request_has_in_its_accept(judge: Build, verify: Build) -> None:
    (finding,) = judge("RPL-STATE", verify(), clear([5], row=9), pools=STATES).findings
    assert finding.message == "the clear is of request row 9, the request has row 1 in its accept (event 0)"
    assert (finding.expected, finding.actual) == ("a clear of request row 1", "a clear of request row 9")


@pytest.mark.parametrize(
    "line",
    [
        clear([5], row=9, request="b"),
        clear([5], row=9, request=None),
        clear([5], row=9, step=2),
        clear(list(range(8)), row=9, width=None, seq_len=None, accept_len=None),
    ],
)
def test_a_clear_that_no_accept_of_its_request_stands_beside(
    judge: Build, verify: Build, line: dict[str, Any]
) -> None:
    result = judge("RPL-STATE", verify(), line, pools=STATES)
    assert not result.findings and result.checked["RPL-STATE"] == 1


def test_a_ring_row_that_is_missing_in_the_list_is_unknown() -> None:
    run = Run(tables=["state_clear"], pools=STATES)
    run.lines.append(clear([]) | {"ring_rows": [5, None], "second_half": float("-inf")})
    result = run.check("RPL-STATE")
    assert not result.findings and [each.why for each in result.unknown] == ["no ring_rows"]


def test_the_online_variant_is_not_judged(judge: Build) -> None:
    result = judge("RPL-STATE", clear([1]), pools=STATES, settings={"online_c128": True})
    assert not result.findings and result.checked["RPL-STATE"] == 0


def commit(step_index: int | None, **columns: Any) -> dict[str, Any]:
    line = {"event": "state_commit", "step": 1, "pool": "mamba", "request": "a", "row": 1}
    line |= {"step_index": step_index} | columns
    return {name: value for name, value in line.items() if value is not None}


def test_committed_steps(judge: Build, verify: Build) -> None:
    assert not judge("RPL-STATE", verify(), commit(3), pools=STATES).findings
    (finding,) = judge("RPL-STATE", verify(), commit(2), pools=STATES).findings
    assert finding.message == "the state after verify row 2 is kept, kernels.state.commit_steps gives row 3"
    assert not judge("RPL-STATE", commit(3), verify(), pools=STATES).findings


def test_a_commit_may_be_deferred_to_the_next_verify(judge: Build, verify: Build) -> None:
    then = verify(step=2, seq_len=13, accept_index=[0, -1, -1], accept_len=1)
    assert not judge("RPL-STATE", verify(), commit(3, step=2), then, pools=STATES).findings
    assert judge("RPL-STATE", verify(), commit(1, step=2), then, pools=STATES).findings


@pytest.mark.parametrize(
    "line", [commit(3, row=2), commit(None), clear([5], ring_size=None), clear([5], width=9)]
)
def test_a_state_that_can_t_be_judged(judge: Build, verify: Build, line: dict[str, Any]) -> None:
    result = judge("RPL-STATE", verify(), line, pools=STATES)
    assert not result.findings and result.checked["RPL-STATE"] == 0
