"""The ledger's state at chosen points of small runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.replay.holders import free_pages, holders_of, row_slots
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_book import HELD
from tests.ledgers import Run, span

REAL = Path(__file__).parents[2] / "recordings" / "real"


def pages(run: Run, until_seq: int | None = None) -> list[int]:
    return free_pages(run.fold(until_seq)).tolist()


def test_holders_of_a_page_over_its_life() -> None:
    run = Run(4)
    run.start(1, span(8, 14))
    written = len(run.lines) - 1
    run.cache("insert", span(8, 12), request="r1")
    run.cache("lock", span(8, 12), request="r1")
    locked = len(run.lines) - 1
    run.end(1, span(12, 14))
    ended = len(run.lines) - 1
    run.cache("evict", span(8, 12))
    run.free(span(8, 12), reason="evict")

    first = holders_of(run.fold(written), None, 2)
    assert (first.free, first.owner, first.tree, len(first.rows)) == (False, "r1", False, 1)
    assert (first.rows[0].row, first.rows[0].start, first.rows[0].end) == (1, 0, 4)
    in_tree = holders_of(run.fold(locked), "full", 2)
    assert in_tree.tree and in_tree.locked
    left = holders_of(run.fold(ended), "full", 2)
    assert (left.free, left.tree, left.rows) == (False, True, ())
    assert holders_of(run.fold(), "full", 2).free is True
    assert holders_of(run.fold(), "full", 99).free is True
    assert row_slots(run.fold(written), 1).tolist() == span(8, 14)
    assert row_slots(run.fold(), 7).tolist() == []


def test_a_group_takes_effect_at_its_end() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.group("begin", 5)
    run.end(1, span(8, 16))
    inside = len(run.lines) - 1
    run.group("end", 5)
    waiting = holders_of(run.fold(inside), None, 3)
    assert (waiting.free, waiting.pending) == (False, 5)
    assert holders_of(run.fold(), None, 3).free is True


def test_a_free_returns_whole_pages() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.end(1, [9, 13])
    assert {2, 3} <= set(pages(run))


def test_sessions_and_transfers_hold() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.cache("session_save", span(8, 12), request="r1")
    run.add("transfer", action="begin", request="r1", pool="full", slots=span(12, 16))
    ledger = run.fold()
    assert holders_of(ledger, None, 2).session == "r1"
    assert holders_of(ledger, None, 3).in_flight


def test_entries_behind_the_allocated_length_are_stale() -> None:
    run = Run(1)
    run.start(1, span(10, 16))
    run.add("lengths", **run.who(1, None, 1), committed=3, allocated=4, cause="session_trim")
    assert row_slots(run.fold(), 1).tolist() == span(10, 14)
    assert holders_of(run.fold(), None, 15).rows == ()


def test_a_chunk_keeps_the_life_of_its_row() -> None:
    run = Run(1)
    run.start(1, span(10, 13))
    run.add("row_alloc", **run.who(1, None, 1))
    run.grow(1, [13, 14], reason="extend")
    assert len(run.fold().tenures) == 1
    assert row_slots(run.fold(), 1).tolist() == span(10, 15)


def test_rows_without_an_epoch_live_from_allocation_to_allocation() -> None:
    run = Run(1)
    for slots in (span(10, 13), span(20, 23)):
        run.start(1, slots)
        run.end(1, slots)
    for line in run.lines:
        line.pop("epoch", None)
    run.quiet()
    ledger = run.fold()
    assert [t.epoch for t in ledger.tenures] == [1, 2]
    assert not run.check("OWN-DFREE", "OWN-LEAK", "OWN-ALIAS").findings


def test_a_late_start_knows_what_it_has_seen() -> None:
    run = Run(4, from_start=False)
    run.free(span(8, 12), reason="evict")
    run.start(1, span(12, 16))
    ledger = run.fold()
    assert [holders_of(ledger, None, page).free for page in (2, 3, 4)] == [True, False, None]


def test_an_engine_that_counts_everything_as_available_holds_nothing() -> None:
    run = Run(4, slots=16, from_start=False)
    run.start(1, span(4, 8))
    run.end(1, span(4, 8))
    run.cache("match", span(8, 20), request="old")
    run.add("pool_stat", pool="full", available=12, total=16)
    assert [holders_of(run.fold(), None, page).free for page in (0, 1, 2, 3)] == [None, True, None, None]
    run.add("pool_stat", pool="full", available=16, total=16)
    assert [holders_of(run.fold(), None, page).free for page in (0, 1, 2, 3)] == [None, True, True, True]


def test_a_hole_forgets() -> None:
    run = Run(4)
    run.start(1, span(8, 12))
    run.add("note", seq=20, text="after a hole")
    run.lines[-1]["event"] = "pool_stat"
    del run.lines[-1]["text"]
    ledger = run.fold()
    assert holders_of(ledger, None, 2).free is None and row_slots(ledger, 1).tolist() == []


@pytest.mark.parametrize("until", [0, 3, 7, 11])
def test_the_state_at_an_event_is_that_of_the_events_up_to_it(until: int) -> None:
    run = Run(4)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    run.start(2, span(20, 24))
    run.end(1, span(16, 18))
    short = Run(4)
    short.lines = run.lines[: until + 1]
    one, other = run.fold(until), short.fold()
    for name in ("state", "owner", "tree", "refs"):
        mine, theirs = getattr(one.main, name), getattr(other.main, name)
        assert np.array_equal(mine[: len(theirs)], theirs)
        assert (name == "owner") or not mine[len(theirs) :].any() or name == "state"


def test_the_fold_is_the_same_twice() -> None:
    run = Run(4)
    run.start(1, span(8, 18))
    run.end(1, span(8, 16))
    run.quiet()
    first, second = run.fold(), run.fold()
    assert first.facts.codes == second.facts.codes
    assert [e.pages for e in first.facts.ends] == [e.pages for e in second.facts.ends] == [(4,)]


@pytest.mark.parametrize("name", ["eagle_k1_p64", "eagle_k4_p1", "eagle_k4_p64_sync", "none_p64"])
def test_the_free_list_of_a_real_run_is_as_long_as_the_engine_says(name: str, tmp_path: Path) -> None:
    """At settled points the engine's own counts of free slots and of slots in the tree are the ledger's."""
    import_jsonl(REAL / f"{name}.jsonl.xz", tmp_path / "x.speckv")
    (process,) = Recording.open(tmp_path / "x.speckv").processes
    stats = process.table("pool_stat").to_pylist()
    pool = process.info.pools[0]
    assert pool.slots and pool.page_size
    for stat in stats[:: len(stats) // 5]:
        ledger = Ledger.fold(process, stat["seq"])
        held, tree = int((ledger.main.state == HELD).sum()), int(ledger.main.tree.sum())
        assert pool.slots - held * pool.page_size == stat["available"], stat
        assert tree * pool.page_size == stat["evictable"] + stat["protected"], stat
