"""What leaves a device: one launch a step, values of the moment, nothing held longer than the copy."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
import torch

from speckv_debug.collectors import staging, words
from speckv_debug.collectors.outbox import LET_GO_AFTER, Outbox
from speckv_debug.collectors.parcels import SMALLEST_BYTES, Lost
from speckv_debug.collectors.staged import Staged


class Device:
    """Copies at once, but says so only when told; streams are numbers."""

    most = 64

    def __init__(self) -> None:
        self.here, self.capturing = 1, False
        self.done: set[int] = set()
        self.all_done = False
        self.launches: list[tuple[int, int]] = []
        self.events = 0

    def stream(self) -> int:
        return self.here

    @contextlib.contextmanager
    def on(self, stream: int) -> Any:
        before, self.here = self.here, stream
        yield
        self.here = before

    def prepare(self, slots: Any = ()) -> None:
        raise AssertionError("nothing to prepare")

    def is_capturing(self) -> bool:
        return self.capturing

    def addresses(self, tensors: Any) -> list[int]:
        return [tensor.data_ptr() for tensor in tensors]

    def launch(self, tensors: Any, plan: Any, slot: Any, stream: int) -> None:
        assert stream == self.here
        self.launches.append((self.here, len(tensors)))
        for tensor, start in zip(tensors, plan.starts, strict=True):
            flat = tensor.reshape(-1).view(torch.uint8)
            slot.memory[start : start + len(flat)] = flat
        assert plan.sizes == [tensor.nbytes for tensor in tensors]

    def windows(self, table: Any, rows: Any, starts: Any, width: int) -> None:
        return None

    def pinned(self, size: int) -> Any:
        return torch.zeros(size, dtype=torch.uint8)

    def event(self) -> Any:
        self.events += 1
        return [self.events, None]

    def record(self, event: Any, stream: int) -> None:
        event[1] = len(self.launches)

    def query(self, event: Any) -> bool:
        return event[1] is None or self.all_done or event[1] in self.done


@pytest.fixture
def device() -> Device:
    words.long()
    return Device()


@pytest.fixture
def outbox(device: Device) -> Outbox:
    return Outbox(device, most_bytes=4 * SMALLEST_BYTES)


def add(outbox: Outbox, *values: int, settled: bool = False) -> Staged:
    return outbox.add(torch.tensor(values), settled=settled)


def test_what_a_step_stages_leaves_in_one_launch(outbox: Outbox, device: Device) -> None:
    first, second = add(outbox, 1, 2, 3), outbox.add(torch.tensor([7], dtype=torch.int32), settled=True)
    assert not first.ready() and not device.launches
    with pytest.raises(Lost, match="never left"):
        first.resolve()
    outbox.send()
    assert device.launches == [(1, 2)]
    assert not first.ready()
    with pytest.raises(Lost, match="in time"):
        second.resolve()
    device.done = {1}
    assert first.ready() and second.ready()
    assert (first.resolve().tolist(), second.resolve().tolist()) == ([1, 2, 3], [7])
    assert second.resolve().dtype == np.int32
    outbox.send()
    assert len(device.launches) == 1, "nothing waits"


def test_a_settled_tensor_is_taken_once(outbox: Outbox, device: Device) -> None:
    tensor = torch.tensor([1])
    assert outbox.add(tensor, settled=True) is outbox.add(tensor, settled=True)
    outbox.send()
    assert outbox.add(tensor, settled=True) is not None
    outbox.send()
    assert device.launches == [(1, 1), (1, 1)]


def test_each_value_leaves_on_the_stream_that_made_it(outbox: Outbox, device: Device) -> None:
    add(outbox, 1)
    with device.on(2):
        add(outbox, 2)
        add(outbox, 3)
        outbox.send()
    assert device.launches == [(1, 1), (2, 2)]
    assert device.here == 1


def test_joined_streams_need_one_launch(outbox: Outbox, device: Device) -> None:
    add(outbox, 1)
    with device.on(2):
        add(outbox, 2)
        outbox.send(joined=True)
    assert device.launches == [(2, 2)]


def test_many_tensors_take_several_launches(outbox: Outbox, device: Device) -> None:
    staged = [add(outbox, number) for number in range(70)]
    outbox.send()
    assert device.launches == [(1, 64), (1, 6)]
    device.all_done = True
    assert [int(each.resolve()[0]) for each in staged] == list(range(70))


def test_nothing_leaves_during_a_capture(outbox: Outbox, device: Device) -> None:
    device.capturing = True
    staged = add(outbox, 1)
    outbox.send()
    assert device.launches == []
    device.capturing = False
    outbox.send()
    device.all_done = True
    assert staged.resolve().tolist() == [1]


def test_a_copy_under_capture_is_not_made(
    outbox: Outbox, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    words.long()
    device.capturing = True
    made = staging._stage_on(outbox, torch.tensor([1]), False)
    with pytest.raises(Lost):
        made.resolve()
    assert outbox.load.tensors == []


def test_a_view_is_copied_before_it_waits(outbox: Outbox, device: Device) -> None:
    words.long()
    table = torch.arange(12).reshape(3, 4)
    column = staging._stage_on(outbox, table[:, 1], True)
    row = staging._stage_on(outbox, table[0], False)
    flags = staging._stage_on(outbox, torch.tensor([True, False]), True)
    table.zero_()
    outbox.send()
    device.all_done = True
    assert column.resolve().tolist() == [1, 5, 9]
    assert row.resolve().tolist() == [0, 1, 2, 3]
    assert flags.resolve().tolist() == [1, 0]


def test_device_tensors_are_let_go_when_their_copy_is_done_though_nobody_asks(device: Device) -> None:
    outbox, tensor = Outbox(device), torch.tensor([1, 2])
    kept, source = outbox.add(tensor, settled=True), weakref.ref(tensor)
    del tensor
    for number in range(LET_GO_AFTER + 1):
        outbox.send()
        add(outbox, number)
    gc.collect()
    assert source() is not None, "the copy still reads it"
    device.done = {1}
    outbox.send()
    gc.collect()
    assert source() is None
    assert kept.resolve().tolist() == [1, 2]


def test_pinned_memory_is_used_again_but_not_while_it_is_written(outbox: Outbox, device: Device) -> None:
    device.all_done = True
    for number in range(20):
        staged = add(outbox, number)
        outbox.send()
        assert staged.resolve().tolist() == [number]
    assert device.events == 1
    device.all_done, device.done = False, set(range(1, 21))
    add(outbox, 1)
    outbox.send()  # nobody keeps it, yet the copy is under way
    gc.collect()
    add(outbox, 2)
    outbox.send()
    assert device.events == 2


def test_what_finds_no_memory_is_lost_and_no_more_memory_is_taken(outbox: Outbox, device: Device) -> None:
    staged = []
    for number in range(6):
        staged.append(add(outbox, number))
        outbox.send()
    assert device.events == len(device.launches) == 4
    device.all_done = True
    assert [each.ready() for each in staged] == [True] * 6
    assert [int(each.resolve()[0]) for each in staged[:4]] == [0, 1, 2, 3]
    for each in staged[4:]:
        with pytest.raises(Lost):
            each.resolve()
    add(outbox, 7)
    outbox.send()
    assert device.events == 4, "memory that came back is used"


def test_prepared_slots_share_one_piece_of_memory(device: Device) -> None:
    outbox = Outbox(device)
    outbox.ring.prepare(3)
    staged = add(outbox, 5)
    outbox.send()
    assert device.events == 3
    device.all_done = True
    values: list[Any] = []
    thread = threading.Thread(target=lambda: values.extend(staged.resolve().tolist()))
    thread.start()
    thread.join()
    assert values == [5]
