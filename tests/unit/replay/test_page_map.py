"""Maps of a pool: who has a page and how, at any seq, and many pages gathered to a cell."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from speckv_debug.errors import UsageError
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay import page_map as page_map_module
from speckv_debug.replay.page_map import Holder, PageMap, PageMaps, cells, page_map
from speckv_debug.replay.pool_state import Use, pool_states
from speckv_debug.replay.timeline import ledger_at
from tests.ledgers import Run, span

REAL = Path(__file__).parents[2] / "recordings" / "real" / "eagle_k4_p64_sync.jsonl.xz"


def mapped(run: Run) -> PageMap:
    ledger = run.fold()
    return page_map(ledger, pool_states(ledger)[0], ledger.seq)


def two_requests() -> Run:
    run = Run(page_size=4, slots=32)
    run.start(1, span(4, 16))
    run.start(2, span(20, 28))
    return run


def test_each_page_names_the_life_that_holds_it() -> None:
    found = mapped(two_requests())
    assert found.holders == (Holder("r1", 1, 1), Holder("r2", 2, 1))
    assert [found.holder_of(page) for page in (1, 4, 5)] == [Holder("r1", 1, 1), None, Holder("r2", 2, 1)]
    assert (found.first, len(found), found.counts[Use.FREE]) == (1, 8, 3)


def test_a_map_does_not_change_when_the_ledger_goes_on(process: ProcessRecording) -> None:
    maps = PageMaps(process)
    last = maps.timeline.last_seq
    early = maps.at(last // 3)
    copied = early.use.copy(), early.holder.copy()
    maps.at(last)
    assert np.array_equal(early.use, copied[0]) and np.array_equal(early.holder, copied[1])


@pytest.fixture
def process(tmp_path: Path) -> ProcessRecording:
    import_jsonl(REAL, tmp_path / "x.speckv")
    return Recording.open(tmp_path / "x.speckv").processes[0]


def test_at_random_events_it_says_what_a_fresh_ledger_says(process: ProcessRecording) -> None:
    maps, draw = PageMaps(process), random.Random(3)
    for seq in (draw.randrange(maps.timeline.last_seq) for _ in range(8)):
        found, ledger = maps.at(seq), ledger_at(process, seq)
        state = pool_states(ledger)[0]
        assert np.array_equal(found.use, state.use)
        lives = [ledger.tenures[number] if number >= 0 else None for number in state.holder.tolist()]
        for at in range(0, len(found), 7):
            holder, life = found.holder_of(found.first + at), lives[at]
            assert holder == (life and Holder(life.request, life.row, life.epoch))


def test_holders_of_one_page_agree_with_its_map(process: ProcessRecording) -> None:
    maps = PageMaps(process)
    found = next(each for seq in range(200, 2000) if (each := maps.at(seq)).counts[Use.COMMITTED])
    page = found.first + int(np.flatnonzero(found.use == Use.COMMITTED)[0])
    holders = maps.holders(found.seq, page)
    assert holders.free is False and [row.request for row in holders.rows]


def test_no_page_is_held_by_nobody_where_holders_were_not_recorded(
    process: ProcessRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    maps = PageMaps(process)
    unheld = next(seq for seq in range(200, 4000) if maps.at(seq).counts[Use.UNHELD])
    before = maps.at(unheld).counts
    monkeypatch.setattr(page_map_module, "follows_holders", lambda process, pool: False)
    after = maps.at(unheld).counts
    assert (after[Use.UNHELD], after[Use.GRANTED]) == (0, before[Use.GRANTED] + before[Use.UNHELD])


def test_a_pool_that_is_not_there_is_named(process: ProcessRecording) -> None:
    with pytest.raises(UsageError, match="there is no pool other"):
        PageMaps(process).at(0, "other")


def test_a_cell_of_many_pages_shows_what_most_of_them_are() -> None:
    found = mapped(two_requests())
    gathered = cells(found, 4)
    assert gathered.use.tolist() == [Use.COMMITTED, Use.COMMITTED]
    assert gathered.mixed.tolist() == [True, True]
    assert [found.holders[at].request for at in gathered.holder.tolist()] == ["r1", "r2"]


def test_one_page_in_conflict_is_seen_in_any_cell() -> None:
    run = two_requests()
    run.write(2, 8, span(4, 8))
    gathered = cells(mapped(run), 8)
    assert gathered.use.tolist() == [Use.CONFLICT]


def test_a_cell_of_several_holders_names_none() -> None:
    gathered = cells(mapped(two_requests()), 8)
    assert (gathered.use.tolist(), gathered.holder.tolist()) == ([Use.COMMITTED], [-1])


def test_one_page_a_cell_is_the_map_itself() -> None:
    found = mapped(two_requests())
    gathered = cells(found, 1)
    assert np.array_equal(gathered.use, found.use) and not gathered.mixed.any()
