"""Recurrent state as it stands at one event: behind which tokens each request's is, and which states the prefix tree has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.recurrent import KIND
from speckv_debug.replay.row_starts import RowStarts
from speckv_debug.replay.verifies import ROW_LISTS, VerifyBatch

COMMIT = ("step", "pool", "request", "row", "step_index")
ACCEPT = (
    "step", "request", "row", "seq_len", "accept_len", "width", "block_start", "layout", "accept_index", *ROW_LISTS,
)  # fmt: skip
"""What says which row a verify accepted last."""
CACHE = ("action", "node", "slots", "pool", "key_len")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptState:
    """The state that a request's row goes on from.

    Attributes:
        step: Of the commit.
        verify_row: Behind which row of the verify it stands.
        tokens: How many tokens it has seen, None where that is not known: the accept of the verify was not seen, or did not
            end with this row.
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


def recurrent_pools(
    process: ProcessRecording, seq: int, holders: Mapping[int, str | None]
) -> tuple[RecurrentPool, ...]:
    """The pools of recurrent state after event `seq`; none where nothing was recorded of any.

    Args:
        holders: Row → the request that has it then, None where its name is not known.
    """
    names = [pool.name for pool in process.info.pools if pool.kind == KIND]
    if not names:
        return ()
    found = [
        RecurrentPool(
            pool=name,
            kept=tuple(_kept(process, name, seq, holders)),
            tracked=tuple(_tracked(process, name, seq)),
        )
        for name in names
    ]
    return tuple(pool for pool in found if pool.kept or pool.tracked)


def _kept(
    process: ProcessRecording, pool: str, seq: int, holders: Mapping[int, str | None]
) -> Iterator[KeptState]:
    """The last commit of each row in the life that it has at `seq`."""
    commit, verifies = Columns(process.columns("state_commit", *COMMIT)), process.columns("accept", *ACCEPT)
    accept = Columns(verifies)
    mine = commit.texts("pool").equal(pool) & (commit.ints("seq") <= seq)
    for row, began in RowStarts(process).last(holders, seq).items():
        found = np.flatnonzero(mine & _of_life(commit, row, holders[row], began))
        if not len(found):
            continue
        k = int(found[-1])
        before = _of_life(accept, row, holders[row], began) & (accept.ints("seq") < commit.ints("seq")[k])
        step, kept = commit.int_at("step", k), commit.int_at("step_index", k)
        verify = verifies.take(_verify(process, accept, mask(before), step))
        yield KeptState(row=row, step=step, verify_row=kept, tokens=_tokens(process, verify, kept))


def _of_life(events: Columns, row: int, holder: str | None, began: int) -> Mask:
    """Events of a row since its life began, without those that name somebody else."""
    named = events.texts("request").known if holder is not None else np.zeros(len(events), dtype=np.bool_)
    other = named & ~events.texts("request").equal(holder or "")
    return mask((events.ints("row") == row) & (events.ints("seq") > began) & ~other)


def _verify(process: ProcessRecording, accept: Columns, before: Mask, step: int | None) -> Int64s:
    """The accept that a commit keeps a row of: that of its step, else the last one `before` it; empty if not known.

    As in `RecurrentState.accept`: a commit may be deferred to the start of the next verify.
    """
    of_step = np.flatnonzero(before & (accept.ints("step") == (NULL if step is None else step)))
    if step is not None and len(of_step) == 1:
        return of_step
    return np.flatnonzero(before)[-1:] if process.info.records("accept") else of_step[:0]


def _tokens(process: ProcessRecording, verify: pa.Table, kept: int | None) -> int | None:
    """Committed tokens behind a verify, of one row or none, where row `kept` is the last that it accepted."""
    if not len(verify) or kept is None:
        return None
    one = VerifyBatch(Columns(verify), process.info)
    path, length = one.path, int(one.seq_len[0])
    known = length != NULL and path.present[0] and path.lengths[0] > 0
    return length + int(one.accepted[0]) if known and int(path.values[-1]) == kept else None


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
