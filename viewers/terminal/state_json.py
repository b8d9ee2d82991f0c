"""The pools of a process at one point as one JSON object; counts are pages, absent values null."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, TextIO

from speckv_debug.recording.slot_ranges import shorten
from speckv_debug.replay.pool_state import PoolState, Use
from speckv_debug.replay.ring_state import PageRing, RingState
from speckv_debug.replay.snapshots import Snapshot


def render(found: Snapshot, out: TextIO) -> None:
    """Pages by use and the lists of those that are rare or wrong; running requests; what is unknown."""
    value = {
        "process": found.process,
        "step": found.step,
        "seq": found.seq,
        "pools": [_pool(pool, found) for pool in found.pools],
        "not_followed": list(found.left_out),
        "requests": [asdict(request) for request in found.requests],
        "counted": [asdict(pool) | {"engine": _account(pool.pool, found)} for pool in found.counted],
        "rings": [_ring(ring) for ring in found.rings],
        "page_rings": [_ring(ring) for ring in found.page_rings],
        "recurrent": [asdict(pool) for pool in found.recurrent],
        "unknown": [asdict(each) for each in found.unseen],
    }
    out.write(json.dumps(value, indent=2) + "\n")


def _pool(pool: PoolState, found: Snapshot) -> dict[str, Any]:
    return {
        "pool": pool.pool,
        "kind": pool.kind,
        "page_size": pool.page_size,
        "whole": pool.whole,
        "pages": {use.name.lower(): count for use, count in pool.counts.items()},
        "conflict": shorten(pool.pages(Use.CONFLICT).tolist()),
        "unheld": shorten(pool.pages(Use.UNHELD).tolist()),
        "freed_still_in_a_row": list(pool.dangling),
        "why_unknown": pool.why_unknown,
        "engine": _account(pool.pool, found),
    }


def _ring(ring: RingState | PageRing) -> dict[str, Any]:
    lists = {"positions": shorten(list(ring.positions)), "rejected": shorten(list(ring.rejected))}
    return asdict(ring) | lists


def _account(pool: str, found: Snapshot) -> dict[str, Any] | None:
    account = found.accounts.get(pool)
    return None if account is None else asdict(account)
