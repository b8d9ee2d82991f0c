"""OWN: frees into groups that are not open, groups without an end, and grants of what did not go back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ledgers import TABLES, Run, span

# ---- frees into a group that is not open ----------------------------------------------------------


def freed_into(group: int | None, *, late: bool = False, **head: Any) -> Run:
    """A request ends in group 1, its free names another, or comes when the group has ended."""
    run = Run(4, **head)
    run.start(1, span(8, 16))
    run.group("begin")
    run.release(1, 8, 8)
    if not late:
        run.free(span(8, 16), 1, group=group)
    run.group("end")
    if late:
        run.free(span(8, 16), 1, group=group)
    run.add("row_free", **run.who(1, None, 1))
    run.quiet()
    return run


@pytest.mark.parametrize("group", [1, None])
def test_a_free_into_the_open_group(group: int | None) -> None:
    assert not freed_into(group).check("OWN-LEAK", "OWN-DFREE").findings


@pytest.mark.parametrize(("group", "late"), [(7, False), (1, True)])
def test_a_free_into_a_group_that_is_not_open_never_takes_effect(group: int, late: bool) -> None:
    (finding,) = freed_into(group, late=late).check("OWN-LEAK").findings
    assert (finding.step, finding.request, finding.pages) == (1, "r1", (2, 3))


def test_a_group_whose_begin_may_be_missing() -> None:
    unlisted = freed_into(7, tables=[name for name in TABLES if name != "free_group"])
    assert not unlisted.check("OWN-LEAK").findings
    hole = freed_into(7)
    for seq, line in enumerate(hole.lines):
        line["seq"] = seq + (seq > 4)
    assert not hole.check("OWN-LEAK").findings
    late = freed_into(7, from_start=False)
    assert not late.check("OWN-LEAK").findings


# ---- free groups without an end, and pages that are granted without having gone back ---------------


def ends_in_a_group(*, ended: bool) -> Run:
    """r1 ends at step 1, inside a free group; the pool is counted at step 2."""
    run = Run(4)
    run.start(1, span(8, 16))
    run.group("begin")
    run.end(1, span(8, 16))
    if ended:
        run.group("end")
    run.step = 2
    return run


def test_a_free_group_without_an_end_gives_nothing_back() -> None:
    run = ends_in_a_group(ended=False)
    run.quiet()
    finding = run.only_finding("OWN-LEAK")
    assert (finding.step, finding.request, finding.pages) == (1, "r1", (2, 3))
    whole = ends_in_a_group(ended=True)
    whole.quiet()
    assert not whole.check("OWN-LEAK").findings


def test_a_free_group_may_end_later_in_its_step() -> None:
    run = ends_in_a_group(ended=False)
    run.step = 1
    run.add("pool_stat", pool="full")
    run.group("end")
    run.quiet()
    assert not run.check("OWN-LEAK", "OWN-DFREE").findings


def test_free_groups_that_were_not_recorded_whole() -> None:
    run = ends_in_a_group(ended=False)
    run.head["tables"] = [name for name in TABLES if name != "free_group"]
    run.quiet()
    result = run.check("OWN-LEAK", "OWN-DFREE")
    assert not result.findings and not result.checked["OWN-LEAK"]


def test_a_page_that_is_granted_before_its_group_ends() -> None:
    run = ends_in_a_group(ended=False)
    run.start(2, span(8, 12))
    finding = run.only_finding("OWN-DFREE")
    assert (finding.step, finding.request, finding.pages) == (1, "r1", (2,))
    assert "granted again at event 9, while the free waits" in finding.message
    whole = ends_in_a_group(ended=True)
    whole.start(2, span(8, 12))
    assert not whole.check("OWN-DFREE", "OWN-ALIAS").findings


def test_a_page_of_an_ended_request_that_is_granted_without_a_free() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.end(1, span(8, 12))
    run.start(2, span(12, 16))
    run.quiet()
    finding = run.only_finding("OWN-LEAK")
    assert (finding.request, finding.pages) == ("r1", (3,))


def evicted_and_granted(*, freed: bool, **head: Any) -> Run:
    run = Run(4, **head)
    run.start(1, span(8, 16))
    run.cache("insert", span(8, 16), request="r1")
    run.end(1, [])
    run.quiet()
    run.cache("evict", span(8, 16))
    if freed:
        run.free(span(8, 16), reason="evict")
    run.start(2, span(8, 12))
    return run


def test_a_page_that_was_evicted_and_is_granted_without_a_free() -> None:
    finding = evicted_and_granted(freed=False).only_finding("OWN-ALIAS")
    assert (finding.step, finding.request, finding.pages) == (2, "r2", (2,))
    assert "did not go back since it was granted before" in finding.message
    assert not evicted_and_granted(freed=True).check("OWN-ALIAS").findings
    assert not evicted_and_granted(freed=False, from_start=False).check("OWN-ALIAS").findings
