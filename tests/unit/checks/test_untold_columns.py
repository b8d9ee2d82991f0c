"""Each rule's own recordings without one of the columns that the rule reads: what rests on it is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from benchmarks.mutation.bases import Base, in_memory, numbered, stored
from speckv_debug.checks import RULES
from speckv_debug.checks.run import check
from speckv_debug.model.finding import Severity
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.view import ProcessView

Lines = Sequence[Mapping[str, Any]]
MEANING = {("lengths", "cut"), ("state_clear", "width")}
"""Columns in which absence says something, and a law rests on what it says."""
OF_NUMBERS = ("TRC-GAP",)
"""Rules that look at the numbers of the events alone."""
NOT_YET = ("LOC-GROUP", "MOV-ALLPOOLS", "OWN-MAP", "OWN-REF", "ST-DRAFT", "ST-RING", "ST-SWA")
"""Rules of state beside KV that take some columns for granted."""
ONE_PROCESS = {
    rule: base
    for rule in RULES
    if rule not in NOT_YET and (base := stored(f"rules/{rule}/pass.jsonl")) is not None
}


def said(rule: str, base: Base, lines: Lines) -> str:
    """`fail`, `unknown` where anything is, `pass`, or nothing where the rule has no word to say."""
    recording = in_memory(dict(base.head), [dict(line) for line in lines])
    result = check(recording, only=[rule], on_error=lambda rule, error: pytest.fail(f"{rule}: {error!r}"))
    if any(finding.severity is not Severity.NOTE for finding in result.findings):
        return "fail"
    if any(unknown.instances for unknown in result.unknown):
        return "unknown"
    return "pass" if result.checked[rule] else ""


def read_by(rule: str, base: Base) -> list[tuple[str, str]]:
    """Tables and columns of the recording that the rule reads."""
    tables: dict[int, tuple[str, Columns]] = {}
    found: set[tuple[str, str]] = set()
    look, read = ProcessView.columns, Columns._column

    def columns(view: ProcessView, table: str) -> Columns:
        looked_at = look(view, table)
        tables[id(looked_at)] = table, looked_at
        return looked_at

    def column(self: Columns, name: str) -> Any:
        found.update((table, name) for table, _ in (tables.get(id(self), ("", self)),))
        return read(self, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProcessView, "columns", columns)
        patch.setattr(Columns, "_column", column)
        said(rule, base, base.lines)
    told = {(line["event"], name) for line in base.lines for name in line if line[name] not in (None, [])}
    return sorted((found & told) - MEANING - {(table, "seq") for table, _ in told})


def without(base: Base, table: str, column: str) -> Iterator[Lines]:
    """The recording without the column: in no event, then in one of several."""
    which = [at for at, line in enumerate(base.lines) if line["event"] == table and column in line]
    for gone in (which, *([which[len(which) // 2]] for _ in which[1:2])):
        yield [line | {column: None} if at in gone else line for at, line in enumerate(base.lines)]


@pytest.mark.parametrize("rule", ONE_PROCESS)
def test_no_fault_is_made_of_a_column_that_is_missing(rule: str) -> None:
    base = ONE_PROCESS[rule]
    read = read_by(rule, base)
    heard = {(t, c): said(rule, base, next(without(base, t, c))) for t, c in read}
    assert read or rule in OF_NUMBERS
    assert {at: word for at, word in heard.items() if word not in ("pass", "unknown")} == {}


@pytest.mark.parametrize("rule", [rule for rule in ONE_PROCESS if rule not in OF_NUMBERS])
def test_a_fault_that_a_missing_column_hides_is_unknown(rule: str) -> None:
    base = stored(f"rules/{rule}/fail.jsonl")
    assert base is not None and said(rule, base, base.lines) == "fail"
    read = read_by(rule, base)
    heard = {(t, c): {said(rule, base, lines) for lines in without(base, t, c)} for t, c in read}
    assert read and {at: words for at, words in heard.items() if words - {"fail", "unknown"}} == {}


@pytest.mark.parametrize("rule", ONE_PROCESS)
def test_no_fault_is_made_of_a_table_that_was_not_recorded(rule: str) -> None:
    base, heard = ONE_PROCESS[rule], {}
    for table in sorted({line["event"] for line in base.lines}):
        listed = [name for name in base.head.get("tables", ()) if name.partition(":")[0] != table]
        left = numbered(line for line in base.lines if line["event"] != table)
        heard[table] = said(rule, Base(base.name, {**base.head, "tables": listed}, left), left)
    assert heard and "fail" not in heard.values()
