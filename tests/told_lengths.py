"""Runs that the laws of lengths judge, and what they find in one."""

from __future__ import annotations

from typing import Any

from speckv_debug.model.finding import Finding
from tests.ledgers import Run, rules_of

LEN = ("LEN-SEQ", "LEN-ORDER", "LEN-COMMIT", "LEN-STALE", "LEN-ALLOC")


class Lengths(Run):
    """A run of one request that only its lengths are told of."""

    def told(
        self, committed: int, allocated: int, cause: str, *, row: int = 1, epoch: int = 1, **columns: Any
    ) -> None:
        who = self.who(row, None, epoch)
        self.add("lengths", **who, committed=committed, allocated=allocated, cause=cause, **columns)

    def verify(self, seq_len: int, accept_len: int, *, row: int = 1, epoch: int = 1, **columns: Any) -> None:
        line = {"algorithm": "eagle", "seq_len": seq_len, "accept_len": accept_len} | columns
        line.setdefault("new_seq_len", seq_len + accept_len)
        self.add("accept", **self.who(row, None, epoch), **line)

    def reserve(
        self,
        committed: int,
        allocated: int,
        reserve: int,
        grown: int,
        *,
        granted: bool = True,
        **columns: Any,
    ) -> None:
        line = {"page_size": self.page_size, "new_allocated": grown} | columns
        self.add(
            "reserve",
            **self.who(1, None, 1),
            committed=committed,
            allocated=allocated,
            reserve=reserve,
            **line,
        )
        if granted and grown > allocated:
            slots = list(range(100 + allocated, 100 + grown))
            self.add("alloc", pool="full", **self.who(1, None, 1), slots=slots, reason="spec_reserve")


def found(run: Run, rule: str) -> list[Finding]:
    result = run.check(*LEN)
    assert rules_of(result) <= {rule}, result.findings
    return list(result.findings)


def overlapped(*commits: int, **head: Any) -> Lengths:
    """Two verifies of 3 and 2 rows, committed one step late."""
    run = Lengths(**head)
    run.told(10, 20, "extend")
    run.step = 2
    run.verify(10, 3)
    run.step = 3
    run.verify(13, 2)
    for step, committed in enumerate(commits, start=2):
        run.step = step
        run.told(committed, 20, "verify_commit")
    return run
