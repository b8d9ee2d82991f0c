"""The compiled fold does what the handlers one event at a time do, and what a ledger of dictionaries does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.replay import ledger as module
from speckv_debug.replay.holders import row_slots
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_book import HELD, PageBook
from speckv_debug.replay.ledger_tenure import Tenure
from tests.ledgers import Run
from tests.page_model import PageModel
from tests.unit.replay.test_ledger_properties import PAGE_SIZES, SEEDS, SmallEngine

REAL = Path(__file__).parents[2] / "recordings" / "real"
REASONS = ("reject", "overshoot", "rollback", "evict", "swa_window", "duplicate_prefix")


@contextmanager
def compiled_from(events: int) -> Iterator[None]:
    usual, module.COMPILED_FROM = module.COMPILED_FROM, events
    try:
        yield
    finally:
        module.COMPILED_FROM = usual


def both(fold: Any) -> tuple[Ledger, Ledger]:
    """The ledger by compiled code, and by handlers alone."""
    with compiled_from(0):
        first = fold()
    with compiled_from(1 << 60):
        return first, fold()


def state(ledger: Ledger) -> dict[str, Any]:
    """All that a ledger knows, as plain values."""
    books = [
        {
            name: value.tolist()
            for name in PageBook.__slots__
            if isinstance(value := getattr(book, name), np.ndarray)
        }
        for book in ledger.books
    ]
    return {
        "books": books,
        "facts": ledger.facts,
        "totals": (ledger.totals.whole, ledger.totals.lost, ledger.totals.counted.tolist()),
        "lives": [life(tenure) for tenure in ledger.tenures],
        "rows": {row: tenure.id for row, tenure in ledger.rows.items()},
        "now": (ledger.seq, ledger.why, ledger.latest_use, ledger.groups.waiting),
    }


def life(tenure: Tenure) -> tuple[Any, ...]:
    names = (
        "row",
        "epoch",
        "request",
        "alive",
        "saved",
        "complete",
        "committed",
        "allocated",
        "tail",
        "trim_to",
        "stale",
    )
    slots = tenure.slots[: tenure.extent].tolist()
    return (*(getattr(tenure, name) for name in names), slots, tenure.entries.tolist())


def disturb(run: Run, draw: random.Random) -> None:
    """Lose, repeat, exchange or change some events."""
    for _ in range(draw.choice((0, 1, 2, 4))):
        at, other = (draw.randrange(len(run.lines)) for _ in range(2))
        line = run.lines[at]
        match draw.randrange(6):
            case 0:
                del run.lines[at]
            case 1:
                run.lines.insert(at, dict(line))
            case 2:
                run.lines[at], run.lines[other] = run.lines[other], line
            case 3 if line.get("slots"):
                run.lines[at] = line | {
                    "slots": [*line["slots"][:-1], draw.randrange(-3, 30 * run.page_size)]
                }
            case 4 if "row" in line:
                run.lines[at] = line | {draw.choice(("row", "epoch")): draw.randrange(1, 6)}
            case 5 if line["event"] in ("alloc", "free"):
                run.lines[at] = line | {"reason": draw.choice(REASONS)}


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, page_size=PAGE_SIZES)
def test_a_disturbed_run_leaves_the_same_state_and_facts(seed: int, page_size: int) -> None:
    run, draw = SmallEngine(seed, page_size).play(40).run, random.Random(seed)
    disturb(run, draw)
    for number, line in enumerate(run.lines):
        line["seq"] = number
    if draw.random() < 0.2:
        del run.lines[draw.randrange(len(run.lines))]
    until = draw.choice((None, draw.randrange(len(run.lines))))
    first, second = both(lambda: run.fold(until))
    assert state(first) == state(second)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, page_size=PAGE_SIZES, part=st.floats(0, 1))
def test_a_sound_run_leaves_what_dictionaries_hold(seed: int, page_size: int, part: float) -> None:
    run = SmallEngine(seed, page_size).play(60).run
    until = int(part * (len(run.lines) - 1))
    model = PageModel(page_size, run.lines[: until + 1])
    with compiled_from(0):
        ledger = run.fold(until)
    assert set(np.flatnonzero(ledger.main.state == HELD).tolist()) == model.held
    for tenure in ledger.running():
        named = model.rows[tenure.row]
        assert row_slots(ledger, tenure.row).tolist() == [named[position] for position in sorted(named)]


@pytest.mark.parametrize(
    "path", sorted(REAL.glob("*.jsonl.xz"))[::3], ids=lambda path: path.name.partition(".")[0]
)
def test_a_real_run_leaves_the_same_state_and_facts(path: Path, tmp_path: Path) -> None:
    import_jsonl(path, tmp_path / "x.speckv")
    for process in Recording.open(tmp_path / "x.speckv").processes:
        first, second = both(lambda process=process: Ledger.fold(process))
        assert state(first) == state(second)
