"""Slots, moves, compactions and clears of random batches: what replay computes is what a plain model of one request has,
and no recorded output goes in.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.view import ProcessView
from tests.ledgers import Stream
from tests.slot_batches import TABLES, Batches

Line = dict[str, Any]
OUTPUTS = {
    "accept": ("accept_index", "accept_len", "num_correct_drafts", "new_seq_len", "bonus_token", "predict"),
    "move": ("src", "tgt"),
    "compact": ("after",),
    "reserve": ("new_allocated",),
    "release": ("free_start",),
    "state_clear": ("ring_rows", "first_half", "second_half", "accept_len"),
    "state_commit": ("step_index",),
}
"""Recorded outputs by table: what replay may only compare with."""


def view_of(lines: Iterable[Line], **head: Any) -> ProcessView:
    pools = [{"name": "full", "kind": "full", "slots": 100_000, "page_size": 16, "reserved_slots": 16}]
    facts: Line = {"tables": TABLES, "pools": pools} | head
    return ProcessView(cast(ProcessRecording, Stream(lines, **facts)))


class Rows:
    """A plain model of req_to_token with random writes, and a log of it as events."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.table: dict[tuple[int, int], dict[int, int]] = {}
        self.epochs = {row: 1 for row in (1, 2, 3)}
        self.lines: list[Line] = []
        self.due: list[list[int]] = []

    def run(self, steps: int) -> None:
        for step in range(1, steps + 1):
            for row in self.epochs:
                self._live(row, step)

    def _live(self, row: int, step: int) -> None:
        draw, key = self.rng, (row, self.epochs[row])
        if draw.random() < 0.2:
            self.epochs[row] += 1
            key = (row, self.epochs[row])
        for _ in range(draw.randint(0, 3)):
            start, slots = draw.randint(0, 12), draw.sample(range(16, 9000), draw.randint(1, 9))
            self.table.setdefault(key, {}).update({start + j: s for j, s in enumerate(slots)})
            who = {"row": row, "epoch": key[1], "step": step}
            self.lines.append({"event": "table_write", "start": start, "slots": slots} | who)
        self._verify(key, step)

    def _verify(self, key: tuple[int, int], step: int) -> None:
        start, width = self.rng.randint(0, 16), self.rng.randint(1, 6)
        held = [self.table.get(key, {}).get(start + j, NULL) for j in range(width)]
        line: Line = {"event": "accept", "step": step, "row": key[0], "epoch": key[1], "request": f"{key}"}
        self.lines.append(line | {"seq_len": start, "width": width, "out_cache_loc": [1] * width})
        self.due.append(held)


@given(st.integers(0, 10**9))
@settings(max_examples=25)
def test_rows_are_rebuilt_as_the_writes_leave_them(seed: int) -> None:
    rows = Rows(seed)
    rows.run(6)
    slots = view_of(rows.lines).recomputed_slots.slots
    assert [slots[i].tolist() for i in range(len(slots))] == rows.due


@given(st.integers(0, 10**9))
@settings(max_examples=25)
def test_rows_are_rebuilt_share_by_share(seed: int) -> None:
    rows = Rows(seed)
    rows.run(4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("speckv_debug.replay.replayed_tables.AT_ONCE", 7)
        slots = view_of(rows.lines).recomputed_slots.slots
    assert [slots[i].tolist() for i in range(len(slots))] == rows.due


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(16, 99)), max_size=12), st.integers(1, 6))
def test_writes_for_later_steps_are_passed_over(writes: list[tuple[int, int]], step: int) -> None:
    who: Line = {"row": 1, "epoch": 1}
    lines: list[Line] = [
        {"event": "table_write", "step": at, "start": 5, "slots": [slot]} | who for at, slot in writes
    ]
    lines.append({"event": "accept", "step": step, "seq_len": 5, "width": 1, "out_cache_loc": [1]} | who)
    windows = view_of(lines).recomputed_slots.windows
    reading = [slot for at, slot in writes if at <= step]
    behind = list(itertools.takewhile(lambda write: write[0] > step, reversed(writes)))
    assert windows.slots.tolist() == [reading[-1] if reading else NULL]
    assert windows.ahead.tolist() == [behind[0][1] if behind else NULL]


