"""docs/format.md lists the columns that a recording has, and the words that the recordings of the tests use."""

import json
import re
from pathlib import Path

import pytest

from speckv_debug.recording.schema import COLUMNS, COMMON

ROOT = Path(__file__).parents[3]
EVERY = "Every table"
WORDS = {
    ("accept", "sampling"),
    ("accept", "layout"),
    ("forward", "mode"),
    ("lengths", "cause"),
    ("cache", "action"),
}
ROW = re.compile(r"^\| `(\w+)` \| (\S+) \| (.+) \|$")
PAGE = {
    section.split("\n", 1)[0]: [row.groups() for line in section.split("\n") if (row := ROW.match(line))]
    for section in (ROOT / "docs" / "format.md").read_text().split("\n## ")[1:]
}


def test_each_table_has_its_columns_and_types() -> None:
    expected = {EVERY: COMMON} | COLUMNS
    told = {name: [(column, type_) for column, type_, _ in rows] for name, rows in PAGE.items()}
    assert told == {
        name: [(column, re.sub(r"<\w+: ", "<", str(type_))) for column, type_ in columns.items()]
        for name, columns in expected.items()
    }


@pytest.mark.parametrize(("table", "column"), sorted(WORDS))
def test_words_of_recordings_are_listed(table: str, column: str) -> None:
    (meaning,) = (meaning for name, _, meaning in PAGE[table] if name == column)
    listed, used = set(re.findall(r"`(\w+)`", meaning)), set()
    for path in (ROOT / "tests" / "recordings" / "cases").glob("*.jsonl"):
        events = [json.loads(line) for line in path.read_text().splitlines()]
        used |= {e[column] for e in events if e["event"] == table and e.get(column) is not None}
    assert used and used <= listed
