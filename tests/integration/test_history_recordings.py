"""`history` and `state` on every recording of the tests: complete, beside a plain search through all events, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from speckv_debug.collectors.reference.run import process_of, run
from speckv_debug.collectors.reference.workload import mixed_jobs
from speckv_debug.model.events import Event
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.recording.recorder import Recorder
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.pool_state import Use
from speckv_debug.replay.request_life import request_life, row_history
from speckv_debug.replay.slot_history import slot_history
from speckv_debug.replay.snapshots import snapshot
from speckv_debug.replay.timeline import Timeline
from tests.reference_configs import some_config

RECORDINGS = Path(__file__).parents[1] / "recordings"
SMALL = sorted(
    str(path.relative_to(RECORDINGS))
    for kind in ("rules/*", "cases")
    for path in RECORDINGS.glob(f"{kind}/*.jsonl")
)
REAL = ("real/eagle_k4_p1.jsonl.xz", "real/eagle_k4_p64_sync.jsonl.xz")
CONFLICTS = (
    "ALIAS",
    "slot-of-another",
    "recycled",
    "overwritten",
    "takeover",
    "late-result",
    "UAF",
    "PUBLISH",
    "RACE",
)
"""Recordings, by a part of their name, in which two requests may hold a page."""


def opened(name: str, tmp_path: Path) -> tuple[ProcessRecording, ...]:
    import_jsonl(RECORDINGS / name, tmp_path / "x.speckv")
    return Recording.open(tmp_path / "x.speckv").processes


def named(event: Event, spaces: Namespaces, number: int) -> set[int]:
    """Ids of one allocator that an event names, by hand."""
    main, kind = number == spaces.main, spaces.all[number].kind
    if event.table == "swa_map":
        names = ["full_slots"] if main else ["swa_slots"] if kind == "swa" else []
    elif event.table == "accept":
        names = ["out_cache_loc", "table_slots"] if main else []
    elif spaces.index(getattr(event, "pool", None)) == number:
        names = ["slots", "src", "tgt", *([] if main or kind == "swa" else ["pages"])]
    else:
        names = []
    return {slot for name in names for slot in getattr(event, name, None) or ()}


@pytest.mark.parametrize("name", [*SMALL, *REAL])
def test_a_slot_has_all_its_events(name: str, tmp_path: Path) -> None:
    for process in opened(name, tmp_path):
        spaces, events = Namespaces(process.info), list(process.events())
        for number, space in enumerate(spaces.all):
            found: dict[int, list[int]] = {}
            for event in events:
                for slot in named(event, spaces, number):
                    found.setdefault(slot, []).append(event.seq)
            kept = [s for s in sorted(found) if space.reserved <= s < space.bound]
            known = [each.name for each in process.info.pools]
            for slot in kept[:: max(1, len(kept) // 12)]:
                history = slot_history(process, slot=slot, pool=space.name if space.name in known else None)
                own = [event.seq for event in history.events if slot in event.slots]
                assert own == found[slot], (space.name, slot)


@pytest.mark.parametrize("name", [*SMALL, *REAL])
def test_every_row_and_request_has_a_life(name: str, tmp_path: Path) -> None:
    for process in opened(name, tmp_path):
        events = list(process.events())
        for row in {
            r for e in events if (r := getattr(e, "row", None)) is not None and e.table != "page_ref"
        }:
            history = row_history(process, row)
            epochs = {e.epoch for e in events if getattr(e, "row", None) == row and hasattr(e, "epoch")}
            assert {each.epoch for each in history.epochs} == epochs
        for request in {r for e in events if (r := getattr(e, "request", None)) is not None}:
            own = {e.seq for e in events if getattr(e, "request", None) == request}
            assert own <= {event.seq for event in request_life(process, request).events}


@pytest.mark.parametrize("name", SMALL)
def test_a_state_at_every_event(name: str, tmp_path: Path) -> None:
    for process in opened(name, tmp_path):
        timeline = Timeline(process)
        for seq in [event.seq for event in process.events()][::-1]:
            for pool in snapshot(process, seq, ledger=timeline.at(seq)).pools:
                assert sum(pool.counts.values()) == len(pool.use) == len(pool.holder)
                if not any(part in name for part in CONFLICTS):
                    assert not pool.counts[Use.CONFLICT], (seq, pool.pages(Use.CONFLICT))


def test_the_same_answer_from_tables_in_memory(tmp_path: Path) -> None:
    (process,) = opened(REAL[1], tmp_path)
    asked = [slot_history(process, page=page) for page in (3, 40)], request_life(process, "a1.0")
    for table in process.present:
        process.table(table)
    again = [slot_history(process, page=page) for page in (3, 40)], request_life(process, "a1.0")
    assert asked == again and len(asked[0][0].events) > 10
    assert np.all(np.diff([event.seq for event in again[1].events]) > 0)


@pytest.mark.parametrize("seed", range(6))
def test_pools_agree_with_the_bundled_engine_at_every_quiet_point(seed: int, tmp_path: Path) -> None:
    config = some_config(seed)
    recorder = Recorder(tmp_path / "x.speckv", process_of(config))
    run(config, mixed_jobs(seed), recorder)
    recorder.close()
    (process,) = Recording.open(tmp_path / "x.speckv").processes
    timeline, stats = Timeline(process), Columns(process.table("pool_stat"))
    assert len(stats) > 10
    for index in range(len(stats)):
        found = snapshot(process, seq := stats.int_at("seq", index) or 0, ledger=timeline.at(seq))
        (pool,), account = found.pools, found.accounts["full"]
        slots = {use: pages * pool.page_size for use, pages in pool.counts.items()}
        assert account.seq == seq
        assert slots[Use.FREE] == account.available
        assert (slots[Use.EVICTABLE], slots[Use.LOCKED]) == (account.evictable, account.protected)
        assert slots[Use.SESSION] == account.session
        assert not slots[Use.CONFLICT] and not slots[Use.UNHELD] and not slots[Use.UNKNOWN]
