"""OWN-PAGESAFE and OWN-UAF: frees of what the prefix tree did not let go, and rows that name a page of the free list."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ledgers import TABLES, Run, span


def evicted(slots: list[int] | None, **head: Any) -> Run:
    """The tree has two pages of r1; an event says which slots it lets go, both pages go back."""
    run = Run(4, **head)
    run.start(1, span(8, 16))
    run.cache("insert", span(8, 16), request="r1")
    run.end(1, [])
    run.quiet()
    if slots is not None:
        run.cache("evict", slots)
    run.free(span(8, 16), reason="evict")
    return run


@pytest.mark.parametrize("slots", [None, span(8, 12), span(8, 15)])
def test_a_free_of_what_the_tree_did_not_let_go(slots: list[int] | None) -> None:
    finding = evicted(slots).only_finding("OWN-PAGESAFE")
    assert finding.step == 2 and finding.pages is not None and finding.pages[-1] == 3
    assert "from under the prefix tree" in finding.message


def test_a_free_of_what_the_tree_let_go() -> None:
    assert not evicted(span(8, 16)).check("OWN-PAGESAFE").findings
    tables = [*(name for name in TABLES if name != "cache"), "cache:insert"]
    assert not evicted(None, tables=tables).check("OWN-PAGESAFE").findings


def test_a_page_of_which_the_tree_took_a_part() -> None:
    run = Run(4)
    run.start(1, span(8, 14))
    run.cache("insert", span(8, 14), request="r1")
    run.end(1, [])
    run.cache("evict", span(8, 14))
    run.free(span(8, 14), reason="evict")
    assert not run.check("OWN-PAGESAFE").findings


def names_a_free_page(*, granted: bool) -> Run:
    run = Run(4)
    run.start(1, span(8, 16))
    run.write(1, 8, [20])
    if granted:
        run.add("alloc", pool="full", **run.who(1, None, 1), slots=[20], reason="decode")
    run.forward(1, 7, [15])
    run.add("lengths", **run.who(1, None, 1), committed=9, allocated=9, cause="decode")
    run.forward(1, 8, [20])
    return run


def test_a_row_that_names_a_free_page_is_judged_when_it_is_used() -> None:
    assert names_a_free_page(granted=False).check("OWN-UAF").findings
    assert not names_a_free_page(granted=True).check("OWN-UAF").findings
