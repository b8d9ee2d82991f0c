"""LOC-OWNED: writes into pages of others, and what only looks so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult
from speckv_debug.replay.ledger import Ledger
from tests.ledgers import Run, span
from tests.unit.replay.test_ledger_compiled import both

RULE = "LOC-OWNED"
Scene = Callable[[], Run]


def two_requests(page_size: int = 4) -> Run:
    """r1 has positions 0 to 9 in slots 8 to 17, r2 has 0 to 9 in slots 20 to 29."""
    run = Run(page_size)
    run.start(1, span(8, 18))
    run.start(2, span(20, 30))
    return run


def in_the_tree() -> Run:
    """r1's first two pages are the tree's, r2's row begins with them."""
    run = Run(4)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    run.start(2, [])
    run.cache("match", span(8, 16), request="r2")
    run.add("alloc", pool="full", **run.who(2, None, 1), slots=span(20, 24), reason="extend")
    run.write(2, 0, span(8, 16) + span(20, 24))
    return run


def verify(run: Run, row: int, slots: list[int] | None, **columns: Any) -> None:
    line = {"algorithm": "eagle", "width": 2, "seq_len": 8, "out_cache_loc": slots}
    run.add("accept", **(run.who(row, None, 1) | line | columns))


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


# ---- breaches -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["extend", "decode", "target_verify", "draft", "draft_extend"])
def test_a_forward_writes_into_a_page_of_another_request(mode: str) -> None:
    run = two_requests()
    run.forward(2, 8, [28, 17], mode, pool="full")
    finding = run.only_finding(RULE)
    assert (finding.request, finding.pages, finding.slots) == ("r2", (4,), (17,))
    assert "is granted to request r1" in finding.message
    writer, holder = finding.evidence[0].rows
    assert writer[1:5] == ("r2", 2, 1, "17") and holder[1:] == ("r1", 1, 1, None, "[8, 10)")


def test_a_verify_writes_into_a_page_of_another_request() -> None:
    run = two_requests()
    verify(run, 2, [16, 29])
    assert run.only_finding(RULE).slots == (16,)


def test_a_forward_writes_into_the_prefix_that_it_shares() -> None:
    run = in_the_tree()
    run.forward(2, 4, span(12, 16) + span(20, 24), "extend")
    finding = run.only_finding(RULE)
    assert finding.pages == (3,) and "is part of the prefix tree" in finding.message
    assert finding.evidence[0].rows[-1] == ("reads", "r1", 1, 1, None, "[4, 8)")


def published_when_scheduled() -> Run:
    """The tree takes a chunk ahead of the forward that writes it; the draft model writes there, too."""
    run = Run(4)
    run.head["pools"].append(
        {"name": "draft", "kind": "draft", "slots": 64, "page_size": 4, "allocated_by": "full"}
    )
    run.start(1, span(8, 16))
    run.cache("insert", span(8, 16), request="r1")
    run.cache("lock", span(8, 16), request="r1")
    run.forward(1, 8, span(8, 16), "extend", start=0, pool="full")
    run.forward(1, 8, span(8, 16), "draft_extend", start=0, pool="draft")
    return run


def test_a_chunk_is_published_when_it_is_scheduled_and_written_once() -> None:
    assert not published_when_scheduled().check(RULE).findings
    again, later, others, early = (published_when_scheduled() for _ in range(4))
    again.forward(1, 8, span(8, 16), "extend", start=0, pool="full")
    later.step = 2
    later.forward(1, 8, span(8, 16), "extend", start=0, pool="full")
    others.start(2, [])
    others.forward(2, 8, span(8, 16), "extend", start=0, pool="full")
    early.lines.insert(3, early.lines[-2] | {"seq": None})
    early.lines[3].pop("seq")
    for run in (again, later, others, early):
        assert "part of the prefix tree" in run.only_finding(RULE).message


def test_a_forward_writes_into_what_a_session_keeps() -> None:
    run = two_requests()
    run.cache("session_save", span(8, 18), request="r1")
    run.forward(2, 8, [9])
    assert "is kept by the session of request r1" in run.only_finding(RULE).message


def test_the_draft_pool_uses_the_targets_ids() -> None:
    pools = [
        {"name": "full", "kind": "full", "slots": 64, "page_size": 4, "reserved_slots": 4},
        {"name": "draft", "kind": "draft", "slots": 64, "page_size": 4, "allocated_by": "full"},
    ]
    run = two_requests()
    run.head["pools"] = pools
    run.forward(2, 8, [28, 29], "draft", pool="draft")
    assert not run.check(RULE).findings
    run.forward(2, 8, [17], "draft", pool="draft")
    assert run.only_finding(RULE).slots == (17,)


def test_a_write_long_after_its_request_has_ended() -> None:
    run = two_requests()
    run.end(1, span(8, 18))
    run.quiet()
    run.start(3, span(8, 18))
    run.step = 9
    verify(run, 1, [16, 17])
    assert run.only_finding(RULE).request == "r1"


# ---- legitimate patterns --------------------------------------------------------------------------


def own_pages() -> Run:
    run = two_requests()
    run.forward(1, 0, span(8, 18), "extend")
    run.forward(2, 8, [28, 29], "target_verify")
    verify(run, 2, [28, 29])
    return run


def behind_a_shared_prefix() -> Run:
    run = in_the_tree()
    run.forward(2, 8, span(20, 24), "extend")
    return run


