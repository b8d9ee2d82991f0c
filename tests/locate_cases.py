"""Batches for the small kernels around a verify, and what Triton makes of them beside torch.

Each check draws its case from `toss`; Triton runs on `device`, interpreted where that is the CPU, torch on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor

from speckv_debug.kernels import compact, locate_torch, pack, state


class Batch(NamedTuple):
    """Requests behind a verify: int32 or int64 as engines have them.

    `w` rows a request, `W` columns of accept_index, `row_width` entries a row of the flat table.
    """

    table: Tensor
    row_width: int
    rows: Tensor
    seq_lens: Tensor
    out_cache_loc: Tensor
    accept_index: Tensor
    accept_lens: Tensor
    w: int


def batch_of(toss: Random, most: int = 7) -> Batch:
    """A batch whose accepted rows rise, as in every engine, with -1 behind them."""
    bs, w = toss.randrange(most + 1), toss.randrange(1, 9)
    width, row_width = toss.randrange(1, w + 1), toss.randrange(w + 8, 60)
    lens = [toss.randrange(1, width + 1) for _ in range(bs)]
    paths = [sorted(toss.sample(range(w), n)) for n in lens]
    index = [[i * w + row for row in path] + [-1] * (width - len(path)) for i, path in enumerate(paths)]
    rows = toss.sample(range(bs + 3), bs)
    slots = [toss.randrange(1, 1000) for _ in range(bs * w)]
    return Batch(
        table=torch.tensor(toss.choices(range(1000), k=(bs + 3) * row_width), dtype=torch.int32),
        row_width=row_width,
        rows=torch.tensor(rows, dtype=torch.int64),
        seq_lens=torch.tensor([toss.randrange(row_width - w) for _ in rows], dtype=torch.int64),
        out_cache_loc=torch.tensor(slots, dtype=torch.int64).view(bs, w),
        accept_index=torch.tensor(index, dtype=torch.int32).view(bs, width),
        accept_lens=torch.tensor(lens, dtype=torch.int32),
        w=w,
    )


def check_locate(toss: Random, device: str, most: int = 7) -> None:
    """All of `locate.py`, its targets by both ways."""
    from speckv_debug.kernels import locate_triton

    b = batch_of(toss, most)
    size = toss.choice([b.accept_index.numel(), int(b.accept_lens.sum()), 3])
    tokens = torch.tensor(toss.choices(range(500), k=b.out_cache_loc.numel()), dtype=torch.int32)
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("row_slots", (b.table, b.row_width, b.rows, b.seq_lens, b.w)),
        ("row_slots_ragged", (b.table, b.row_width, b.rows, b.seq_lens, b.seq_lens + b.accept_lens, size)),
        ("front_slots", (b.out_cache_loc, b.accept_lens, size)),
        ("accepted_sources", (b.out_cache_loc, b.accept_index)),
        ("accepted_pairs", (b.out_cache_loc, b.accept_index, b.accept_lens)),
        ("bonus_tokens", (tokens, b.accept_lens, b.w)),
        ("new_lengths", (b.seq_lens, b.accept_lens)),
        ("commit_outputs", (tokens, b.accept_index, b.accept_lens, b.seq_lens)),
    ]
    for name, args in calls:
        got = getattr(locate_triton, name)(*(on(device, a) for a in args))
        due = getattr(locate_torch, name)(*args)
        assert agree(got, due), (name, args, got, due)


def on(device: str, value: Any) -> Any:
    """A tensor on the device, anything else as it is."""
    return value.to(device) if isinstance(value, Tensor) else value


def agree(left: Any, right: Any) -> bool:
    """Equal bit for bit, shapes and dtypes too."""
    if isinstance(left, tuple):
        return all(agree(a, b) for a, b in zip(left, right, strict=True))
    same: bool = left.dtype == right.dtype and torch.equal(left.cpu(), right)
    return same


def check_compact(toss: Random, device: str, most: int = 7) -> None:
    """Predict and hidden states, of any width."""
    from speckv_debug.kernels import compact_triton

    b = batch_of(toss, most)
    behind = toss.choice([(), (1,), (40,), (3, 5)])
    kind = toss.choice([torch.int32, torch.int64, torch.bfloat16, torch.float32, torch.uint8])
    x = torch.randint(200, (b.out_cache_loc.numel(), *behind), dtype=torch.int32).to(kind)
    got = compact_triton.compact_accepted(x.to(device), b.accept_index.to(device), b.w)
    assert agree(got, compact.compact_accepted(x, b.accept_index, b.w)), (b, x)


def check_state(toss: Random, device: str, most: int = 7) -> None:
    """Cleared rings, and both kinds of steps."""
    from speckv_debug.kernels import state_triton

    b = batch_of(toss, most)
    ring, half = toss.choice([4, 16]), toss.choice([1, 5, 32])
    rings = torch.rand((len(b.rows) + 3) * ring, 2 * half).to(toss.choice([torch.float32, torch.bfloat16]))
    there = rings.to(device, copy=True)
    requests = (b.rows, b.seq_lens, b.accept_lens)
    state_triton.clear_unaccepted_rows(there, *(t.to(device) for t in requests), ring, b.w)
    state.clear_unaccepted_rows(rings, *requests, ring_size=ring, num_draft_tokens=b.w)
    assert torch.equal(there.cpu(), rings), (b, ring, half)
    interval = toss.choice([1, 4, 7])
    index, lens, seq = (t.to(device) for t in (b.accept_index, b.accept_lens, b.seq_lens))
    kept = state_triton.kept_steps(index, lens, None, b.w, 1)
    tracked = state_triton.kept_steps(index, lens, seq, b.w, interval)
    assert agree(kept, state.commit_steps(b.accept_index, b.accept_lens, b.w)), b
    due = state.track_steps(b.accept_index, b.accept_lens, b.seq_lens, b.w, interval)
    assert agree(tracked, due), (b, interval)


def check_pack(toss: Random, device: str, most: int = 7) -> None:
    """What comes out is what went in, and the CPU's buffer looks the same."""
    from speckv_debug.kernels import pack_triton

    kinds = toss.choice([[torch.int32, torch.int64], [torch.bool, torch.int16, torch.int64]])
    shapes = [
        toss.choice([(), (0,), (1,), (toss.randrange(40),), (3, toss.randrange(30))]) for _ in range(most)
    ]
    tensors = [torch.randint(2, shape, dtype=torch.int32).to(toss.choice(kinds)) for shape in shapes]
    places, size = pack.packed_places(tensors)
    out = torch.zeros(size, dtype=torch.uint8, device=device)
    pack_triton.pack([t.to(device) for t in tensors], places, out)
    assert torch.equal(out.cpu(), pack.pack(tensors, torch.zeros(size, dtype=torch.uint8)).buffer), tensors
    back = pack.unpack(pack.Packed(out.cpu(), places))
    assert all(agree(a, b) for a, b in zip(back, tensors, strict=True))


CHECKS: dict[str, Callable[[Random, str], None]] = {
    "locate": check_locate,
    "compact": check_compact,
    "state": check_state,
    "pack": check_pack,
}
