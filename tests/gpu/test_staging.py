"""Values staged on a real device: those of the stream's moment, and nobody on the engine's thread waits for them."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from speckv_debug.collectors.staging import (
    fingerprints,
    is_capturing,
    prepare,
    send,
    stage,
    stage_all,
    stage_windows,
)

pytestmark = pytest.mark.gpu
BUSY_CYCLES = 400_000_000
"""The device is busy for so long: some 0.2 s."""


@pytest.fixture(scope="module", autouse=True)
def device_is_prepared() -> None:
    prepare(torch.zeros(1, device="cuda").device)


@pytest.fixture(autouse=True)
def device_is_idle() -> Iterator[None]:
    torch.zeros(1, device="cuda").item()
    yield
    torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()


def resolved_elsewhere(staged: Any) -> list[int]:
    """The values, as another thread gets them once they have left."""
    found: list[Any] = []

    def wait() -> None:
        until = time.monotonic() + 20
        while not staged.ready() and time.monotonic() < until:
            time.sleep(0.001)
        found.append(staged.resolve())

    send()
    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    values: list[int] = found[0].tolist()
    return values


def test_a_value_is_of_its_moment_in_the_stream_and_is_not_waited_for() -> None:
    for turn in range(2):
        tensor = torch.arange(1000, dtype=torch.int32, device="cuda")
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        torch.cuda._sleep(BUSY_CYCLES)
        tensor.add_(1)
        staged = stage(tensor)
        tensor.zero_()
        send()
        there = staged.ready()
        torch.cuda.set_sync_debug_mode("default")
        assert resolved_elsewhere(staged) == list(range(1, 1001))
        assert staged.ready()
        assert (
            turn == 0 or not there
        )  # at first the driver loads kernels and makes a pinned buffer, and waits


def test_a_tensor_that_is_let_go_is_kept_until_it_is_copied() -> None:
    torch.cuda._sleep(BUSY_CYCLES)
    staged = [stage(torch.full((5000,), k, dtype=torch.int64, device="cuda")) for k in range(20)]
    again = [torch.full((5000,), -1, dtype=torch.int64, device="cuda") for _ in range(20)]
    assert [set(resolved_elsewhere(value)) for value in staged] == [{k} for k in range(20)]
    assert all(bool((tensor == -1).all()) for tensor in again)


def test_a_side_stream_s_value_is_of_that_stream() -> None:
    tensor = torch.zeros(64, dtype=torch.int64, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(BUSY_CYCLES)
        tensor.fill_(7)
        staged = stage(tensor)
    assert resolved_elsewhere(staged) == [7] * 64


def test_buffers_are_used_again_without_mixing_values() -> None:
    for turn in range(200):
        staged = [stage(torch.full((60 + k,), turn * 10 + k, device="cuda")) for k in range(4)]
        assert [set(resolved_elsewhere(value)) for value in staged] == [{turn * 10 + k} for k in range(4)]


def test_many_tensors_of_any_kind_leave_together() -> None:
    for turn in range(100):
        longs, ints = (
            torch.full((9,), turn, device="cuda"),
            torch.full((40_000,), turn, dtype=torch.int32).cuda(),
        )
        flags, column = (
            torch.tensor([turn % 2 == 0], device="cuda"),
            torch.arange(12, device="cuda").view(3, 4)[:, 1],
        )
        load, places = stage_all((longs, ints, None, flags, column, longs[:0]))
        again, more = stage_all((ints, longs))
        send()
        torch.cuda.synchronize()
        assert load.ready() and again.ready()
        found = [None if place is None else load.values(place).tolist() for place in places]
        assert found == [[turn] * 9, [turn] * 40_000, None, [turn % 2 == 0], [1, 5, 9], []]
        assert again.values(more[1] or 0).tolist() == [turn] * 9


@pytest.mark.parametrize("kind", [torch.int64, torch.int32])
def test_windows_of_rows_are_those_of_torch(kind: torch.dtype) -> None:
    table = torch.randint(0, 1 << 30, (40, 700), dtype=torch.int32, device="cuda")
    for width in (1, 10, 128, 300):
        rows = torch.randint(0, 40, (17,), device="cuda")
        starts = torch.randint(0, 699, (17,), dtype=kind, device="cuda")
        staged = stage_windows(table, rows, starts, width)
        assert staged is not None, "the kernel is used here"
        columns = (starts[:, None].long() + torch.arange(width, device="cuda")).clamp(max=699)
        due = table[rows[:, None], columns].flatten().tolist()
        table.add_(1)
        assert resolved_elsewhere(staged) == due


def test_capturing_is_seen() -> None:
    assert not is_capturing()
    tensor, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tensor.add_(1)
        seen = is_capturing()
    assert seen and not is_capturing()


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32, torch.int64])
def test_fingerprints_are_the_cpu_s_and_wait_for_nothing(kind: torch.dtype) -> None:
    rows = torch.randint(-1000, 1000, (30, 64)).to(kind)
    there = rows.cuda()
    torch.cuda.set_sync_debug_mode("error")
    found = fingerprints(there)
    torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(found.cpu(), fingerprints(rows))