@given(st.integers(0, 10**9))
@settings(max_examples=25)
def test_batches_are_done_again_as_request_by_request(seed: int) -> None:
    batches = Batches(seed)
    view = view_of(batches.lines)
    due, path = view.replayed_moves.due, view.replayed_paths.rows
    pairs = list(zip(due.source.tolist(), due.window.tolist(), strict=True))
    assert [pairs[a:b] for a, b in zip(path.offsets, path.offsets[1:], strict=False)] == batches.moves
    fronts = view.replayed_compactions.fronts
    assert [fronts.values[fronts.owners == i].tolist() for i in range(len(path))] == batches.fronts
    states = view.replayed_states
    assert [states.cleared(i).tolist() for i in range(len(path))] == batches.rings
    assert states.steps.tolist() == batches.steps


@pytest.mark.parametrize("damage", [2**31 - 1, 60_000, -3, 0])
def test_a_damaged_width_costs_one_verify(damage: int) -> None:
    batches = Batches(5)
    hit = next(line for line in batches.lines if line["event"] == "accept")
    whole = view_of(batches.lines)
    hit["width"] = damage
    view = view_of(batches.lines)
    assert view.recomputed_slots.widths.tolist() == [0, *whole.recomputed_slots.widths[1:].tolist()]
    assert view.replayed_slots.rowless.tolist() == [True, *whole.replayed_slots.rowless[1:].tolist()]
    due = view.replayed_moves.due
    pairs = list(zip(due.source.tolist(), due.window.tolist(), strict=True))
    ends = [pairs[a:b] for a, b in itertools.pairwise(due.path.offsets.tolist())]
    assert ends[1:] == batches.moves[1:] and len(view.replayed_moves) == len(batches.moves)
    fronts = view.replayed_compactions.fronts
    found = [fronts.values[fronts.owners == i].tolist() for i in range(len(batches.fronts))]
    assert found[1:] == batches.fronts[1:] and (fronts.values[fronts.owners == 0] == NULL).all()


@given(st.integers(0, 10**9))
@settings(max_examples=10)
def test_nothing_depends_on_how_many_go_through_a_kernel_at_once(seed: int) -> None:
    batches = Batches(seed)
    full, bare = view_of(batches.lines), view_of(batches.lines)
    bare.kernels.chunk = 1
    assert recomputed(bare) == recomputed(full)
    assert full.replayed_states.wrong_rows.tolist() == bare.replayed_states.wrong_rows.tolist()


def test_wide_requests_go_through_a_kernel_in_smaller_numbers() -> None:
    kernels = view_of([]).kernels
    assert kernels.at_once(1) == kernels.at_once(64) == kernels.chunk
    assert kernels.at_once(1 << 16) * (1 << 16) == kernels.chunk * 64
    assert kernels.at_once(1 << 40) == 1


@given(st.integers(0, 10**9))
@settings(max_examples=25)
def test_a_list_of_due_pairs_in_any_order_is_the_same_move(seed: int) -> None:
    batches, draw = Batches(seed), random.Random(seed)
    of_step: dict[int, list[tuple[int, int]]] = {}
    accepts = [line for line in batches.lines if line["event"] == "accept"]
    for line, pairs in zip(accepts, batches.moves, strict=True):
        of_step.setdefault(line["step"], []).extend(pairs)
    for call in (line for line in batches.lines if line["event"] == "move"):
        pairs = [p for p in of_step[call["step"]] if p[0] != p[1] or draw.random() < 0.5] + [(0, 0)] * 3
        draw.shuffle(pairs)
        call |= {"src": [s for s, _ in pairs], "tgt": [t for _, t in pairs]}
    scope = view_of(batches.lines).replayed_moves
    assert not scope.missing.any() and not scope.stray.any()
    moving = [p for pairs in batches.moves for p in pairs if p[0] != p[1]]
    for call in (line for line in batches.lines if line["event"] == "move"):
        call |= {"src": [s + 1 for s in call["src"]]}
    scope = view_of(batches.lines).replayed_moves
    assert int(scope.missing.sum()) == len(moving)


