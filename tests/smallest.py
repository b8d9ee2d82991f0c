"""The smallest example as a verify: R, A, B, C drafted, R, A, C accepted."""

from __future__ import annotations

import dataclasses
from typing import Any

from speckv_debug.model.verify import DraftTree, KVBounds, SlotMove, VerifyStep

LABEL = "tp0-pp0-dp0-4711"
BROKEN_STEP = 812


def smallest_step(**changes: Any) -> VerifyStep:
    """R, A, B, C at slots 42080 to 42083 of page size 128; R, A, C are accepted, the bonus is 31."""
    step = VerifyStep(
        process=LABEL,
        seq=5000,
        step=BROKEN_STEP,
        request="7",
        row=7,
        epoch=1,
        algorithm="eagle",
        sampling="greedy",
        seq_len=4096,
        accept_len=3,
        new_seq_len=4099,
        bonus_token=31,
        block_start=0,
        tree=DraftTree(tokens=(11, 21, 22, 23), parents=(-1, 0, 0, 1), positions=(4096, 4097, 4097, 4098)),
        accepted=(0, 1, 3),
        output_tokens=(21, 23, 31),
        kv_tokens=(11, 21, 23),
        out_cache_loc=(42080, 42081, 42082, 42083),
        predict=(21, 23, 0, 31),
        moves=smallest_moves(),
        bounds=KVBounds(committed=4096, allocated=4352),
        page_size=128,
    )
    return dataclasses.replace(step, **changes)


def smallest_moves(*, ran: tuple[int, int] = (42083, 42082)) -> tuple[SlotMove, ...]:
    """The three moves due; `ran` is the (source, target) that the engine passed for the last one."""
    due = ((0, 11, 0, 42080, 42080), (1, 21, 1, 42081, 42081), (2, 23, 3, 42083, 42082))
    return tuple(
        SlotMove(
            k=k,
            token=token,
            verify_row=row,
            position=4096 + k,
            source=source,
            target=target,
            engine_source=ran[0] if k == 2 else source,
            engine_target=ran[1] if k == 2 else target,
        )
        for k, token, row, source, target in due
    )
