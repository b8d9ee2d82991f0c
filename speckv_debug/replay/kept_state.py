"""Recurrent state as it stands at one event: behind which tokens each request's is, and which states the prefix tree has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.recurrent import KIND

COMMIT = ("step", "pool", "row", "step_index")
ACCEPT = ("step", "row", "seq_len", "accept_len")
CACHE = ("action", "node", "slots", "pool", "key_len")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptState:
    """The state that a request's row goes on from.

    Attributes:
        step: Of the commit.
        verify_row: Behind which row of the verify it stands.
        tokens: How many tokens it has seen, None where the accept of the step is not known.
    """

    row: int
    step: int | None
    verify_row: int | None
    tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedState:
    """A slot of state that a node of the prefix tree has, behind so many tokens."""

    slot: int
    node: int | None
    tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentPool:
    """What one pool of recurrent state holds for the requests that run and for the tree."""

    pool: str
    kept: tuple[KeptState, ...]
    tracked: tuple[TrackedState, ...]


def recurrent_pools(process: ProcessRecording, seq: int, rows: Collection[int]) -> tuple[RecurrentPool, ...]:
    """The pools of recurrent state after event `seq`, of these request rows; none where nothing was recorded of any."""
    names = [pool.name for pool in process.info.pools if pool.kind == KIND]
    if not names:
        return ()
    found = [
        RecurrentPool(
            pool=name,
            kept=tuple(_kept(process, name, seq, rows)),
            tracked=tuple(_tracked(process, name, seq)),
        )
        for name in names
    ]
    return tuple(pool for pool in found if pool.kept or pool.tracked)


def _kept(process: ProcessRecording, pool: str, seq: int, rows: Collection[int]) -> Iterator[KeptState]:
    commit = Columns(process.columns("state_commit", *COMMIT))
    mine = np.flatnonzero(commit.texts("pool").equal(pool) & (commit.ints("seq") <= seq))
    last = {int(commit.ints("row")[k]): k for k in mine.tolist()}
    accept = Columns(process.columns("accept", *ACCEPT))
    for row, k in sorted(last.items()):
        if row in rows:
            yield KeptState(
                row=row,
                step=commit.int_at("step", k),
                verify_row=commit.int_at("step_index", k),
                tokens=_tokens(accept, row, commit.int_at("step", k)),
            )


def _tokens(accept: Columns, row: int, step: int | None) -> int | None:
    """Committed tokens behind the verify of a step and row."""
    if step is None:
        return None
    found = np.flatnonzero((accept.ints("row") == row) & (accept.ints("step") == step))
    length, n = (accept.ints(name)[found] for name in ("seq_len", "accept_len"))
    known = len(found) == 1 and NULL not in (length[0], n[0])
    return int(length[0] + n[0]) if known else None


def _tracked(process: ProcessRecording, pool: str, seq: int) -> Iterator[TrackedState]:
    """Slots that were inserted last, and neither evicted nor dropped by a reset since."""
    cache = Columns(process.columns("cache", *CACHE))
    reset = cache.texts("action").equal("reset") & (cache.ints("seq") <= seq)
    since = int(cache.ints("seq")[reset].max(initial=-1))
    changes = cache.texts("action").equal("insert", "evict") & cache.texts("pool").equal(pool)
    mine = np.flatnonzero(changes & (cache.ints("seq") <= seq) & (cache.ints("seq") > since))
    held: dict[int, int] = {}
    for k in mine.tolist():
        for slot in cache.lists("slots")[k].tolist():
            if cache.text_at("action", k) == "insert":
                held[slot] = k
            else:
                held.pop(slot, None)
    for slot, k in sorted(held.items()):
        yield TrackedState(slot=slot, node=cache.int_at("node", k), tokens=cache.int_at("key_len", k))
