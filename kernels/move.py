"""`KV[tgt] <- KV[src]` on a flat pool buffer, as the engine's mover does it."""

from __future__ import annotations

from torch import Tensor


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
