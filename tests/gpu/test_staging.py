"""Values staged on a real device: those of the stream's moment, and nobody on the engine's thread waits for them."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from speckv_debug.collectors.staging import fingerprints, is_capturing, stage

pytestmark = pytest.mark.gpu
BUSY_CYCLES = 400_000_000
"""The device is busy for so long: some 0.2 s."""


@pytest.fixture(autouse=True)
def device_is_idle() -> Iterator[None]:
    torch.zeros(1, device="cuda").item()
    yield
    torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()


def resolved_elsewhere(staged: Any) -> list[int]:
    """The values, as another thread gets them."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(staged.resolve()))
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
        assert [set(value.resolve().tolist()) for value in staged] == [{turn * 10 + k} for k in range(4)]


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
