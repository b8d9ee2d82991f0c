"""Compressor state, counted pages and what ends with a row: the article's examples, and the arithmetic of an entry."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from speckv_debug.checks.run import check
from speckv_debug.collectors.reference.compression import C4, C128, C128_RING
from speckv_debug.collectors.reference.compressor import Compressor, Recurrence
from speckv_debug.collectors.reference.config import EngineConfig, ModelShape
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.observe import EventLog, Observer
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.rings import RequestRing, StateRing
from speckv_debug.collectors.reference.run import process_of
from speckv_debug.collectors.reference.sidecar import Sidecar
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder

CONFIG = EngineConfig(
    page_size=4,
    slots=400,
    context_len=200,
    window=16,
    compressed=True,
    num_draft_tokens=6,
    shape=ModelShape(layers=4),
)


def row(number: int) -> Request:
    """A request that has a row."""
    return Request(id=f"r{number}", prompt=[], max_new_tokens=1, row=number, epoch=1)


def test_accept_len_3_keeps_the_offsets_0_to_2() -> None:
    """The root is row 0: three rows are accepted, two of them drafts."""
    log = EventLog()
    engine, request = Engine(CONFIG, log), row(2)
    states = engine.states
    assert states is not None and states.rejected(3) == range(3, 6)
    ring = states.c128.ring
    ring.memory[:] = 1.0
    states.c128.clear(request, 254, states.rejected(3), accept_len=3, width=6)
    cleared = [2 * C128_RING + position % C128_RING for position in (257, 258, 259)]
    assert torch.equal(ring.memory[cleared, : ring.half], torch.zeros(3, ring.half, dtype=torch.float64))
    assert (ring.memory[cleared, ring.half :] == -math.inf).all()
    others = torch.ones(len(ring.memory), dtype=torch.bool)
    others[cleared] = False
    assert (ring.memory[others] == 1).all()
    (event,) = log.of("state_clear")
    assert (event["ring_rows"], event["first_half"], event["second_half"]) == ([1, 2, 3], 0.0, -math.inf)


def test_a_page_with_two_holders_goes_back_with_the_last(tmp_path: Path) -> None:
    """2 references, then 1: the page stays; then 0. Told so, `check` counts along."""
    recorder = Recorder(tmp_path / "x.speckv", process_of(CONFIG))
    observer = Observer(recorder, overlap=False)
    sidecar, request = Sidecar(4, 1, 8, 4, observer), row(1)
    observer.step = 1
    sidecar.grow(request, 0, 130, "extend")
    (page,) = sidecar.pages(request, 1)
    sidecar.retain([page], "tree:1")
    assert sidecar.counts[page] == 2
    observer.step = 2
    sidecar.end_row(request)
    assert sidecar.counts[page] == 1 and page not in sidecar.free_pages
    assert sidecar.table[1].tolist() == [0, 0, 0, 0]
    observer.step = 3
    sidecar.release([page], "tree:1")
    assert sidecar.counts[page] == 0 and page in sidecar.free_pages
    for step in (4, 5):  # what was given back is judged once the engine has gone on
        observer.step = step
        observer.emit("pool_stat", pool="full", available=400, evictable=0, protected=0, session=0, total=400)
    recorder.close()
    result = check(Recording.open(tmp_path / "x.speckv"), replay="off")
    assert result.checked["OWN-REF"] > 4
    assert [f.message for f in result.findings if f.rule == "OWN-REF"] == []


def test_a_tail_is_freed_from_the_next_page_on() -> None:
    """4099 committed, 4352 allocated, pages of 128: [4224, 4352) goes back, [4099, 4224) shares its page with live rows."""
    log = EventLog()
    engine = Engine(EngineConfig(page_size=128, slots=8192, context_len=5000, max_prefill_tokens=128), log)
    request = row(1)
    engine.table.write(request, 0, engine.allocator.extend(request, None, 0, 4352, "extend"))
    request.committed, request.allocated = 4099, 4352
    tail = engine.table.slots(request, 4224, 4352)
    engine.releasing.free_tail(request)
    (event,) = log.of("free")
    assert event["slots"] == tail and len(tail) == 128
    assert engine.allocator.available == 8192 - 4352 + 128


@pytest.mark.parametrize("compression", [C4, C128], ids=lambda each: each.name)
def test_an_entry_is_the_softmax_of_its_window_and_empty_states_weigh_nothing(compression) -> None:  # type: ignore[no-untyped-def]
    compressor = Compressor(compression, 8, 3)
    states = compressor.states(torch.randn(1, compression.window, 8, dtype=torch.float64))
    offsets = torch.arange(compression.window)[None]
    whole = compressor.entries(states, offsets, offsets >= 0)
    half = compression.window // 2
    emptied = states.clone()
    emptied[:, half:, : compressor.width // 2] = 0
    emptied[:, half:, compressor.width // 2 :] = -math.inf
    first = compressor.entries(emptied, offsets, offsets >= 0)
    assert torch.equal(first, compressor.entries(states, offsets, offsets < half))
    assert not torch.allclose(first, whole)


def test_windows_of_both_compressors() -> None:
    positions = torch.tensor([0, 3, 4, 127, 128])
    assert C4.first(positions).tolist() == [-4, -4, 0, 120, 124]
    assert C128.first(positions).tolist() == [0, 0, 0, 0, 128]
    assert C4.ends(positions).tolist() == [False, True, False, True, False]
    assert C128.ends(positions).tolist() == [False, False, False, True, False]


def test_a_ring_keeps_the_last_of_positions_that_share_a_row() -> None:
    ring = StateRing("c4_state", 2, 2, RequestRing(4), Observer(None, overlap=False))
    rows, positions = torch.ones(1, 6, dtype=torch.int64), torch.arange(6)[None]
    ring.write(rows, positions, torch.arange(12, dtype=torch.float64).view(1, 6, 2))
    assert ring.read(rows[0, 2:], positions[0, 2:])[:, 0].tolist() == [4, 6, 8, 10]
    assert ring.read(rows[0, :2], positions[0, :2])[:, 0].tolist() == [8, 10]


def test_a_block_of_rows_is_what_one_row_after_the_other_gives() -> None:
    recurrence, x = Recurrence(6, 1), torch.randn(1, 4, 6, dtype=torch.float64)
    begin = torch.randn(1, 6, dtype=torch.float64)
    sees = torch.ones(4, 4, dtype=torch.bool).tril()[None]
    block = recurrence.states(begin, x, torch.arange(4)[None], sees)
    state, at, alone = begin, torch.zeros(1, 1, dtype=torch.int64), torch.ones(1, 1, 1, dtype=torch.bool)
    for step in range(4):
        state = recurrence.states(state, x[:, step : step + 1], at, alone)[:, 0]
        assert torch.allclose(block[:, step], state)
