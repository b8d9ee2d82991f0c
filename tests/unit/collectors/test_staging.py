"""Staged values are those of the moment, whatever the engine does to its tensors afterwards."""

import threading
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors import staging
from speckv_debug.collectors.other_device import OtherDevice
from speckv_debug.collectors.staging import Derived, fingerprints, is_capturing, stage


def test_a_staged_value_does_not_follow_the_tensor():
    tensor = torch.arange(6, dtype=torch.int32).reshape(2, 3)
    staged = stage(tensor)
    tensor.add_(100)
    assert staged.resolve().tolist() == [0, 1, 2, 3, 4, 5]
    assert staged.ready()


def test_a_view_is_copied_not_kept():
    free_list = torch.arange(8)
    staged = stage(free_list[2:4])
    free_list.zero_()
    assert staged.resolve().tolist() == [2, 3]


def test_parts_and_items_of_one_copy():
    staged = stage(torch.tensor([5, 6, 7, 8]))
    assert staged.part(1, 3).resolve().tolist() == [6, 7]
    assert staged.item(3).resolve() == 8
    assert type(staged.item(0).resolve()) is int


def test_a_derived_value_is_made_when_it_is_asked_for():
    made = []
    derived = Derived(lambda: made.append(1) or len(made))
    assert made == []
    assert derived.resolve() == 1
    assert derived.ready()


def test_equal_rows_have_equal_fingerprints_and_a_bit_changes_them():
    rows = torch.randn(4, 16, generator=torch.Generator().manual_seed(1))
    rows[2] = rows[0]
    marks = fingerprints(rows).tolist()
    assert marks[0] == marks[2]
    assert len(set(marks)) == 3
    rows[0, 5] += 1e-6
    assert fingerprints(rows).tolist()[0] != marks[0]


def test_exchanged_values_change_a_fingerprint():
    rows = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
    first, second = fingerprints(rows).tolist()
    assert first != second


def test_fingerprints_of_a_copy_in_bfloat16():
    rows = torch.randn(3, 8).to(torch.bfloat16)
    assert fingerprints(rows).tolist() == fingerprints(rows.clone()).tolist()


def test_nothing_is_captured_without_a_gpu():
    assert not is_capturing()


class Elsewhere(torch.Tensor):
    """A tensor that says it lies on an accelerator which is no GPU, as one of torch_npu does."""

    is_cpu, is_cuda = False, False
    device = torch.device("privateuseone", 0)


class Module:
    """What torch_npu gives torch for its devices: streams, events, and what they were asked for."""

    def __init__(self):
        self.asked, self.done, self.now = [], False, SimpleNamespace(stream_id=7)

    def current_stream(self, device):
        return self.now

    def stream(self, stream):
        self.asked.append(("on", stream.stream_id))
        return nullcontext()

    def set_device(self, device):
        self.asked.append(("set_device", device.index))

    def Event(self):
        return SimpleNamespace(
            record=lambda stream: self.asked.append(("record", stream.stream_id)), query=lambda: self.done
        )


@pytest.fixture
def module(monkeypatch):
    made = Module()
    monkeypatch.setattr(torch, "get_device_module", lambda kind: made)
    monkeypatch.setattr(OtherDevice, "pinned", lambda self, size: torch.empty(size, dtype=torch.uint8))
    monkeypatch.setattr(staging, "_outboxes", {})
    return made


def elsewhere(*values, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype).as_subclass(Elsewhere)


def test_what_lies_on_an_npu_leaves_by_copies_on_its_own_stream(module):
    tensor = elsewhere(3, 4, 5)
    staged, settled = staging.stage(tensor), staging.stage(elsewhere(8, 9, dtype=torch.int32), settled=True)
    tensor.add_(100)
    assert not staged.ready(), "nothing has left yet"
    staging.send()
    assert not staged.ready() and ("record", 7) in module.asked, "the device is not done"
    module.done = True
    assert staged.ready() and staged.resolve().tolist() == [3, 4, 5]
    assert settled.resolve().tolist() == [8, 9]


def test_tensors_of_an_npu_leave_together_and_halves_become_words(module):
    module.done = True
    load, places = staging.stage_all((elsewhere(1, 2), None, elsewhere(True, False, dtype=torch.bool)))
    staging.send()
    assert load.ready()
    assert [load.values(place).tolist() for place in places if place is not None] == [[1, 2], [1, 0]]


def test_a_table_on_an_npu_is_gathered_by_torch(module):
    assert staging.stage_windows(elsewhere(1, 2), elsewhere(0), elsewhere(0), 1) is None


def test_another_thread_chooses_the_device_before_it_asks(module):
    device = OtherDevice(torch.device("privateuseone", 3))
    thread = threading.Thread(target=lambda: device.query(module.Event()))
    thread.start()
    thread.join()
    assert module.asked == [("set_device", 3)]


def test_a_tensor_without_memory_is_not_taken_for_one_of_the_host(module):
    assert not staging._is_here(torch.empty(3, device="meta"))
    assert type(staging._device(torch.device("meta"))) is OtherDevice
