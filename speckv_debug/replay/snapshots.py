"""All pools and running requests of a process at one `seq`: what `state` prints, and a report draws."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.counted_state import CountedPool, counted_pools
from speckv_debug.replay.kept_state import RecurrentPool, recurrent_pools
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ownership import PAGES
from speckv_debug.replay.pool_state import LiveRequest, PoolState, Use, live_requests, pool_states
from speckv_debug.replay.ring_state import PageRing, RingState, RingStates, states_of
from speckv_debug.replay.timeline import ledger_at
from speckv_debug.replay.unseen import Unseen, unseen

ROWS = (*PAGES, "table_write", "row_alloc", "row_free", "lengths", "release", "cache")
"""Tables without whose every event a state has holes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What the engine itself counted in a pool, in slots, at its last settled point before."""

    seq: int
    step: int | None
    available: int | None
    evictable: int | None
    protected: int | None
    session: int | None
    total: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A process after event `seq`.

    Attributes:
        step: The step that was asked for, None if an event was.
        pools: Those whose pages can be followed, the main one first; `left_out` names the others.
        accounts: Pool → the engine's own last account, where it was recorded.
        requests: Those that run.
        counted: Pools whose pages are counted by references.
        rings: Compressor state of the requests that run, where it was recorded.
        unseen: What the recording lacks up to here.
        page_rings: Compressor state that is bound to pages of the window's pool which are not free, of the requests that run.
        recurrent: Recurrent state of the requests that run and of the prefix tree.
    """

    process: str
    seq: int
    step: int | None
    pools: tuple[PoolState, ...]
    left_out: tuple[str, ...]
    accounts: dict[str, Account]
    requests: tuple[LiveRequest, ...]
    counted: tuple[CountedPool, ...]
    rings: tuple[RingState, ...]
    unseen: tuple[Unseen, ...]
    page_rings: tuple[PageRing, ...] = ()
    recurrent: tuple[RecurrentPool, ...] = ()


def snapshot(
    process: ProcessRecording, seq: int, *, step: int | None = None, ledger: Ledger | None = None
) -> Snapshot:
    """The pools after event `seq`; `ledger` is the one at that event, such as `Timeline.at(seq)`, and is made if None."""
    ledger = ledger or ledger_at(process, seq)
    pools = pool_states(ledger)
    names = {pool.pool for pool in pools}
    running, counted = live_requests(ledger), counted_pools(process, seq)
    holders = {each.row: each.request for each in running}
    states = states_of(process, seq)
    tables = [name for name in ROWS if name != "free_group" or name in process.files or ledger.page_size > 1]
    return Snapshot(
        process=process.label,
        seq=seq,
        step=step,
        pools=pools,
        left_out=tuple(space.name for space in ledger.namespaces.all if space.name not in names),
        accounts=_accounts(process, names | {pool.pool for pool in counted}, seq),
        requests=running,
        counted=counted,
        rings=() if states is None else tuple(states.of_rows(holders)),
        unseen=unseen(process, tables, seq),
        page_rings=() if states is None else _page_rings(states, running, pools),
        recurrent=recurrent_pools(process, seq, holders),
    )


def _page_rings(
    states: RingStates, running: Collection[LiveRequest], pools: Collection[PoolState]
) -> tuple[PageRing, ...]:
    """Those of pages that are not free in the window's pool, where that can be followed."""
    windows = [pool for pool in pools if pool.kind == "swa"]
    free = set(windows[0].pages(Use.FREE).tolist()) if len(windows) == 1 else set()
    found = states.of_pages({each.request for each in running if each.request})
    return tuple(ring for ring in found if ring.page not in free)


def _accounts(process: ProcessRecording, pools: Collection[str], seq: int) -> dict[str, Account]:
    found = {name: _account(process, name, seq) for name in sorted(pools)}
    return {name: each for name, each in found.items() if each is not None}


def _account(process: ProcessRecording, pool: str, seq: int) -> Account | None:
    names = ("available", "evictable", "protected", "session", "total")
    columns = Columns(process.columns("pool_stat", "step", "pool", *names))
    mine = columns.texts("pool").equal(pool)
    if pool == process.info.main_pool:
        mine |= ~columns.texts("pool").known
    at = np.flatnonzero(mine & (columns.ints("seq") <= seq))
    if not len(at):
        return None
    index = int(at[-1])
    return Account(
        seq=columns.int_at("seq", index) or 0,
        step=columns.int_at("step", index),
        **{name: columns.int_at(name, index) for name in names},
    )
