"""Real runs with pieces missing: the loss is named, and nothing that it may explain is called an error."""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.slot_ranges import expand
from tests.ledgers import Line, Stream, rules_of

REAL = Path(__file__).parents[1] / "recordings" / "real"
NAMES = ("eagle_k4_p1", "eagle_k4_p64_sync", "ngram_b4_p1", "standalone_noisy_k4_p64")
LISTED = ("alloc", "free", "table_write", "cache", "row_free", "lengths", "release", "free_group")


def read(name: str) -> tuple[dict[str, Any], list[Line]]:
    with lzma.open(REAL / f"{name}.jsonl.xz", "rt") as text:
        head, *lines = map(json.loads, text)
    for seq, line in enumerate(lines):
        line["seq"] = seq
        for column in ("slots", "out_cache_loc", "table_slots", "src", "tgt"):
            if line.get(column):
                line[column] = expand(line[column]).tolist()
    del head["event"]
    return head, lines


def judged(head: dict[str, Any], lines: list[Line]) -> CheckResult:
    recording = SimpleNamespace(processes=(Stream(lines, **head),), manifest={})
    return check(cast(Recording, recording), on_error=lambda rule, error: pytest.fail(f"{rule}: {error!r}"))


@pytest.mark.parametrize("name", NAMES)
def test_attached_to_a_running_engine(name: str) -> None:
    head, lines = read(name)
    late = lines[random.Random(name).randrange(200, len(lines) - 200) :]
    result = judged(head | {"from_start": False}, late)
    assert not result.findings
    assert result.checked["OWN-DFREE"] > 0 and result.checked["LEN-COMMIT"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_holes(name: str) -> None:
    head, lines = read(name)
    draw = random.Random(name)
    for start in draw.sample(range(len(lines)), 5):
        del lines[start : start + draw.randint(1, 40)]
    assert rules_of(judged(head, lines)) == {"TRC-GAP"}


@pytest.mark.parametrize("table", LISTED)
def test_rows_that_the_recorder_dropped(table: str) -> None:
    head, lines = read("eagle_k4_p1")
    victims = [line["seq"] for line in lines if line["event"] == table]
    victim = random.Random(table).choice(victims)
    lines[victim] = {"event": "drop", "seq": victim, "step": lines[victim]["step"], "table": table, "rows": 1}
    assert not judged(head, lines).findings


@pytest.mark.parametrize(
    ("table", "odd"),
    [
        *((table, {"pool": "odd"}) for table in ("alloc", "free", "move", "forward", "cache", "lengths")),
        *((table, {"epoch": -3}) for table in ("accept", "table_write", "reserve", "lengths", "row_alloc")),
        *((table, {"row": -3}) for table in ("release", "row_free")),
        *((table, {"step": -3}) for table in ("compact", "pool_stat", "forward")),
        ("forward", {"mode": "odd"}),
        ("lengths", {"cause": "odd"}),
        ("cache", {"action": "odd"}),
        ("release", {"kind": "odd"}),
        ("accept", {"layout": "odd"}),
    ],
    ids=str,
)
def test_an_event_in_which_something_means_nothing(table: str, odd: dict[str, Any]) -> None:
    """It counts as dropped where it stands: nothing is called an error for it, and nearly all else is judged."""
    head, lines = read("eagle_k4_p64_sync")
    random.Random(f"{table} {odd}").choice([line for line in lines if line["event"] == table]).update(odd)
    result = judged(head, lines)
    assert not result.findings
    assert any(each.why.startswith(f"events of {table} ") for each in result.unknown)
    assert sum(result.checked.values()) > 15_000  # of 19,545 without it


@pytest.mark.parametrize("table", LISTED)
def test_a_table_that_was_recorded_in_part(table: str) -> None:
    head, lines = read("eagle_k4_p64_sync")
    draw = random.Random(table)
    kept = [line for line in lines if line["event"] != table or draw.random() < 0.3]
    listed = [name for name in head["tables"] if name != table]
    assert not judged(
        head | {"tables": listed}, [line | {"seq": seq} for seq, line in enumerate(kept)]
    ).findings
