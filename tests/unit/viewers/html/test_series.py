"""Numbers over time: means inside their bands, simulated acceptance apart, thinning that keeps extremes."""

from pathlib import Path

import pytest

from speckv_debug.viewers.html.series import MOST_CHANGES, MOST_REQUESTS, accepts, lengths
from tests.reported import PROCESS, accept, recording
from tests.reported import lengths as held


def test_verifies_of_a_step_give_one_point_with_its_band(tmp_path: Path) -> None:
    events = [accept(1, "a"), accept(1, "b", accept_len=1), accept(2, "a", accept_len=2)]
    found = accepts(recording(tmp_path, events).processes[0])
    assert found.over_steps.values.tolist() == [[1, 2, 1, 3, 2], [2, 2, 2, 2, 1]]
    assert found.counts == {1: 1, 2: 1, 3: 1}
    assert found.mean == 2


@pytest.mark.parametrize("way", ["sampling", "settings"])
def test_simulated_acceptance_enters_no_mean_and_no_count(tmp_path: Path, way: str) -> None:
    if way == "sampling":
        events = [accept(1), accept(2, sampling="simulated", accept_len=4)]
        found = accepts(recording(tmp_path, events).processes[0])
        assert (found.counts, found.mean) == ({3: 1}, 3)
    else:
        process = {**PROCESS, "settings": {"simulate_acc_len": 4}}
        found = accepts(recording(tmp_path, [accept(2, sampling=None, accept_len=4)], process).processes[0])
        assert (found.counts, found.mean) == ({}, None)
    assert found.simulated["x"].tolist() == [2]


def test_an_accept_length_that_was_not_recorded_is_counted_as_unknown(tmp_path: Path) -> None:
    found = accepts(recording(tmp_path, [accept(1), accept(2, accept_len=None)]).processes[0])
    assert (found.verifies, found.unknown) == (1, 1)


def test_many_steps_are_put_together_and_their_extremes_stay(tmp_path: Path) -> None:
    events = [accept(step, accept_len=4 if step == 777 else 2) for step in range(1000)]
    found = accepts(recording(tmp_path, events).processes[0])
    assert (found.span, len(found.over_steps)) == (5, 200)
    assert found.over_steps["high"].max() == 4
    assert found.over_steps["verifies"].sum() == 1000


def test_without_steps_the_event_order_is_the_axis(tmp_path: Path) -> None:
    process = recording(tmp_path, [accept(1), {**accept(2), "step": None}]).processes[0]
    assert accepts(process).axis == "seq"
    assert lengths(process).lives == {}


def test_a_request_that_came_back_has_two_lives(tmp_path: Path) -> None:
    events = [held(800), held(801), held(802, epoch=2, committed=10)]
    found = lengths(recording(tmp_path, events).processes[0])
    assert [life["committed"].tolist() for life in found.lives["7"]] == [[4096, 4099], [10]]


def test_time_never_runs_backwards_though_a_commit_names_an_earlier_step(tmp_path: Path) -> None:
    events = [held(1), held(2), held(1, cause="verify_commit")]
    (life,) = lengths(recording(tmp_path, events).processes[0]).lives["7"]
    assert life["x"].tolist() == [1, 2, 2]


def test_other_pools_are_no_length_of_the_full_pool(tmp_path: Path) -> None:
    events = [held(800), held(800, pool="swa", committed=5), held(801, pool="full")]
    (life,) = lengths(recording(tmp_path, events).processes[0]).lives["7"]
    assert life["committed"].tolist() == [4096, 4099]


def test_the_main_pool_is_not_always_called_full(tmp_path: Path) -> None:
    process = {**PROCESS, "pools": [{"name": "kv", "kind": "full", "slots": 64, "page_size": 1}]}
    events = [held(800, pool="kv"), held(801, pool="full", committed=5)]
    (life,) = lengths(recording(tmp_path, events, process).processes[0]).lives["7"]
    assert life["committed"].tolist() == [4096]


def test_a_request_without_a_name_goes_by_its_row(tmp_path: Path) -> None:
    assert list(lengths(recording(tmp_path, [{**held(1), "request": None}]).processes[0]).lives) == ["row 7"]


def test_a_long_request_is_thinned_and_keeps_its_spike(tmp_path: Path) -> None:
    events = [held(step, committed=9999 if step == 1234 else step, allocated=step) for step in range(3000)]
    found = lengths(recording(tmp_path, events).processes[0])
    (life,) = found.lives["7"]
    assert found.changes["7"] == 3000
    assert len(life) <= 2 * MOST_CHANGES
    assert life["committed"].max() == 9999
    assert (life["x"].iloc[0], life["x"].iloc[-1]) == (0, 2999)


def test_a_long_request_is_thinned_and_keeps_its_drop(tmp_path: Path) -> None:
    low = {1234: {"committed": 7}, 2345: {"allocated": 8}}
    events = [
        held(step, **({"committed": 5000 + step, "allocated": 9000} | low.get(step, {})))
        for step in range(3000)
    ]
    (life,) = lengths(recording(tmp_path, events).processes[0]).lives["7"]
    assert len(life) <= 2 * MOST_CHANGES
    assert (life["committed"].min(), life["allocated"].min()) == (7, 8)


def test_of_many_requests_the_named_one_is_kept_and_all_are_counted(tmp_path: Path) -> None:
    events = [held(step, f"r{n}") for n in range(60) for step in range(2 if n != 59 else 1)]
    found = lengths(recording(tmp_path, events).processes[0], ["r59", "no such request"])
    assert next(iter(found.lives)) == "r59"
    assert (len(found.lives), found.requests) == (MOST_REQUESTS, 60)
