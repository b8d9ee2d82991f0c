"""What one pass over events in order finds is what sorting them finds; odd orders are left to sorting."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from speckv_debug.recording.arrays import words
from speckv_debug.recording.process_file import process_from
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay import launches, readers, reads
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.launches import MoveLaunches
from speckv_debug.replay.ledger_events import _sorted
from speckv_debug.replay.moves import MoveCalls, Relocations
from speckv_debug.replay.readers import NextReads
from speckv_debug.replay.scratch import Scratch
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import ForwardWrites

INFO = process_from("tp0", {"pools": [{"name": "full", "kind": "full"}]})
ROWS = 5


def columns(name: str, rows: list[dict[str, Any]]) -> Columns:
    arrays = [pa.array([row.get(field.name) for row in rows], field.type) for field in SCHEMAS[name]]
    return Columns(pa.Table.from_arrays(arrays, schema=SCHEMAS[name]))


def run(seed: int, odd: float) -> dict[str, Columns]:
    """Steps in which some rows are verified and some extended; with a chance of anything odd at each event."""
    draw, seq = random.Random(seed), 0
    epochs = dict.fromkeys(range(1, ROWS), 1)
    tables: dict[str, list[dict[str, Any]]] = {"forward": [], "accept": []}
    for step in range(1, 9):
        for name in ("forward", "accept"):
            for row in draw.sample(range(1, ROWS), ROWS - 2) if odd else range(1, ROWS):
                mode = "extend" if draw.random() < 0.2 and name == "forward" else "target_verify"
                epochs[row] += draw.random() < 0.1
                late = draw.random() < odd
                at = {"step": None if late and draw.random() < 0.3 else step - late, "row": row}
                slots = [draw.randrange(1, 12 if late else 2000) for _ in range(3)]
                own = {"mode": mode, "slots": slots, "pool": draw.choice(["full", None])}
                event = {"seq": seq, "epoch": epochs[row], **at, **(own if name == "forward" else {})}
                if draw.random() >= odd:
                    tables[name].append(event)
                seq += 1
    return {name: columns(name, rows) for name, rows in tables.items()}


def found(tables: dict[str, Columns]) -> list[Any]:
    batch, forward = VerifyBatch(tables["accept"], INFO), tables["forward"]
    next_reads = NextReads(tables.__getitem__, batch, INFO)
    return [next_reads.forward.tolist(), reads.verify_of(forward, batch).tolist()]


@pytest.mark.parametrize("odd", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("seed", range(12))
def test_readers_and_verifies_are_those_that_sorting_finds(
    seed: int, odd: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = run(seed, odd)
    due = found(tables)
    for module in (readers, reads):
        monkeypatch.setattr(module, "worth_compiling", lambda count: True)
    assert found(tables) == due


def test_one_pass_is_enough_where_each_verify_has_its_forward() -> None:
    rows = [{"step": step, "row": row, "epoch": 1} for step in (1, 2) for row in (1, 2)]
    forwards = [{**row, "seq": 10 * at, "mode": "target_verify"} for at, row in enumerate(rows)]
    accepts = [{**row, "seq": 10 * at + 5} for at, row in enumerate(rows)]
    tables = {"forward": columns("forward", forwards), "accept": columns("accept", accepts)}
    each = NextReads(tables.__getitem__, VerifyBatch(tables["accept"], INFO), INFO)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "worth_compiling", lambda count: True)
        assert each._in_one_pass(np.arange(4)).tolist() == [20, 30, readers.END, readers.END]


@pytest.mark.parametrize("odd", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_no_slot_is_called_distinct_that_one_forward_names_twice(
    seed: int, odd: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = run(seed, odd)
    writes = ForwardWrites(tables["forward"], VerifyBatch(tables["accept"], INFO), INFO)
    named = list(zip(writes.forward[writes.slots.owners].tolist(), writes.slots.values.tolist(), strict=True))
    monkeypatch.setattr("speckv_debug.replay.writes.worth_compiling", lambda count: True)
    monkeypatch.setattr("speckv_debug.replay.writes.ROOMY", 1 << 20)
    assert writes.distinct == (len(set(named)) == len(named))


@pytest.mark.parametrize(
    ("src", "tgt", "late"),
    [
        ([[5, 6], [7]], [[4, 5], [6]], False),
        ([[5, 6], [7]], [[6, 4], [5]], True),
        ([[5, 0, 0], [7]], [[5, 0, 0], [5]], False),
        ([[5, 6], [9]], [[9, 5], [5]], False),
        ([[5, 6, 9]], [[9, 5]], True),
    ],
)
def test_a_slot_is_read_too_late_behind_a_pair_of_its_own_call(
    src: list[list[int]], tgt: list[list[int]], late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [{"seq": n, "step": n, "src": s, "tgt": t} for n, (s, t) in enumerate(zip(src, tgt, strict=True))]
    moves = MoveCalls(columns("move", calls), INFO)
    each = MoveLaunches(moves, Relocations(VerifyBatch(columns("accept", []), INFO), moves))
    assert bool(each.late_reads.any()) == late
    monkeypatch.setattr(launches, "worth_compiling", lambda count: True)
    assert each.__class__(moves, each.relocations).plain == (not late)


@pytest.mark.parametrize(
    "seq", [[], [7], [9, 3, 5, 4], [3, 3, 4], [1, 1000, 5], list(range(50, 0, -1)) + list(range(51, 60))]
)
def test_events_are_sorted(seq: list[int]) -> None:
    values = np.array(seq, dtype=np.int64)
    assert _sorted(values).tolist() == np.argsort(values, kind="stable").tolist()


def test_memory_is_used_again() -> None:
    scratch = Scratch()
    first = scratch.stacked("a", [np.arange(4), np.arange(4, dtype=np.int8)])
    assert first.tolist() == [[0, 1, 2, 3]] * 2 and first.dtype == np.int64
    assert np.shares_memory(first, scratch.room("a", 2, 2)) and not np.shares_memory(
        first, scratch.room("b", 2, 4)
    )
    assert scratch.room("a", 100, 3).shape == (100, 3)


@pytest.mark.parametrize("texts", [[], ["a", "", "bc"], ["a", None], ["é", "b"], [""]])
def test_words_of_a_column(texts: list[str | None]) -> None:
    due = ["" if text is None else text for text in texts]
    assert words(pa.array(["x", *texts], pa.string()).slice(1)) == due


@pytest.mark.parametrize("compiled", [False, True])
def test_texts_are_named_in_the_order_in_which_they_first_occur(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    dictionary = pa.array(["a", "b", "c", "d"])
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), dictionary)
        for codes in ([2, None, 1, 2], [], [3, 1])
    ]
    monkeypatch.setattr("speckv_debug.replay.columns.worth_compiling", lambda count: compiled)
    texts = Columns(pa.table({"pool": pa.chunked_array(chunks)})).texts("pool")
    assert (texts.names, texts.codes.tolist()) == (("c", "b", "d"), [0, -1, 1, 0, 2, 1])