def partial_page_behind_what_the_tree_took() -> Run:
    run = in_the_tree()
    run.forward(1, 10, [18])
    return run


def rows_that_pad_the_batch() -> Run:
    run = two_requests()
    run.add("forward", mode="target_verify", row=0, slots=[9, 10], padded=True)
    run.add("forward", mode="idle", row=0, slots=[9, 10], padded=True)
    run.add("accept", row=0, algorithm="eagle", width=2, out_cache_loc=[9, 10])
    run.forward(1, 8, [16])
    return run


def the_dummy_page() -> Run:
    run = two_requests()
    run.forward(1, 9, [17, 0, 3])
    return run


def granted_and_not_yet_in_the_row() -> Run:
    run = two_requests()
    run.add("alloc", pool="full", **run.who(1, None, 1), slots=span(32, 36), reason="spec_reserve")
    run.forward(1, 10, span(32, 36), "draft")
    return run


def a_restored_session() -> Run:
    """r1's slots are saved and handed to r3, whose row names them; r3 writes behind them, in the last page."""
    run = two_requests()
    run.cache("session_save", span(8, 18), request="r1")
    run.cache("session_restore", span(8, 18), request="r3")
    run.add("row_alloc", **run.who(3, None, 1))
    run.write(3, 0, span(8, 18))
    run.forward(3, 9, [17, 18, 19])
    return run


def in_flight_when_its_request_ends() -> Run:
    run = two_requests()
    run.end(1, span(8, 18))
    run.start(3, span(8, 18))
    run.step = 1
    verify(run, 1, [16, 17])
    return run


def a_page_loaded_back() -> Run:
    """A transfer writes into pages of the tree; the forward that it is for writes behind them."""
    run = two_requests()
    run.add("alloc", pool="full", **run.who(1, None, 1), slots=span(32, 40), reason="load_back")
    run.add("transfer", action="begin", pool="full", slots=span(32, 40), request="r1")
    run.add("transfer", action="end", pool="full", slots=span(32, 40), request="r1")
    run.forward(1, 9, [17])
    return run


LEGITIMATE: tuple[Scene, ...] = (
    own_pages,
    behind_a_shared_prefix,
    partial_page_behind_what_the_tree_took,
    rows_that_pad_the_batch,
    the_dummy_page,
    granted_and_not_yet_in_the_row,
    a_restored_session,
    in_flight_when_its_request_ends,
    a_page_loaded_back,
)


@pytest.mark.parametrize("scene", LEGITIMATE, ids=lambda scene: scene.__name__)
def test_legitimate(scene: Scene) -> None:
    result = scene().check(RULE)
    assert not result.findings
    assert result.checked[RULE] + sum(unknown.instances for unknown in result.unknown) > 0


def test_rows_that_pad_are_no_instances() -> None:
    assert rows_that_pad_the_batch().check(RULE).checked[RULE] == 1


def test_another_namespace_is_not_followed() -> None:
    run = two_requests()
    run.head["pools"] = [*run.head["pools"], {"name": "swa", "kind": "swa", "slots": 64, "page_size": 4}]
    run.forward(2, 8, [9], pool="swa")
    assert not run.check(RULE).checked[RULE]


# ---- unknown --------------------------------------------------------------------------------------


def test_a_page_in_the_free_list_is_left_to_another_law() -> None:
    run = two_requests()
    run.forward(1, 10, [40])
    result = run.check(RULE, "OWN-UAF")
    assert {finding.rule for finding in result.findings} == {"OWN-UAF"}
    assert any(unknown.rule == RULE and "OWN-UAF" in unknown.why for unknown in result.unknown)


def test_pages_granted_to_nobody_by_name() -> None:
    run = two_requests()
    run.add("alloc", pool="full", slots=span(40, 44), reason="other")
    run.forward(1, 10, [40])
    assert reasons(run.check(RULE)) == {"a page that is written was granted to nobody by name": 1}


def test_a_recording_that_began_late() -> None:
    run = Run(4, from_start=False)
    run.forward(1, 8, [17])
    assert sum(reasons(run.check(RULE)).values()) == 1


@pytest.mark.parametrize("table", ["cache", "alloc", "table_write", "release"])
def test_a_table_that_was_not_recorded_whole(table: str) -> None:
    run = two_requests()
    run.head["tables"] = [
        name
        for name in ("accept", "forward", "alloc", "free", "free_group", "table_write", "cache", "release")
        if name != table
    ]
    run.forward(2, 8, [17])
    assert reasons(run.check(RULE)) == {f"{table} was not recorded whole": 1}


def test_an_event_without_slots_is_no_instance() -> None:
    run = two_requests()
    verify(run, 1, None)
    assert not run.check(RULE).checked[RULE]


@pytest.mark.parametrize("scene", [*LEGITIMATE, two_requests, in_the_tree], ids=lambda scene: scene.__name__)
@pytest.mark.parametrize("slots", [[16, 17], [12, 28], [30, 40], [60]])
def test_compiled_code_judges_the_same(scene: Scene, slots: list[int]) -> None:
    def fold() -> Ledger:
        run = scene()
        for row in (1, 2):
            run.forward(row, 8, slots)
            verify(run, row, slots)
        return run.fold()

    first, second = both(fold)
    assert first.facts == second.facts
