"""State rings of C128 compressors (DeepSeek-V4): what a verify clears of them, and a whole ring at the end of its row.

The rows of the verify in the first C128 layer are looked at before and behind a clear, at level 3 its whole ring: `ring_rows`
are those that are clear where they should be, and those that became clear (level 3: changed) where they should not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang.levels import FORENSIC
from speckv_debug.collectors.sglang.requests import Batch
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import Load, fingerprints, stage_all
from speckv_debug.recording.blocks import Cut, Each

RATIO, C4_RATIO = 128, 4
CLEARS = ("clear_unaccepted_c128_draft_states",)
RESETS = ("clear_request_scoped_state", "clear_c128_req_state")
DRAFTS = ("req_pool_indices", "seq_lens", "accept_lens", "num_draft_tokens")
POOL = "c128_state"
HALVES = ("first_half", "second_half")


class RingHooks:
    """The clears of a DeepSeek-V4 pool."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._pool = c128_state_pool(scene.engine.target_pool)

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield from ()

    def methods(self) -> Iterator[Methods]:
        cls, hooks = type(self._scene.engine.target_pool), clearing_hooks(self._scene.engine.target_pool)
        if "state_clear" in hooks:
            yield Methods("state_clear", cls, CLEARS, self.clear_drafts, DRAFTS)
        if "state_reset" in hooks:
            yield Methods("state_reset", cls, RESETS, self.reset, ("req_pool_idx",))

    def clear_drafts(self, call: Call) -> Steps:
        """clear_unaccepted_c128_draft_states(req_pool_indices, seq_lens, accept_lens, num_draft_tokens)."""
        told = tuple(call[name] for name in DRAFTS[:3])
        width, count, pool = int(call["num_draft_tokens"]), int(told[0].numel()), self._pool
        if width <= 1 or not count:
            yield
            return
        whole = self._scene.level >= FORENSIC
        before = marks(pool, told[0]) if whole else clear_of(pool, told, width)[1]
        yield
        seen = (observed if whole else verified)(pool, told, width, before)
        load, places = stage_all((*told, *seen))
        whose = Batch.of(self._scene.activity.batch).first(count)
        given = (load, places, whose, width, int(pool.ring_size))
        self._scene.journal.defer("state_clear", count, load, _cleared, *given)

    def reset(self, call: Call) -> Steps:
        """clear_request_scoped_state(req_pool_idx): the row's whole ring, before the row is given to somebody else."""
        row, ring = int(call["req_pool_idx"]), int(self._pool.ring_size)
        yield
        load, places = stage_all(whole_ring(self._pool, row))
        if self._scene.level < FORENSIC:
            places = places[:1]
        given = (load, places, self._scene.activity.request.request, row, ring)
        self._scene.journal.defer("state_clear", 1, load, _emptied, *given)


def c128_state_pool(pool: Any) -> Any:
    """State of the first C128 layer, None for a pool without such layers."""
    return _state_pool(pool, RATIO)


def c4_state_pool(pool: Any) -> Any:
    """State of the first C4 layer, None for a pool without such layers."""
    return _state_pool(pool, C4_RATIO)


def ring_rows(state: Any) -> int:
    """Rows of whole rings; the last row of all stands for none, and padding before it may be less than a ring (`CompressStatePool`)."""
    size = int(state.ring_size)
    return (int(state.kv_score_buffer.kv_score.shape[0]) - 1) // size * size


def _state_pool(pool: Any, ratio: int) -> Any:
    states = getattr(pool, "compress_state_pools", None) or ()
    return next((each for each in states if getattr(each, "ratio", None) == ratio), None)


def c4_state_owner(pool: Any) -> str:
    """Whose a C4 state is: the request's (one KV layout for all, or the cycle of an A5), else the window's page."""
    module: Any = sys.modules.get(type(pool).__module__)
    cycles = getattr(module, "is_npu_arch35", None)
    by_row = getattr(pool, "_unified_kv", False) or (cycles is not None and cycles())
    return "request" if by_row else "page"


def is_online() -> bool:
    """Whether C128 states are compressed as they come: another layout, whose clear is skipped."""
    module = sys.modules.get("sglang.srt.mem_cache.deepseek_v4_memory_pool")
    return bool(getattr(module, "ONLINE_C128", False))


def clears_drafts(cls: type) -> bool:
    """Whether a pool's clear does anything: on NPUs it is an empty function in 0.5.15 to 0.5.17."""
    found = getattr(cls, CLEARS[0], None)
    code = getattr(getattr(found, "__wrapped__", found), "__code__", None)
    return code is not None and bool(code.co_names)


def clearing_hooks(pool: Any) -> tuple[str, ...]:
    """The hooks that see all clears of a pool's C128 states; none where it has none, or clears by another layout."""
    if c128_state_pool(pool) is None or is_online():
        return ()
    return ("state_clear", "state_reset") if clears_drafts(type(pool)) else ("state_reset",)


