"""The group that a free waits in, beside a search through all groups."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.free_times import FreeTimes
from speckv_debug.replay.searching import NEVER

Group = tuple[int, int | None, int | None]
NUMBERS = st.one_of(st.none(), st.integers(1, 3))


def strays_of(events: list[tuple[str, int | None]]) -> list[tuple[int, int | None]]:
    """Ends that close no group."""
    closed = {end for _, end, _ in groups_of(events)}
    return [(seq, g) for seq, (action, g) in enumerate(events) if action == "end" and seq not in closed]


def groups_of(events: list[tuple[str, int | None]]) -> list[Group]:
    """Each end closes the innermost open group of its number, or of any if it has none."""
    open_ones: list[tuple[int, int | None]] = []
    found: list[Group] = []
    for seq, (action, number) in enumerate(events):
        if action == "begin":
            open_ones.append((seq, number))
        elif action == "end" and any(number in (None, each) for _, each in open_ones):
            at = max(i for i, (_, each) in enumerate(open_ones) if number in (None, each))
            begin, own = open_ones.pop(at)
            found.append((begin, seq, own))
    return sorted([*found, *((begin, None, own) for begin, own in open_ones)], key=lambda group: group[0])


@given(
    events=st.lists(st.tuples(st.sampled_from(("begin", "end", "free")), NUMBERS), max_size=14),
)
def test_it_is_the_last_open_one_that_the_free_may_mean(events: list[tuple[str, int | None]]) -> None:
    rows = [{"seq": seq, "action": a, "group": g} for seq, (a, g) in enumerate(events) if a != "free"]
    table = pa.Table.from_pylist(cast(list[dict[str, Any]], rows), schema=SCHEMAS["free_group"])
    times = FreeTimes(lambda: Columns(table))
    told, strays = groups_of(events), strays_of(events)
    for seq, (action, named) in enumerate(events):
        if action != "free":
            continue
        free = Columns(pa.Table.from_pylist([{"seq": seq, "group": named}], schema=SCHEMAS["free"]))
        around = [
            group
            for group in told
            if group[0] < seq and (group[1] is None or group[1] > seq) and named in (None, group[2])
        ]
        due = around[-1] if around else None
        if due is None and named is not None and rows:
            due = seq, next((end for end, group in strays if end > seq and group == named), None), named
        assert times.group_of(free, 0, seq) == due
        effect = seq if due is None else NEVER if due[1] is None else due[1]
        assert times.effects(free).tolist() == [effect]
