"""Faults in the addresses that forwards write to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from speckv_debug.collectors.reference.batch import Chunk
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.faults.shot import Shot, wrap
from speckv_debug.collectors.reference.request import Request

Refresh = Callable[[Tensor, int], Tensor]


def frozen_addresses(engine: Engine, shot: Shot) -> None:
    """One replay runs without its buffer being loaded."""
    buffer, loaded = engine.verifier.addresses, [0]

    def around(refresh: Refresh) -> Refresh:
        def faulty(out_cache_loc: Tensor, padded: int) -> Tensor:
            size, loaded[0] = loaded[0], len(out_cache_loc)
            stale = torch.nonzero(buffer.values[: len(out_cache_loc)] != out_cache_loc).flatten().tolist()
            if size == len(out_cache_loc) and stale:
                at = stale[0] // engine.config.num_draft_tokens
                if shot.due(engine.observer.step, engine.running[at].id):
                    return buffer.values[:padded]
            return refresh(out_cache_loc, padded)

        return faulty

    wrap(buffer, "refresh", around)


def frozen_lengths(engine: Engine, shot: Shot) -> None:
    """One replay attends with the lengths that its static buffer held in the round before."""
    buffer, loaded = engine.verifier.lengths, [0]

    def around(refresh: Refresh) -> Refresh:
        def faulty(seq_lens: Tensor, padded: int) -> Tensor:
            size, loaded[0] = loaded[0], len(seq_lens)
            stale = torch.nonzero(buffer.values[: len(seq_lens)] != seq_lens).flatten().tolist()
            if (
                size == len(seq_lens)
                and stale
                and shot.due(engine.observer.step, engine.running[stale[0]].id)
            ):
                return buffer.values[:padded]
            return refresh(seq_lens, padded)

        return faulty

    wrap(buffer, "refresh", around)


def stale_padding(engine: Engine, shot: Shot) -> None:
    """The rows that pad a captured batch keep the addresses of an earlier, larger batch: by now live KV."""
    buffer = engine.verifier.addresses
    never_zeroed = buffer.values.clone()
    shot.occasion = 1

    def around(refresh: Refresh) -> Refresh:
        def faulty(out_cache_loc: Tensor, padded: int) -> Tensor:
            never_zeroed[: len(out_cache_loc)] = out_cache_loc
            stale = never_zeroed[len(out_cache_loc) : padded]
            live = {slot for r in engine.running for slot in engine.table.slots(r, 0, r.committed)}
            live.update(slot for node in engine.tree.nodes() for slot in node.slots)
            slots = refresh(out_cache_loc, padded)
            if live.intersection(stale.tolist()) and shot.due(engine.observer.step, None):
                slots[len(out_cache_loc) :] = stale
            return slots

        return faulty

    wrap(buffer, "refresh", around)


def _spoil_window(engine: Engine, spoil: Callable[[Tensor, int], None]) -> None:
    """Let `spoil` change `out_cache_loc` `[padded bs, w]`; it is told the number of requests."""

    def around(locate: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def faulty(table_slots: Tensor) -> Tensor:
            padded = locate(table_slots).clone()
            spoil(padded, len(table_slots))
            return padded

        return faulty

    wrap(engine.verifier, "locate", around)


def duplicated_slots(engine: Engine, shot: Shot) -> None:
    """The second row of a window gets the slot of the first."""

    def spoil(padded: Tensor, size: int) -> None:
        if shot.due(engine.observer.step, engine.running[size - 1].id):
            padded[size - 1, 1] = padded[size - 1, 0]

    _spoil_window(engine, spoil)


def prefill_in_prefix(engine: Engine, shot: Shot) -> None:
    """The first chunk behind a prefix of the tree begins one page before the prefix ends."""
    page_size = engine.config.page_size
    shot.occasion = 1

    def around(extend: Callable[[Chunk], list[int]]) -> Callable[[Chunk], list[int]]:
        def faulty(chunk: Chunk) -> list[int]:
            hit = chunk.request.node is not None and 0 < chunk.start == chunk.request.protected
            if hit and shot.due(engine.observer.step, chunk.request.id):
                return extend(replace(chunk, start=chunk.start - page_size))
            return extend(chunk)

        return faulty

    wrap(engine, "_extend", around)


def slot_out_of_range(engine: Engine, shot: Shot) -> None:
    """The root's slot is off by the size of the pool."""

    def spoil(padded: Tensor, size: int) -> None:
        if shot.due(engine.observer.step, engine.running[size - 1].id):
            padded[size - 1, 0] += engine.pool.size

    _spoil_window(engine, spoil)


def row_too_narrow(engine: Engine, shot: Shot) -> None:
    """The table was built too narrow; report the first write beyond a row's end."""
    table = engine.table
    shot.occasion = 1

    def around(write: Callable[..., None]) -> Callable[..., None]:
        def watching(request: Request, start: int, slots: Sequence[int]) -> None:
            write(request, start, slots)
            if start + len(slots) > table.width:
                shot.due(engine.observer.step, request.id)

        return watching

    wrap(table, "write", around)


PLANTS: dict[str, Callable[[Engine, Shot], Any]] = {
    "addresses-frozen-at-capture": frozen_addresses,
    "lengths-frozen-at-capture": frozen_lengths,
    "padded-row-writes-live-slots": stale_padding,
    "verify-slots-duplicated": duplicated_slots,
    "prefill-starts-in-the-prefix": prefill_in_prefix,
    "slot-out-of-range": slot_out_of_range,
    "row-too-narrow": row_too_narrow,
}
