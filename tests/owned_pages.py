"""Runs that the ownership laws judge, and what they find in one."""

from __future__ import annotations

from speckv_debug.model.finding import Finding
from tests.ledgers import Run, rules_of, span

OWN = ("OWN-DFREE", "OWN-UAF", "OWN-ALIAS", "OWN-LEAK", "OWN-PAGESAFE")


def only_finding(run: Run, rule: str) -> Finding:
    result = run.check(*OWN)
    assert rules_of(result) == {rule}, result.findings
    return result.findings[0]


def shared_prefix(page_size: int = 4) -> Run:
    """r1 puts two pages into the tree, r2 computes the same two pages and a third."""
    run = Run(page_size)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    run.start(2, span(20, 30))
    return run
