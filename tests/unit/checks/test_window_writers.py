"""LOC-OWNED in the pool of a sliding window: whose peers a forward writes, and what only looks like another's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.checks import RULES
from speckv_debug.checks.run import check
from speckv_debug.checks.windowed import judge_windows
from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.run import process_of
from speckv_debug.collectors.reference.run import run as engine_run
from speckv_debug.collectors.reference.workload import mixed_jobs
from speckv_debug.model.finding import CheckResult
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.view import views
from tests.ledgers import TABLES, Run, span
from tests.unit.checks.test_windowed import PROGRESS, windows_of
from tests.unit.replay.test_ledger_compiled import both

RULE = "LOC-OWNED"
SWA = {"name": "swa", "kind": "swa", "slots": 32, "page_size": 4, "reserved_slots": 4}


def peers(run: Run, full: list[int] | None, swa: list[int] | None) -> None:
    run.add("swa_map", full_slots=full, swa_slots=swa)


def two_requests(**head: Any) -> Run:
    """r1 has slots 8 to 17 with peers 4 to 13, r2 has slots 20 to 29 with peers 16 to 25."""
    run = Run(4, tables=[*TABLES, "swa_map"], **head)
    run.head["pools"] = [*run.head["pools"], SWA]
    run.start(1, span(8, 18))
    peers(run, span(8, 18), span(4, 14))
    run.start(2, span(20, 30))
    peers(run, span(20, 30), span(16, 26))
    return run


def forward(
    run: Run, row: int, slots: list[int], swa: list[int], mode: str = "target_verify", **more: Any
) -> None:
    """The layers with all positions, then those with a window."""
    run.forward(row, 8, slots, mode, **more)
    run.forward(row, 8, swa, mode, pool="swa", group="swa", **more)


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


@pytest.mark.parametrize("mode", ["extend", "decode", "target_verify"])
def test_a_forward_writes_the_peers_of_another_request(mode: str) -> None:
    run = two_requests()
    forward(run, 2, [28, 29], [24, 13], mode)
    finding = run.only_finding(RULE)
    assert (finding.request, finding.pool, finding.slots, finding.pages) == ("r2", "full", (17,), (4,))
    assert "writes in pool swa the peers of slots 17 in page 4 of pool full" in finding.message
    assert "is granted to request r1" in finding.message


def test_a_forward_writes_peers_that_the_tree_has() -> None:
    run = two_requests()
    run.cache("insert", span(8, 16), request="r1")
    forward(run, 2, [28, 29], [24, 4])
    assert "is part of the prefix tree" in run.only_finding(RULE).message


def test_a_forward_writes_what_is_nobodys() -> None:
    run = two_requests()
    forward(run, 2, [28, 29], [24, 30])
    finding = run.only_finding(RULE)
    assert (finding.pool, finding.slots) == ("swa", (30,))
    assert "slots 30 of pool swa, which are nobody's peers" in finding.message


def test_a_verify_without_a_forward_says_what_is_due() -> None:
    run = two_requests()
    run.add("accept", **run.who(2, None, 1), algorithm="eagle", width=2, seq_len=8, out_cache_loc=[28, 29])
    run.forward(2, 8, [24, 25], "target_verify", pool="swa", group="swa")
    assert run.check(RULE).checked == {RULE: 1} and not run.check(RULE).findings
    run.forward(1, 8, [24], "target_verify", pool="swa", group="swa")
    assert run.only_finding(RULE).request == "r1"


@pytest.mark.parametrize(
    "swa",
    [
        [24, 25],
        [0, 25],  # the first has left the window
        [0, 0],
        [24, 22],  # another slot of its own
    ],
)
def test_peers_of_the_own_slots(swa: list[int]) -> None:
    run = two_requests()
    forward(run, 2, [28, 29], swa)
    assert reasons(run.check(RULE)) == {}


def test_a_peer_that_goes_to_another_slot_of_the_request_stays_its_own() -> None:
    run = two_requests()
    peers(run, [17, 29], [0, 13])
    forward(run, 2, [28, 29], [24, 13])
    assert reasons(run.check(RULE)) == {}


def test_a_peer_counts_as_it_stands_at_the_forward() -> None:
    run = two_requests()
    forward(run, 2, [28, 29], [24, 25])
    peers(run, [29, 17], [0, 25])
    assert reasons(run.check(RULE)) == {}
    forward(run, 2, [28, 29], [24, 25])
    assert run.only_finding(RULE).slots == (17,)


def test_pads_and_drafts_are_not_judged() -> None:
    run = two_requests()
    run.forward(2, 8, [28, 29], "target_verify")
    run.forward(2, 8, [24, 13], "target_verify", pool="swa", padded=True)
    run.forward(2, 8, [24, 13], "idle", pool="swa")
    assert run.check(RULE).checked == {RULE: 1} and not run.check(RULE).findings


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ({"from_start": False}, "whose peer a slot of the window's pool is was not seen"),
        ({"tables": TABLES}, "whose peer a slot of the window's pool is was not seen"),
    ],
)
def test_without_the_whole_mapping_nobodys_is_unknown(head: dict[str, Any], why: str) -> None:
    run = two_requests()
    run.head |= head
    forward(run, 2, [28, 29], [24, 30])
    assert reasons(run.check(RULE)) == {why: 1}


def test_without_any_mapping_who_holds_the_windows_slots_is_not_known() -> None:
    run = Run(4)
    run.head["pools"] = [*run.head["pools"], SWA]
    run.start(2, span(20, 30))
    forward(run, 2, [28, 29], [24, 30])
    why = "the pages of the pool can't be followed: no page size or no grants"
    assert run.check(RULE).checked == {RULE: 1} and reasons(run.check(RULE)) == {why: 1}


def test_a_change_that_does_not_say_what_it_changed_hides_the_holder() -> None:
    run = two_requests()
    peers(run, [17], None)
    forward(run, 2, [28, 29], [24, 13])
    assert list(reasons(run.check(RULE))) == [
        "a change of the mapping to the window's pool does not say what it changed"
    ]


def test_a_mapping_from_before_a_hole_is_not_known() -> None:
    run = two_requests()
    run.lines[-1]["seq"] = len(run.lines) + 9
    for number, line in enumerate(run.lines[:-1]):
        line["seq"] = number
    run.forward(2, 8, [28, 29], "target_verify", seq=60)
    run.forward(2, 8, [24, 13], "target_verify", pool="swa", seq=61)
    result = run.check(RULE)
    assert not result.findings and sum(unknown.instances for unknown in result.unknown) == 2


def test_compiled_code_judges_the_same() -> None:
    def fold() -> Ledger:
        run = two_requests()
        for swa in ([24, 25], [24, 13], [24, 30], [0, 0]):
            forward(run, 2, [28, 29], swa)
            run.step += 1
        return run.fold()

    first, second = both(fold)
    assert first.facts == second.facts and len(first.facts.broken) == 2


def test_windows_carry_the_mapping_on(tmp_path: Path) -> None:
    config = EngineConfig(window=6, eviction_interval=1)
    recorder = Recorder(tmp_path / "x.speckv", process_of(config))
    engine_run(config, [replace(job, session=None) for job in mixed_jobs(3)], recorder)
    recorder.close()
    whole = check(Recording.open(tmp_path / "x.speckv"), replay="off")
    with windows_of(60):
        view = views(Recording.open(tmp_path / "x.speckv"))[0]
        judged = judge_windows(view, [RULES[RULE]], lambda rule, error: pytest.fail(str(error)), PROGRESS)
        found = check(Recording.open(tmp_path / "x.speckv"), replay="off")
    assert judged[RULE].instances == whole.checked[RULE] > 50, "no window looks further than it has to"
    assert found == whole and not whole.findings
