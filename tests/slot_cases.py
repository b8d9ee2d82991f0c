"""Pools of every layout and lists of pairs of every kind, and what Triton makes of them beside torch.

Each check draws its case from `toss`; Triton runs on `device`, interpreted where that is the CPU, torch on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import torch
from torch import Tensor

from speckv_debug.kernels import fingerprint, move
from speckv_debug.kernels.slots import SlotBuffers, packed_view, page_view, row_view

Views = Callable[[list[Tensor]], list[Tensor]]


def filled(toss: Random, *shape: int, dtype: torch.dtype = torch.uint8) -> Tensor:
    """Random bytes, read as `dtype`: any pattern, NaN among them."""
    size = torch.empty(0, dtype=dtype).element_size()
    generator = torch.Generator().manual_seed(toss.getrandbits(32))
    raw = torch.randint(256, (*shape[:-1], shape[-1] * size), generator=generator, dtype=torch.uint8)
    return raw.view(dtype)


def _rows(
    *shapes: tuple[tuple[int, ...], torch.dtype],
) -> Callable[[Random, int], tuple[list[Tensor], Views]]:
    def make(toss: Random, slots: int) -> tuple[list[Tensor], Views]:
        raws = [filled(toss, slots, *shape, dtype=dtype) for shape, dtype in shapes]
        return raws, lambda held: [row_view(raw) for raw in held]

    return make


def _head_pages(toss: Random, slots: int) -> tuple[list[Tensor], Views]:
    raws = [filled(toss, slots // 4, 3, 4, 8, dtype=torch.int16) for _ in range(3)]
    return raws, lambda held: [page_view(raw, "HND") for raw in held]


def _envelope(toss: Random, slots: int) -> tuple[list[Tensor], Views]:
    """K and V of two layers, interleaved in each page of one buffer."""
    raw = filled(toss, slots // 4, 4, 4 * 16, dtype=torch.int16)

    def views(held: list[Tensor]) -> list[Tensor]:
        parts = (held[0][:, :, 16 * k : 16 * k + 16] for k in range(4))
        return [page_view(part.unflatten(2, (2, 8))) for part in parts]

    return [raw], views


def _latent_and_index(toss: Random, slots: int) -> tuple[list[Tensor], Views]:
    """An MLA latent, and indexer keys with their scales behind them in each page."""
    raws = [filled(toss, slots, 1, 36, dtype=torch.bfloat16), filled(toss, slots // 4, 4 * (32 + 4))]

    def views(held: list[Tensor]) -> list[Tensor]:
        latent, packed = held
        return [row_view(latent), packed_view(packed, 4, 0, 32), packed_view(packed, 4, 128, 4)]

    return raws, views


POOLS: dict[str, Callable[[Random, int], tuple[list[Tensor], Views]]] = {
    "rows": _rows(*[((2, 8), torch.bfloat16)] * 4),
    "rows with scales": _rows(
        ((2, 16), torch.float8_e4m3fn), ((2, 16), torch.float8_e4m3fn), ((2,), torch.float32)
    ),
    "odd rows": _rows(((7,), torch.uint8), ((3,), torch.int16)),
    "pages by head": _head_pages,
    "page envelope": _envelope,
    "latent and index": _latent_and_index,
}


def chain(toss: Random, slots: int, count: int) -> tuple[list[int], list[int]]:
    """Each pair reads what its neighbour writes, forwards or backwards."""
    first = toss.randrange(slots)
    path = [(first + k) % slots for k in range(min(count, slots - 1) + 1)]
    pairs = path[:-1], path[1:]
    return pairs if toss.random() < 0.5 else (pairs[1][::-1], pairs[0][::-1])


def shuffled(toss: Random, slots: int, count: int) -> tuple[list[int], list[int]]:
    """Targets that differ, sources that are targets of others too."""
    some = toss.sample(range(slots), min(count, slots))
    return some, toss.sample(some, len(some))


def apart(toss: Random, slots: int, count: int) -> tuple[list[int], list[int]]:
    """No source is a target."""
    some = toss.sample(range(slots), min(2 * count, slots) // 2 * 2)
    return some[::2], some[1::2]


def anything(toss: Random, slots: int, count: int) -> tuple[list[int], list[int]]:
    """Targets that occur twice, pairs of a slot with itself."""
    return [toss.randrange(slots) for _ in range(count)], [toss.randrange(slots) for _ in range(count)]


PAIRS = {"chain": chain, "shuffled": shuffled, "apart": apart, "anything": anything}


def pair_list(toss: Random, slots: int, most: int) -> tuple[Tensor, Tensor]:
    """A list of one kind, some of it padding."""
    count = toss.choice([0, 1, most // 3, most])
    targets, sources = PAIRS[toss.choice(sorted(PAIRS))](toss, slots, count)
    padding = [0] * toss.choice([0, 0, 3])
    kind = toss.choice([torch.int32, torch.int64])
    return torch.tensor(targets + padding, dtype=kind), torch.tensor(sources + padding, dtype=kind)


def pool_of(
    name: str, toss: Random, slots: int, device: str
) -> tuple[list[Tensor], SlotBuffers, SlotBuffers]:
    """The same pool twice: its views on the device, and on the CPU in memory of their own."""
    raws, views = POOLS[name](toss, slots)
    here = [raw.clone() for raw in raws]
    there = [raw.to(device) for raw in raws]
    return there, SlotBuffers(views(there)), SlotBuffers(views(here))


def check_move(toss: Random, device: str, slots: int = 48, most: int = 30) -> None:
    """The pool holds the same bytes after both, what belongs to no slot included, and no claim is left."""
    from speckv_debug.kernels import move_triton

    name = toss.choice(sorted(POOLS))
    _, there, here = pool_of(name, toss, slots, device)
    tuning = move_triton.Tuning(
        tile_bytes=toss.choice([128, 512, 32768]),
        slice_bytes=toss.choice([16, 256]),
        chunk=toss.choice([16, 128]),
        alone=toss.choice([0, 1024]),
        overlap=toss.choice([False, True]),
    )
    for _ in range(2):
        targets, sources = pair_list(toss, slots, most)
        move_triton.move_slots(there, targets.to(device), sources.to(device), tuning)
        move.move_slots(here, targets, sources)
        assert same_bytes(there.components, here.components), (name, targets, sources, tuning)
        assert bool((there.claims == -1).all()), "a claim is left"


def same_bytes(left: Sequence[Tensor], right: Sequence[Tensor]) -> bool:
    """Whether views hold the same, wherever they lie."""
    return all(torch.equal(a.cpu(), b.cpu()) for a, b in zip(left, right, strict=True))


def check_fingerprint(toss: Random, device: str, slots: int = 48, most: int = 30) -> None:
    """The GPU's value is the CPU's."""
    from speckv_debug.kernels import fingerprint_triton

    name = toss.choice(sorted(POOLS))
    _, there, here = pool_of(name, toss, slots, device)
    chosen = torch.tensor(
        [toss.randrange(slots) for _ in range(toss.choice([0, 1, most]))], dtype=torch.int64
    )
    tuning = fingerprint_triton.Tuning(tile=toss.choice([64, 4096]), rows=toss.choice([2, 8]))
    got = fingerprint_triton.fingerprints(there, chosen.to(device), tuning)
    assert torch.equal(got.cpu(), fingerprint.fingerprints(here, chosen)), (name, chosen, tuning)
