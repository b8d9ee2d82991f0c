"""Move and pack on the device: far slots, no synchronisation, and CUDA graphs that follow what stands in their buffers."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from speckv_debug.kernels.fingerprint import fingerprints
from speckv_debug.kernels.move import move_slots
from speckv_debug.kernels.pack import pack, unpack
from speckv_debug.kernels.slots import SlotBuffers, page_view, row_view

pytestmark = pytest.mark.gpu
SLOTS, PAGE = 6000, 4


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """What would wait for the device raises."""
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


def two_layouts() -> tuple[list[Tensor], SlotBuffers]:
    """Rows and pages by head; what the pool keeps for the GPU is made."""
    rows = torch.arange(SLOTS * 64, dtype=torch.int32, device="cuda").view(SLOTS, 64)
    pages = torch.arange(SLOTS * 32, dtype=torch.int32, device="cuda").view(SLOTS // PAGE, 2, PAGE, 16)
    pool = SlotBuffers([row_view(rows), page_view(pages, "HND")])
    move_slots(pool, *torch.zeros(2, 1, dtype=torch.int64, device="cuda"))
    return [rows, pages.transpose(1, 2)], pool


def held(buffers: list[Tensor], slots: Tensor) -> list[Tensor]:
    """What each buffer has in those slots."""
    rows, pages = buffers
    return [rows[slots], pages[slots // PAGE, slots % PAGE]]


def test_slots_behind_element_2_to_the_31_are_moved() -> None:
    slots = (1 << 33) // 2048 + 9000
    far = torch.zeros(slots, 512, dtype=torch.int32, device="cuda")
    assert far.numel() > 1 << 31
    content = torch.arange(slots - 4096, slots, device="cuda", dtype=torch.int32)
    far[-4096:] = content[:, None] + torch.arange(512, device="cuda", dtype=torch.int32)
    pool = SlotBuffers([row_view(far)])
    targets = torch.arange(4096, device="cuda") + slots - 4096
    sources = torch.randperm(4096, device="cuda") + slots - 4096
    before, due = fingerprints(pool, sources), far[sources]
    move_slots(pool, targets, sources)
    assert torch.equal(far[targets], due)
    assert torch.equal(fingerprints(pool, targets), before)
    assert not bool(far[:-4096].any())
    move_slots(pool, targets - targets.min(), targets)
    assert torch.equal(far[:4096], due)


@pytest.mark.parametrize("n", [1, 40, 1024, 1025, 3000])
@pytest.mark.parametrize("overlapping", [False, True])
def test_a_move_waits_for_nothing(n: int, overlapping: bool, no_waiting: None) -> None:
    torch.cuda.set_sync_debug_mode("default")
    buffers, pool = two_layouts()
    targets, others = torch.randperm(SLOTS, device="cuda")[: 2 * n].split(n)
    sources = targets.roll(1) if overlapping else others
    due = held(buffers, sources)
    torch.cuda.set_sync_debug_mode("error")
    move_slots(pool, targets, sources)
    torch.cuda.set_sync_debug_mode("default")
    assert all(map(torch.equal, held(buffers, targets), due))


@pytest.mark.parametrize("n", [30, 1500])
def test_a_captured_move_follows_the_pairs_in_its_buffers(n: int) -> None:
    buffers, pool = two_layouts()
    targets, sources = (torch.zeros(n, dtype=torch.int64, device="cuda") for _ in range(2))
    move_slots(pool, targets, sources)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        move_slots(pool, targets, sources)
    for seed in range(40):
        torch.manual_seed(seed)
        some = torch.randperm(SLOTS, device="cuda")
        targets.copy_(some[:n])
        sources.copy_(torch.randint(SLOTS, (n,), device="cuda") if seed % 2 else some[n : 2 * n])
        due = held(buffers, sources)
        graph.replay()
        assert all(map(torch.equal, held(buffers, targets), due)), seed
        assert bool((pool.claims == -1).all()), seed


def test_moves_right_behind_each_other_see_what_the_last_one_left() -> None:
    buffers, pool = two_layouts()
    due = held(buffers, torch.arange(SLOTS, device="cuda"))[0]
    for turn in range(200):
        torch.manual_seed(turn)
        n = (40, 1500)[turn % 2]
        some = torch.randperm(SLOTS, device="cuda")
        targets = some[:n]
        sources = torch.randint(SLOTS, (n,), device="cuda") if turn % 3 == 0 else some[n : 2 * n]
        due[targets] = due[sources]
        move_slots(pool, targets, sources)
    assert torch.equal(buffers[0], due)


def test_a_pack_waits_for_nothing(no_waiting: None) -> None:
    made = [torch.full((size,), size, device="cuda", dtype=torch.int32) for size in range(1, 90)]
    out = torch.empty(1 << 16, dtype=torch.uint8, device="cuda")
    packed = pack(made, out)
    torch.cuda.set_sync_debug_mode("default")
    assert all(map(torch.equal, unpack(packed), made))


def test_a_captured_pack_takes_what_stands_in_its_tensors() -> None:
    made = [torch.zeros(size, dtype=torch.int64, device="cuda") for size in (1, 7, 300)]
    out = torch.zeros(1 << 12, dtype=torch.uint8, device="cuda")
    pack(made, out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        packed = pack(made, out)
    for value in range(5):
        for tensor in made:
            tensor.fill_(value)
        graph.replay()
        assert all(map(torch.equal, unpack(packed), made))