def _rows_of(pool: Any, rows: Any) -> Any:
    """Contents of the rings of request rows, [n * ring, 2 * head_dim]."""
    import torch

    ring = torch.arange(pool.ring_size, device=rows.device)
    return pool.kv_score_buffer.kv_score[(rows.long()[:, None] * pool.ring_size + ring).reshape(-1)]


def marks(pool: Any, rows: Any) -> Any:
    """A fingerprint of each ring row, [n * ring]."""
    return fingerprints(_rows_of(pool, rows))


def observed(pool: Any, told: Sequence[Any], width: int, before: Any) -> tuple[Any, Any, Any]:
    """What a clear left.

    Args:
        pool: State of one layer.
        told: Request rows, lengths and accepted rows, [n] each.
        width: Rows of the verify.
        before: `marks` before the clear.

    Returns:
        [n * ring] 1 where a ring row was cleared; [n] the largest magnitude of the first halves that are due, and the
        largest value of the second ones: 0 and -inf if they are clear.
    """
    import torch

    rows, lengths, accepted = told
    content = _rows_of(pool, rows).float()
    first, second = content.chunk(2, dim=1)
    first, second = first.abs().amax(1), second.amax(1)
    lengths, accepted = lengths.long()[:, None], accepted.long()[:, None]
    offsets = (torch.arange(pool.ring_size, device=rows.device) - lengths) % pool.ring_size
    due = ((offsets >= accepted) & (offsets < width)).reshape(-1)
    clear = (first == 0) & (second == float("-inf"))
    cleared = torch.where(due, clear, fingerprints(_rows_of(pool, rows)) != before)
    shape = (len(rows), pool.ring_size)
    worst = (
        first.where(due, 0.0).reshape(shape).amax(1),
        second.where(due, float("-inf")).reshape(shape).amax(1),
    )
    return cleared.int(), *(each.float() for each in worst)


def clear_of(pool: Any, told: Sequence[Any], width: int) -> tuple[Any, Any]:
    """Of each request the ring rows of its verify's positions, [n * width], and whether each is clear: halves at 0 and -inf."""
    import torch

    rows, lengths = told[0].long()[:, None], told[1].long()[:, None]
    local = (lengths + torch.arange(width, device=rows.device)) % pool.ring_size
    content = pool.kv_score_buffer.kv_score[(rows * pool.ring_size + local).reshape(-1)]
    first, second = content.chunk(2, dim=1)
    clear = (first == 0).all(1) & (second == float("-inf")).all(1)
    return local.reshape(-1), clear


def verified(pool: Any, told: Sequence[Any], width: int, before: Any) -> tuple[Any, Any]:
    """As `clear_of`, with 1 for what a clear emptied: what is clear and should be, or was not before.

    A position right before a boundary may be compressed without being written: then its ring row is as it was.
    """
    import torch

    local, clear = clear_of(pool, told, width)
    due = (torch.arange(width, device=clear.device) >= told[2].long()[:, None]).reshape(-1)
    return local, (clear & (due | ~before)).int()


def whole_ring(pool: Any, row: int) -> tuple[Any, Any, Any]:
    """Of a request row: [ring] 1 where a ring row is clear; [1] the largest magnitude of the first halves, of the second the largest value."""
    start = row * pool.ring_size
    content = pool.kv_score_buffer.kv_score[start : start + pool.ring_size].float()
    halves = content.chunk(2, dim=1)
    first, second = halves[0].abs().amax(1), halves[1].amax(1)
    clear = (first == 0) & (second == float("-inf"))
    return clear.int(), first.amax().reshape(1), second.amax().reshape(1)


def _emptied(load: Load, places: Sequence[int], request: str | None, row: int, ring: int) -> dict[str, Any]:
    """The columns of `state_clear` of a row that ends."""
    clear, *worst = (load.values(place) for place in places)
    named = np.flatnonzero(clear)
    halves = {name: Each(each) for name, each in zip(HALVES, worst, strict=False)}
    columns = {"pool": POOL, "request": request, "row": row, "ring_size": ring}
    return columns | {"ring_rows": Cut(named, len(named))} | halves


def _cleared(load: Load, places: Sequence[int], whose: Batch, width: int, ring: int) -> dict[str, Any]:
    """The columns of `state_clear` of one verify, once its lengths have arrived."""
    rows, lengths, accepted, *seen = (load.values(place) for place in places)
    if len(seen) == 2:
        local, clear = (each.reshape(-1, width) for each in seen)
        named, halves = np.zeros((len(rows), ring), dtype=bool), {}
        np.put_along_axis(named, local.astype(np.int64), clear.astype(bool), axis=1)
    else:
        cleared, *worst = seen
        named = cleared.reshape(-1, ring).astype(bool)
        halves = {name: Each(each) for name, each in zip(HALVES, worst, strict=True)}
    return {
        "pool": POOL,
        "request": Each(whose.requests),
        "row": Each(rows),
        "seq_len": Each(lengths),
        "accept_len": Each(accepted),
        "width": width,
        "ring_size": ring,
        "ring_rows": Cut(np.nonzero(named)[1], named.sum(1).tolist()),
        **halves,
    }
