"""Lives of request rows, and pairs of life and step, beside dictionaries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay import lives as module
from speckv_debug.replay import worthwhile
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.lives import Lives
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.step_keys import Groups, StepKeys, last_with

NAMES = st.sampled_from((None, 0, 1, 2, 5))
EVENTS = st.lists(st.tuples(st.sampled_from(("accept", "lengths")), NAMES, NAMES), max_size=40)
STEPS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from((-(1 << 60), 1 << 60)))
PAIRS = st.lists(st.tuples(st.integers(-1, 3), STEPS), max_size=30)


def lives_of(events: list[tuple[str, int | None, int | None]]) -> Lives:
    rows: dict[str, list[dict[str, int | None]]] = {"accept": [], "lengths": []}
    for seq, (table, row, epoch) in enumerate(events):
        rows[table].append({"seq": seq, "row": row, "epoch": epoch})
    tables = {name: pa.Table.from_pylist(rows.get(name, []), schema=SCHEMAS[name]) for name in module.NAMING}
    return Lives(lambda name: Columns(tables[name]))


@settings(max_examples=60, deadline=None)
@given(events=EVENTS, packed=st.sampled_from((0, 1 << 24)), compiled_from=st.sampled_from((0, 1 << 60)))
def test_the_latest_event_of_a_life_is_the_one_that_a_dictionary_keeps(
    events: list[tuple[str, int | None, int | None]], packed: int, compiled_from: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PACKED", packed)
        patch.setattr(worthwhile, "COMPILED_FROM", compiled_from)
        lives = lives_of(events)
        asked = lives.of("accept")
        seq = np.array([i for i, event in enumerate(events) if event[0] == "accept"], dtype=np.int64)
        found = lives.before("lengths", seq, asked).tolist()
    latest: dict[tuple[int, int], int] = {}
    due, count = [], 0
    for table, row, epoch in events:
        known = row is not None and epoch is not None
        if table == "accept":
            due.append(latest.get((row, epoch), -1) if known else -1)
        else:
            latest[row, epoch] = count
            count += 1
    assert found == due
    keys = sorted({(row, epoch) for _, row, epoch in events if row is not None and epoch is not None})
    numbers = [keys.index(event[1:]) if event[1:] in keys else -1 for event in events if event[0] == "accept"]
    assert asked.tolist() == numbers


@settings(max_examples=60, deadline=None)
@given(first=PAIRS, second=PAIRS)
def test_keys_meet_where_life_and_step_do(
    first: list[tuple[int, int | None]], second: list[tuple[int, int | None]]
) -> None:
    lives, steps = zip(*[_columns(first), _columns(second)], strict=True)
    keys = StepKeys(4, *steps)
    one, other = (keys.of(life, step) for life, step in zip(lives, steps, strict=True))
    places = {pair: at for at, pair in enumerate(first)}
    assert last_with(one, other).tolist() == [places.get(pair, -1) for pair in second]
    groups = Groups(one)
    assert groups.alone.tolist() == [first.count(pair) == 1 for pair in first]
    found = groups.find(other).tolist()
    due = [groups.of_key[places[pair]] if pair in places else -1 for pair in second]
    assert found == due


def _columns(pairs: list[tuple[int, int | None]]) -> tuple[np.ndarray, np.ndarray]:
    steps = [NULL if step is None else step for _, step in pairs]
    return np.array([life for life, _ in pairs], dtype=np.int64), np.array(steps, dtype=np.int64)