def recomputed(view: ProcessView) -> dict[str, list[int]]:
    """Everything that the scopes recompute, as flat lists."""
    due, states, reserves = view.replayed_moves.due, view.replayed_states, view.replayed_reserves
    found = {
        "slots": view.recomputed_slots.slots.values,
        "sources": due.source,
        "window": due.window,
        "row": due.row,
        "fronts": view.replayed_compactions.fronts.values,
        "rings": np.concatenate([states.cleared(i) for i in range(len(states.clears))]),
        "steps": states.steps,
        **{f"grown {form}": grown for form, grown in zip(reserves.forms, reserves.grown, strict=True)},
        **{f"tail {k}": tail for k, tail in enumerate(reserves.tails)},
    }
    return {name: values.tolist() for name, values in found.items()}


def blanked(lines: list[Line]) -> list[Line]:
    """The same events without what the engine put out."""
    return [{k: v for k, v in line.items() if k not in OUTPUTS.get(line["event"], ())} for line in lines]


def test_a_path_without_choices_of_the_target_is_the_recorded_one() -> None:
    lines = [{k: v for k, v in line.items() if k != "target_predict"} for line in Batches(3).lines]
    view = view_of(lines)
    assert not view.replayed_paths.again.any()
    assert view.replayed_paths.rows is view.verifies.path


def test_a_wrong_accept_does_not_change_what_is_due() -> None:
    batches = Batches(3)
    for line in (line for line in batches.lines if line["event"] == "accept"):
        line |= {"accept_index": [line["block_start"], -1], "accept_len": 1}
    due = view_of(batches.lines).replayed_moves.due
    assert due.source.tolist() == [source for pairs in batches.moves for source, _ in pairs]


@given(st.integers(0, 10**9))
@settings(max_examples=25)
def test_no_recorded_output_goes_in(seed: int) -> None:
    batches, draw = Batches(seed), random.Random(seed)
    for k in range(3):
        who: Line = {"step": 9, "row": 5, "epoch": 1, "request": f"x{k}", "page_size": 16}
        lengths = {"committed": draw.randint(0, 90), "allocated": draw.randint(0, 99)}
        growth = {"reserve": draw.randint(1, 40), "new_allocated": draw.randint(0, 99)}
        batches.lines.append({"event": "reserve"} | who | lengths | growth)
        batches.lines.append({"event": "release", "kind": "finish", "free_start": 16} | who | lengths)
    full, bare = view_of(batches.lines), view_of(blanked(batches.lines))
    assert recomputed(bare) == recomputed(full)
    assert not bare.verifies.path_known.any() and full.verifies.path_known.all()


@given(
    st.lists(
        st.tuples(
            st.booleans(), st.integers(1, 2), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)
        ),
        max_size=12,
    )
)
def test_a_trim_keeps_what_the_next_report_of_its_row_says(events: list[tuple[bool, int, int, int]]) -> None:
    """The committed length reported next, or the target where that is less; of the two the one that is known."""
    lines: list[Line] = []
    for trim, row, committed, target in events:
        who: Line = {"row": row, "epoch": 1}
        told = {"kind": "session_trim", "target": target} if trim else {"cause": "session_trim"}
        lines.append({"event": "release" if trim else "lengths", "committed": committed} | told | who)
    kept = []
    for seq, (trim, row, _, target) in enumerate(events):
        later = [c for other, mine, c, _ in events[seq:] if not other and mine == row]
        known = [n for n in (later[0], target) if n is not None] if later else []
        kept += [min(known, default=NULL)] if trim else []
    assert view_of(lines).replayed_reserves._kept[0].tolist() == kept
