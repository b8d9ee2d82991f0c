"""Small made-up runs for the ledger's tests: a process in memory, and a short way to write its events."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult, Finding
from speckv_debug.recording.process_file import process_from
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay.ledger import Ledger

Line = dict[str, Any]
TABLES = [
    "accept", "forward", "alloc", "free", "free_group", "table_write", "row_alloc", "row_free", "lengths",
    "reserve", "cache", "release", "transfer", "pool_stat",
]  # fmt: skip


class Stream:
    """What the ledger and the rules need of a recorded process, without a file."""

    rows = 0

    def __init__(self, lines: Iterable[Line], **head: Any) -> None:
        raw = {"engine": "sglang", "engine_version": "0.5.23", "tables": TABLES, "from_start": True} | head
        self.label, self.info, self.problems = "tp0-pp0-dp0", process_from("tp0-pp0-dp0", raw), ()
        rows: dict[str, list[Line]] = {}
        for number, line in enumerate(lines):
            columns: Line = {"seq": number} | line
            rows.setdefault(columns.pop("event"), []).append(columns)
        self._tables = {
            name: pa.Table.from_pylist(found, schema=SCHEMAS[name]) for name, found in rows.items()
        }
        self.seqs = sorted(line["seq"] for found in rows.values() for line in found)

        self.missing_head = self.seqs[0] if self.seqs and self.info.from_start else 0

    @property
    def present(self) -> tuple[str, ...]:
        return tuple(self._tables)

    def table(self, name: str) -> pa.Table:
        return self._tables.get(name, SCHEMAS[name].empty_table())

    def columns(self, name: str, *columns: str) -> pa.Table:
        return self.table(name).select(["seq", *columns])

    def gaps(self) -> list[tuple[int, int]]:
        pairs = zip(self.seqs, self.seqs[1:], strict=False)
        return [(first + 1, second) for first, second in pairs if second > first + 1]


class Run:
    """A run written event by event, in one pool of small pages; methods are named like the events."""

    def __init__(self, page_size: int = 1, slots: int = 64, **head: Any) -> None:
        pool = {
            "name": "full",
            "kind": "full",
            "slots": slots,
            "page_size": page_size,
            "reserved_slots": page_size,
        }
        self.head: dict[str, Any] = {"pools": [pool], "settings": {"row_width": 64, "overlap": False}} | head
        self.page_size = page_size
        self.lines: list[Line] = []
        self.step = 1
        self.lengths_of: dict[int, int] = {}

    def add(self, event: str, **columns: Any) -> Line:
        self.lines.append({"event": event, "step": self.step} | columns)
        return self.lines[-1]

    def start(self, row: int, slots: list[int], request: str | None = None, epoch: int = 1) -> None:
        """A request gets a row and the slots of its prompt."""
        who = self.who(row, request, epoch)
        self.add("row_alloc", **who)
        self.grow(row, slots, start=0, request=request, epoch=epoch, reason="extend")

    def grow(
        self,
        row: int,
        slots: list[int],
        *,
        start: int | None = None,
        request: str | None = None,
        epoch: int = 1,
        reason: str = "decode",
    ) -> None:
        """Slots are granted, written into the row and counted."""
        who = self.who(row, request, epoch)
        self.add("alloc", pool="full", **who, slots=slots, reason=reason)
        self.write(row, self.lengths_of.get(row, 0) if start is None else start, slots, epoch)
        length = self.lengths_of[row]
        cause = {"spec_reserve": "spec_prepare"}.get(reason, reason)
        self.add("lengths", **who, committed=length, allocated=length, cause=cause)

    def write(self, row: int, start: int, slots: list[int], epoch: int = 1) -> None:
        self.add("table_write", row=row, epoch=epoch, start=start, slots=slots)
        self.lengths_of[row] = max(self.lengths_of.get(row, 0) if start else 0, start + len(slots))

    def free(self, slots: list[int], row: int | None = None, reason: str = "finish", **columns: Any) -> None:
        who = {} if row is None else self.who(row, columns.pop("request", None), columns.pop("epoch", 1))
        self.add("free", pool="full", **who, slots=slots, reason=reason, **columns)

    def group(self, action: str, number: int = 1) -> None:
        self.add("free_group", action=action, group=number)

    def cache(self, action: str, slots: list[int] | None, start: int = 0, request: str | None = None) -> None:
        self.add("cache", action=action, slots=slots, start=start, request=request, pool="full")

    def release(self, row: int, committed: int, allocated: int, kind: str = "finish", **columns: Any) -> None:
        boundary = -(-columns.get("target", committed) // self.page_size) * self.page_size
        who = self.who(row, columns.pop("request", None), columns.pop("epoch", 1))
        line = {"free_start": boundary, "page_size": self.page_size} | columns
        self.add("release", **who, kind=kind, committed=committed, allocated=allocated, **line)

    def end(self, row: int, slots: list[int], epoch: int = 1) -> None:
        """A request ends and gives back these slots."""
        length = self.lengths_of.pop(row, 0)
        self.release(row, length, length, epoch=epoch)
        if slots:
            self.free(slots, row, epoch=epoch)
        self.add("row_free", **self.who(row, None, epoch))

    def forward(
        self, row: int, position: int, slots: list[int], mode: str = "decode", **columns: Any
    ) -> None:
        who = self.who(row, columns.pop("request", None), columns.pop("epoch", 1))
        line: Line = {"mode": mode, "pool": "full", "start": position, "slots": slots, "padded": False} | who
        self.add("forward", **(line | {"read_len": position + len(slots)} | columns))

    def quiet(self, **figures: int) -> None:
        """A settled point; the next step begins."""
        self.add("pool_stat", pool="full", **figures)
        self.step += 1

    @staticmethod
    def who(row: int, request: str | None, epoch: int) -> Line:
        return {"request": request or f"r{row}", "row": row, "epoch": epoch}

    def stream(self) -> Stream:
        return Stream(self.lines, **self.head)

    def fold(self, until_seq: int | None = None) -> Ledger:
        return Ledger.fold(cast(ProcessRecording, self.stream()), until_seq)

    def check(self, *only: str) -> CheckResult:
        recording = SimpleNamespace(processes=(self.stream(),), manifest={"format_version": 1})
        raised: list[str] = []
        result = check(
            cast(Recording, recording), only=only, on_error=lambda rule, e: raised.append(f"{rule}: {e!r}")
        )
        assert not raised, raised
        return result

    def only_finding(self, rule: str) -> Finding:
        """What the rule finds, which is one thing."""
        result = self.check(rule)
        assert len(result.findings) == 1, result
        return result.findings[0]


def span(first: int, end: int) -> list[int]:
    """Slots `[first, end)`."""
    return list(range(first, end))


def rules_of(result: CheckResult) -> set[str]:
    """Ids of the rules with findings."""
    return {finding.rule for finding in result.findings}
