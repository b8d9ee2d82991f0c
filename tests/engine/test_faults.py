"""Faults planted in the real engine from outside: the right rule, at the first bad step, of the right request."""

from __future__ import annotations

import pytest
from running import Run
from scenarios import ATTACHED, FAULTY

EXPECTED = {
    "swapped": "MOV-PAIR",
    "skipped": "MOV-MISSING",
    "leaked": "OWN-LEAK",
    "short": "LEN-COMMIT",
    "late": "LEN-STALE",
    "untranslated": "LOC-GROUP",
    "left-behind": "MOV-ALLPOOLS",
}
pytestmark = pytest.mark.parametrize("scenario", [scenario.name for scenario in FAULTY])


def first_finding(run: Run) -> dict:
    """The finding that comes first and follows from no other."""
    return next(f for f in run.report["findings"] if f["severity"] == "error" and f["cause"] is None)


def test_check_exits_1_and_names_the_rule(run: Run) -> None:
    assert run.exit_code == 0, run.stderr[-2000:]
    assert run.report["exit_code"] == 1
    rules = {f["rule"] for f in run.report["findings"] if f["severity"] == "error" and f["cause"] is None}
    assert rules == {EXPECTED[run.scenario.name]}


def test_step_and_requests_are_those_of_the_fault(run: Run) -> None:
    step, requests = WHERE[run.scenario.name](run)
    assert first_finding(run)["step"] == step
    assert first_finding(run)["request"] in requests
    found = {f["request"] for f in run.report["findings"] if f["step"] == step and f["severity"] == "error"}
    assert found == requests


def test_the_events_before_the_fault_are_those_of_the_clean_run(run: Run, runs) -> None:
    beside = "window-trees" if "--window" in run.scenario.more else ATTACHED.name
    clean = runs[beside if run.scenario.overlap else "topk2-page1"]
    place = first_finding(run)["step"]
    before = [(e.request, e.seq_len, e.predict) for e in run.of("accept") if e.step < place]
    assert before
    assert before == [(e.request, e.seq_len, e.predict) for e in clean.of("accept") if e.step < place]


def _sixth_move(run: Run) -> tuple[int, set[str]]:
    """The fault begins at the sixth call that moves something; requests with a row out of place are hit."""
    move = [e for e in run.of("move") if e.caller == "accept"][5]
    return move.step, _out_of_place(run, move.step)


def _sixth_verify(run: Run) -> tuple[int, set[str]]:
    step = sorted({e.step for e in run.of("accept")})[5]
    return step, _out_of_place(run, step)


def _out_of_place(run: Run, step: int) -> set[str]:
    """Requests whose accepted rows are not the first of their block."""
    return {
        e.request
        for e in run.of("accept")
        if e.step == step
        and list(e.accept_index[: e.accept_len]) != list(range(e.block_start, e.block_start + e.accept_len))
    }


def _second_release(run: Run) -> tuple[int, set[str]]:
    release = run.of("release")[1]
    return release.step, {release.request}


def _sixth_commit(run: Run) -> tuple[int, set[str]]:
    """The first of the requests that the sixth verify's result still finds running."""
    step = sorted({e.step for e in run.of("lengths") if e.cause == "verify_commit"})[5]
    first = next(e for e in run.of("lengths") if (e.cause, e.step) == ("verify_commit", step))
    return step, {first.request}


def _first_late_result(run: Run) -> tuple[int, set[str]]:
    """The first verify that is launched with requests that have ended when its result comes."""
    commits = [e for e in run.of("lengths") if e.cause == "verify_commit"]
    ended = {(e.row, e.epoch): e.seq for e in run.of("release")}
    in_time = {(e.request, e.step) for e in commits if e.seq < ended[e.row, e.epoch]}
    late = [e for e in run.of("accept") if (e.request, e.step) not in in_time]
    step = min(e.step for e in late)
    return step, {next(e.request for e in late if e.step == step)}


def _first_left_behind(run: Run) -> tuple[int, set[str]]:
    """The first step from the sixth call on in which a row is out of place; the first request that has one is named."""
    calls = [e for e in run.of("move") if e.caller == "accept" and e.pool == "full"]
    late = sorted({e.step for e in calls[5:]})
    step = next(step for step in late if _out_of_place(run, step))
    requests = _out_of_place(run, step)
    return step, {next(e.request for e in run.of("accept") if e.step == step and e.request in requests)}


def _first_untranslated(run: Run) -> tuple[int, set[str]]:
    """The first forward whose layers with a window write elsewhere than the mapping says."""
    slots = {(e.step, e.mode, e.request): e.slots for e in run.of("forward") if e.group is None}
    peers, step, requests = {}, None, set()
    for event in run.events:
        if event.table == "swa_map":
            peers |= dict(zip(event.full_slots, event.swa_slots, strict=True))
        elif event.table == "forward" and event.group == "swa" and step in (None, event.step):
            due = [peers[slot] for slot in slots[event.step, event.mode, event.request]]
            if due != list(event.slots):
                step, requests = event.step, requests | {event.request}
    assert step is not None
    return step, requests


WHERE = {
    "swapped": _sixth_move,
    "skipped": _sixth_verify,
    "leaked": _second_release,
    "short": _sixth_commit,
    "late": _first_late_result,
    "untranslated": _first_untranslated,
    "left-behind": _first_left_behind,
}
