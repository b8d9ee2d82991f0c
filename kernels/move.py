"""`KV[tgt] <- KV[src]` over all components of a pool, and the engine's own chunked mover on one buffer."""

from __future__ import annotations

import torch
from torch import Tensor

from speckv_debug.kernels.slots import SlotBuffers


def move_slots(buffers: SlotBuffers, targets: Tensor, sources: Tensor) -> None:
    """Copy slots `sources` onto slots `targets` in all components, in place, as if all were read before any is written.

    Pairs of a slot with itself, the padding (0, 0) among them, are dropped first; of the others that share
    a target the last one wins. So the result is defined for any list: chains, swaps, and one source for several targets.

    On the GPU one launch plans and one copies (two plan beyond 1024 pairs; one copies for each layout that occurs among
    the components, and starts while the plan is made where the GPU can). Nothing is synchronised, and a CUDA graph may
    hold the call. A pair that names a slot outside the pool moves nothing there; on the CPU it raises IndexError.

    SGLang 0.5.12 to 0.5.23 `move_kv_cache` of `MHATokenToKVPool` (also HND, native), `MLATokenToKVPool` and
    `DSATokenToKVPool` (0.5.23 `index_key_cache.move`): equal where targets differ and, for the tiled mover,
    where no chunk of its 128 or 256 pairs writes what a later one reads. Swizzled scales (native NVFP4, interleaved MXFP8)
    have no view in `slots.py`.

    Args:
        buffers: The pool.
        targets: `[n]` int32 or int64, on the pool's device.
        sources: `[n]`, likewise.
    """
    if buffers.device.type == "cuda":
        from speckv_debug.kernels import move_triton

        move_triton.move_slots(buffers, targets, sources)
        return
    _move_on_cpu(buffers, targets, sources)


def _move_on_cpu(buffers: SlotBuffers, targets: Tensor, sources: Tensor) -> None:
    pairs = moving_pairs(targets, sources)
    if bool((pairs < 0).any()):
        raise IndexError("a slot is negative")
    for view in buffers.components:
        (to_page, from_page), (to_offset, from_offset) = pairs // view.shape[1], pairs % view.shape[1]
        view[to_page, to_offset] = view[from_page, from_offset]


def moving_pairs(targets: Tensor, sources: Tensor) -> Tensor:
    """Targets and sources `[2, m]` of the pairs that move something, one for each target that is written."""
    last = {t: s for t, s in zip(targets.tolist(), sources.tolist(), strict=True) if t != s}
    return torch.tensor([list(last), list(last.values())], dtype=torch.int64)


def move_rows(buffer: Tensor, targets: Tensor, sources: Tensor, *, chunk: int = 256) -> None:
    """Copy rows `sources` of `buffer` onto rows `targets`, in place.

    Inside a chunk all sources are read before the first target is written; chunks run one after the
    other, so a target of an earlier chunk must not be the source of a later one (law MOV-HAZARD).
    SGLang `copy_all_layer_kv_cache_func`, chunks of at most 256 locations.

    Args:
        buffer: `[rows, ...]` one component of one layer.
        targets: `[n]` int64.
        sources: `[n]` int64.
        chunk: Pairs that are copied at once.
    """
    for start in range(0, len(targets), chunk):
        part = slice(start, start + chunk)
        buffer[targets[part]] = buffer[sources[part]]
