"""Who owned the pages over time: every number is the ledger's own, and what is left out between two points is said."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.page_blocks import HELD, SEVERAL, block_holders, block_uses
from speckv_debug.replay.page_map import page_map
from speckv_debug.replay.pool_series import HOLDING, PoolSeries, pool_series
from speckv_debug.replay.pool_state import Use, pool_state
from speckv_debug.replay.timeline import Timeline
from tests.reported import PROCESS, recording

REAL = Path(__file__).parents[2] / "recordings" / "real"


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> ProcessRecording:
    out = tmp_path_factory.mktemp("real") / "x.speckv"
    import_jsonl(REAL / "eagle_k4_p64_sync.jsonl.xz", out)
    return Recording.open(out).processes[0]


@pytest.fixture(scope="module")
def every_step(process: ProcessRecording) -> PoolSeries:
    return pool_series(Timeline(process), points=10_000)[0]


def test_a_short_run_is_looked_at_after_every_step(process: ProcessRecording, every_step: PoolSeries) -> None:
    timeline = Timeline(process)
    assert every_step.span == 1 and (every_step.looked == 1).all() and len(every_step.x) > 20
    assert (np.diff(every_step.x) > 0).all() and (np.diff(every_step.seq) > 0).all()
    for at, seq in enumerate(every_step.seq.tolist()):
        ledger = timeline.at(seq)
        use = pool_state(ledger, ledger.namespaces.main).use
        assert every_step.last[:, at].tolist() == np.bincount(use, minlength=len(Use)).tolist()
        assert every_step.blocks[at].tolist() == block_uses(use, every_step.block).tolist()
        found = page_map(ledger, pool_state(ledger, ledger.namespaces.main), seq)
        for place, number in enumerate(every_step.holders[at].tolist() if every_step.block == 1 else ()):
            holder = found.holder_of(found.first + place)
            due = None if holder is None or found.use[place] not in HELD else f"request {holder.request}"
            assert (None if number < 0 else every_step.names[number]) == due
    assert (every_step.low == every_step.last).all() and (every_step.high == every_step.last).all()


@pytest.mark.parametrize("points", [1, 3, 7])
def test_a_span_keeps_its_end_and_the_extremes_of_the_free_list(
    process: ProcessRecording, every_step: PoolSeries, points: int
) -> None:
    series = pool_series(Timeline(process), points)[0]
    assert 1 <= len(series.x) <= points and series.span > 1
    assert (series.low <= series.last).all() and (series.last <= series.high).all()
    assert (series.last.sum(axis=0) == series.pages).all()
    for at, first in enumerate(series.x.tolist()):
        inside = (every_step.x >= first) & (every_step.x < first + series.span)
        free = every_step.last[Use.FREE, inside]
        assert (series.low[Use.FREE, at], series.high[Use.FREE, at]) == (free.min(), free.max())
        assert series.last[:, at].tolist() == every_step.last[:, np.flatnonzero(inside)[-1]].tolist()
        assert series.seq[at] == every_step.seq[np.flatnonzero(inside)[-1]]


def conflicting(folder: Path) -> ProcessRecording:
    """Forty steps; two running requests name page 2 at step 17 alone, when no page is granted or freed."""
    pool = {"pool": "full", "page_size": 4, "slots": 64}
    events: list[dict[str, object]] = []
    for row, request in enumerate(("a", "b")):
        own = {"step": 1, "request": request, "row": row, "epoch": 1}
        events += [{"event": "row_alloc", **own}]
        slots = [8 + 4 * row + k for k in range(4)]
        events += [
            {"event": "alloc", "pool": "full", "reason": "extend", "granted": True, "slots": slots, **own}
        ]
        events += [{"event": "table_write", "start": 0, "slots": slots, **own}]
    other = {"event": "table_write", "start": 0, "request": "b", "row": 1, "epoch": 1}
    for step in range(2, 40):
        events += [{"event": "note", "step": step, "text": "idle"}]
        if step in (17, 18):
            events += [other | {"step": step, "slots": [8 if step == 17 else 12]}]
        events += [other | {"step": step, "start": 1, "slots": [13]}]
    pools = [{"name": "full", "kind": "full", "slots": pool["slots"], "page_size": 4}]
    tables = ["alloc", "free", *HOLDING]
    return recording(folder, events, {**PROCESS, "pools": pools, "tables": tables}).processes[0]


def test_a_span_keeps_a_conflict_that_is_over_where_it_ends(tmp_path: Path) -> None:
    process = conflicting(tmp_path)
    series = pool_series(Timeline(process), points=4, steps=(17,))[0]
    page, at = 2 - series.first, int(np.searchsorted(series.x, 17, side="right")) - 1
    assert series.block == 1 and series.span == 10
    assert series.blocks[:, page].tolist() == [
        Use.CONFLICT if n == at else series.blocks[0, page] for n in range(4)
    ]
    assert series.last[Use.CONFLICT].sum() == 0 and series.high[Use.CONFLICT, at] == 1
    passed = pool_series(Timeline(process), points=4)[0]
    assert Use.CONFLICT not in passed.blocks, "nothing said to look there"


def test_without_steps_events_take_their_place(
    process: ProcessRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "speckv_debug.replay.looking_points.newest_steps",
        lambda timeline: np.full(len(timeline.order.seq), np.iinfo(np.int64).min),
    )
    series = pool_series(Timeline(process), points=5)[0]
    assert series.axis == "seq" and len(series.x) <= 5 and (series.last.sum(axis=0) == series.pages).all()


@pytest.mark.parametrize("recorded", [True, False])
def test_a_page_whose_holders_are_not_followed_is_never_called_nobodys(
    recorded: bool, tmp_path: Path
) -> None:
    pools = [{"name": name, "kind": name, "slots": 16, "page_size": 4} for name in ("full", "swa")]
    tables = ["alloc", "free", *(HOLDING if recorded else HOLDING[:-1])]
    grant = {"event": "alloc", "step": 1, "reason": "extend", "granted": True}
    events = [grant | {"pool": pool, "slots": [8, 9, 10, 11]} for pool in ("full", "swa")]
    process = recording(tmp_path, events, {**PROCESS, "pools": pools, "tables": tables}).processes[0]
    full, swa = pool_series(Timeline(process))
    assert (full.followed, swa.followed) == (recorded, False)
    assert full.last[Use.UNHELD, -1] == recorded and full.last[Use.GRANTED, -1] == (not recorded)
    assert swa.last[Use.GRANTED, -1] == 1 and not swa.high[Use.UNHELD].any()


def test_a_run_that_moves_no_page_has_no_series() -> None:
    empty = np.empty(0, dtype=np.int64)
    order = SimpleNamespace(seq=empty, table=empty, row=empty)
    assert pool_series(cast(Timeline, SimpleNamespace(order=order, events=None))) == ()


@pytest.mark.parametrize(
    ("uses", "shown"),
    [
        ([Use.FREE, Use.FREE, Use.TREE], Use.FREE),
        ([Use.FREE, Use.TREE], Use.TREE),
        ([Use.FREE, Use.FREE, Use.CONFLICT], Use.CONFLICT),
        ([Use.WAITING, Use.TRANSFER, Use.FREE], Use.TRANSFER),
    ],
)
def test_a_block_shows_what_most_pages_are_but_never_hides_a_conflict(uses: list[Use], shown: Use) -> None:
    pages = np.array([*uses, *[Use.SESSION] * len(uses)], dtype=np.int8)
    assert block_uses(pages, len(uses)).tolist() == [shown, Use.SESSION]
    assert block_uses(pages, 1).tolist() == pages.tolist()


def test_a_block_names_the_one_request_that_holds_its_pages_and_no_other() -> None:
    use = np.array(
        [Use.COMMITTED, Use.COMMITTED, Use.FREE, Use.FREE, Use.COMMITTED, Use.RESERVE], dtype=np.int8
    )
    holder = np.array([4, 4, 9, 9, 4, 5], dtype=np.int32)
    shown = block_uses(use, 2)
    assert block_holders(use, holder, shown, 2).tolist() == [4, -1, 4]
    holder[1] = 7
    assert block_holders(use, holder, shown, 2).tolist()[0] == SEVERAL
    holder[:2] = -1
    assert block_holders(use, holder, shown, 2).tolist()[0] == -1
