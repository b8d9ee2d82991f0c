"""Steps leave together only where nothing is written to what they staged before the last of them is through."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch

from speckv_debug.collectors import loads, words
from speckv_debug.collectors.loads import Load, stacked
from speckv_debug.collectors.outbox import ENOUGH_TENSORS, Outbox
from speckv_debug.collectors.parcels import Lost
from speckv_debug.collectors.patience import MOST_STEPS, TRIED_STEPS
from tests.unit.collectors.test_outbox import Device

Group = tuple[Load, range]


@pytest.fixture
def device() -> Device:
    words.long()
    device = Device()
    device.all_done = True
    return device


@pytest.fixture
def outbox(device: Device) -> Outbox:
    return Outbox(device)


def take(outbox: Outbox, number: int, kept: torch.Tensor | None = None) -> Group:
    """A step whose first tensor is new, and the second one too unless the engine keeps it."""
    if kept is not None:
        kept.fill_(number)
    tensors = [torch.tensor([number, number + 1]), torch.tensor([number]) if kept is None else kept]
    group = outbox.add_group("verify", tensors)
    outbox.step()
    return group


def values(group: Group) -> list[list[int]]:
    load, places = group
    return [load.values(place).tolist() for place in places]


def test_steps_leave_together_once_that_was_tried(outbox: Outbox, device: Device) -> None:
    groups = [take(outbox, number) for number in range(TRIED_STEPS + 2 * MOST_STEPS)]
    assert device.launches == [(1, 2)] * TRIED_STEPS + [(1, 2 * MOST_STEPS)] * 2
    assert [values(group) for group in groups] == [[[n, n + 1], [n]] for n in range(len(groups))]


def test_what_an_engine_keeps_for_all_steps_leaves_with_each(outbox: Outbox, device: Device) -> None:
    kept = torch.zeros(1, dtype=torch.int64)
    groups = [take(outbox, number, kept) for number in range(TRIED_STEPS + 2 * MOST_STEPS)]
    assert device.launches == [(1, 2)] * len(groups)
    assert [values(group)[1] for group in groups] == [[n] for n in range(len(groups))]


def test_what_it_begins_to_keep_later_is_lost_once_and_said_to_be(outbox: Outbox, device: Device) -> None:
    for number in range(TRIED_STEPS):
        take(outbox, number)
    kept = torch.zeros(1, dtype=torch.int64)
    lost = [take(outbox, number, kept) for number in range(MOST_STEPS)]
    for load, places in lost:
        assert load.ready()
        with pytest.raises(Lost, match="wrote to a tensor"):
            load.values(places[0])
    assert values(take(outbox, 7, kept)) == [[7, 8], [7]]


def test_a_tensor_without_values_is_not_one_that_is_kept(outbox: Outbox, device: Device) -> None:
    for number in range(TRIED_STEPS + MOST_STEPS):
        group = outbox.add_group("move", [torch.empty(0, dtype=torch.int64), torch.tensor([number])])
        outbox.step()
    assert device.launches[-1] == (1, 2 * MOST_STEPS)
    assert values(group) == [[], [number]]


def test_nothing_waits_longer_than_what_must_leave_now(outbox: Outbox, device: Device) -> None:
    for number in range(TRIED_STEPS):
        take(outbox, number)
    outbox.add_group("verify", [torch.tensor([1]), torch.tensor([2])])
    outbox.add(torch.tensor([3]), settled=False)
    outbox.step()
    assert len(device.launches) == TRIED_STEPS, "a copy is ours"
    outbox.add(torch.tensor([4]), settled=True)
    outbox.step()
    assert device.launches[-1] == (1, 4)


def test_many_tensors_do_not_wait(outbox: Outbox, device: Device) -> None:
    for number in range(TRIED_STEPS):
        take(outbox, number)
    outbox.add_group("verify", [torch.tensor([number]) for number in range(ENOUGH_TENSORS)])
    outbox.step()
    assert sum(count for _, count in device.launches[TRIED_STEPS:]) == ENOUGH_TENSORS


def test_what_waits_for_steps_that_do_not_come_is_sent_by_whoever_asks(
    outbox: Outbox, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(TRIED_STEPS):
        take(outbox, number)
    (load, places), now = take(outbox, 5), time.monotonic()
    assert not load.ready() and not load.ready()
    monkeypatch.setattr(time, "monotonic", lambda: now + 2 * loads.OVERDUE_S)
    assert load.ready()
    assert values((load, places)) == [[5, 6], [5]]


def test_groups_that_lie_alike_are_stacked_whatever_they_left_with(outbox: Outbox) -> None:
    groups: list[Any] = [take(outbox, number) for number in range(TRIED_STEPS + MOST_STEPS)]
    (first, second) = stacked(groups) or ()
    assert first.tolist() == [[n, n + 1] for n in range(len(groups))]
    assert second.tolist() == [[n] for n in range(len(groups))]
    wider = outbox.add_group("verify", [torch.tensor([1, 2, 3]), torch.tensor([1])])
    outbox.send()
    assert stacked([*groups, wider]) is None


def test_what_could_not_be_sent_is_lost_at_once_and_stops_nobody_who_asks(
    outbox: Outbox, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(TRIED_STEPS):
        take(outbox, number)
    (load, places), now = take(outbox, 5), time.monotonic()

    def refuse(*_: Any) -> None:
        raise RuntimeError("cuLaunchKernel failed with 700")

    monkeypatch.setattr(device, "launch", refuse)
    assert not load.ready()
    monkeypatch.setattr(time, "monotonic", lambda: now + 2 * loads.OVERDUE_S)
    load.ready()
    assert load.ready()
    with pytest.raises(Lost, match="cuLaunchKernel failed with 700"):
        load.values(places[0])
    outbox.add_group("verify", [torch.tensor([1])])
    with pytest.raises(RuntimeError):
        outbox.send()
