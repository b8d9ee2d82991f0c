"""Which slots a forward may read, for a context that lies in the request table."""

from __future__ import annotations

import torch
from torch import Tensor

from speckv_debug.collectors.reference.batch import Round
from speckv_debug.collectors.reference.model import Addresses, Block
from speckv_debug.collectors.reference.table import RequestTable


def block_addresses(
    table: RequestTable,
    rows: Tensor,
    seq_lens: Tensor,
    positions: Tensor,
    slots: Tensor,
    sees: Tensor,
    *,
    settled: bool = False,
) -> Addresses:
    """A block of `w` rows behind `[0, seq_len)`: each attends to the prefix and to `sees` of its block.

    Args:
        table: Where all context slots come from, the block's own included.
        rows: `[bs]`.
        seq_lens: `[bs]`.
        positions: `[bs, w]`.
        slots: `[bs, w]` that the block is written to.
        sees: `[bs, w, w]`.
        settled: No row is a draft.
    """
    width = slots.shape[1]
    length = int(seq_lens.max()) + width
    context = table.window(rows, torch.zeros(1, dtype=torch.int64), length)
    inside = torch.arange(length)[None] - seq_lens[:, None]
    prefix, block = inside < 0, (inside >= 0) & (inside < width)
    local = inside.clamp(0, width - 1)[:, None].expand(-1, width, -1)
    own = sees.gather(2, local) & block[:, None]
    mask = prefix[:, None] | own
    behind = torch.arange(length).expand(len(inside), -1)
    return Addresses(
        positions=positions,
        slots=slots,
        context=torch.where(block | prefix, context, 0),
        mask=mask,
        behind=torch.where(block, positions.gather(1, inside.clamp(0, width - 1)), behind),
        block=Block(rows=rows, starts=seq_lens, sees=sees, settled=settled),
    )


def reach(where: Addresses) -> list[int]:
    """Exclusive end of the positions that each request of a block attends to."""
    columns = torch.arange(1, where.mask.shape[-1] + 1)
    ends: list[int] = (where.mask.any(1) * columns).amax(-1).tolist()
    return ends


def causal(size: int, width: int) -> Tensor:
    """`[size, width, width]` in which each row attends to itself and the rows before."""
    return torch.ones(width, width, dtype=torch.bool).tril().expand(size, -1, -1)


def branch_addresses(
    table: RequestTable, round_: Round, branches: Tensor, step: int, tail_stride: Tensor, page_size: int
) -> Addresses:
    """One draft step of all branches: each reads the prefix (its last page from its own copy) and itself.

    Args:
        table: Where the prefix's slots come from.
        round_: The requests.
        branches: `[bs, topk, steps]` slots of the branches.
        step: Draft step, 0-based; rows of earlier steps of the same branch are read.
        tail_stride: `[bs]` distance in the row between branches' copies of the last page, 0 if they share it.
        page_size: Of the allocator.
    """
    size, topk, _ = branches.shape
    length = round_.longest
    at = torch.arange(length)[None].expand(size, -1)
    in_tail = at >= (round_.seq_lens // page_size * page_size)[:, None]
    shift = torch.arange(topk)[None, :, None] * tail_stride[:, None, None] * in_tail[:, None]
    rows = (round_.rows * table.width)[:, None, None]
    valid = (at < round_.seq_lens[:, None])[:, None].expand(-1, topk, -1)
    prefix = table.memory[torch.where(valid, rows + at[:, None] + shift, 0)]
    context = torch.cat((prefix, branches[:, :, : step + 1]), dim=2).flatten(0, 1)
    own = torch.ones(size, topk, step + 1, dtype=torch.bool)
    mask = torch.cat((valid, own), dim=2).flatten(0, 1)[:, None]
    positions = (round_.seq_lens + step)[:, None].expand(-1, topk).reshape(-1, 1)
    behind = torch.cat((at, round_.seq_lens[:, None] + torch.arange(step + 1)), dim=1)
    return Addresses(
        positions=positions,
        slots=branches[:, :, step].reshape(-1, 1),
        context=context,
        mask=mask,
        behind=behind.repeat_interleave(topk, dim=0),
    )
