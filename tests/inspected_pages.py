"""The pages of the small made-up run: two requests, the tree, a session, and a page with two owners from step 812 on."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.counted_state import CountedPage, CountedPool
from speckv_debug.replay.holders import PageHolders, RowHolder
from speckv_debug.replay.page_map import Holder, PageMap
from speckv_debug.replay.pool_series import PoolSeries
from speckv_debug.replay.pool_state import LiveRequest, PoolState, Use
from speckv_debug.replay.ring_state import RingState
from speckv_debug.replay.snapshots import Account, Snapshot
from speckv_debug.replay.unseen import Unseen

PAGES, FIRST, SIZE = 64, 1, 128
TWO_OWNERS, SINCE = 20, 460
HOLDERS = (Holder("7", 7, 1), Holder("8", 8, 1))
SPANS = 20


def _uses(seq: int) -> np.ndarray:
    use = np.full(PAGES, Use.FREE, dtype=np.int8)
    use[4:14], use[14:16] = Use.COMMITTED, Use.RESERVE
    use[18:26], use[26] = Use.COMMITTED, Use.RESERVE
    use[30:36], use[36:44] = Use.LOCKED, Use.EVICTABLE
    use[46:48], use[50], use[52] = Use.SESSION, Use.TRANSFER, Use.WAITING
    use[60], use[61:63] = Use.UNHELD, Use.UNKNOWN
    if seq >= SINCE:
        use[TWO_OWNERS - FIRST] = Use.CONFLICT
    return use


def _owners() -> np.ndarray:
    holder = np.full(PAGES, -1, dtype=np.int32)
    holder[4:16], holder[18:27] = 0, 1
    return holder


def small_map(seq: int) -> PageMap:
    return PageMap(
        seq=seq,
        pool="full",
        kind="full",
        page_size=SIZE,
        first=FIRST,
        whole=True,
        use=_uses(seq),
        holder=_owners(),
        holders=HOLDERS,
        dangling=(9,),
        why_unknown="the recording did not see the process start",
    )


def small_holders(seq: int, page: int) -> PageHolders:
    at = int(_owners()[page - FIRST])
    named = [] if at < 0 else [HOLDERS[at]]
    named += [HOLDERS[0]] if page == TWO_OWNERS and seq >= SINCE else []
    rows = tuple(
        RowHolder(row=each.row, epoch=each.epoch, request=each.request, start=0, end=SIZE) for each in named
    )
    free = bool(_uses(seq)[page - FIRST] == Use.FREE)
    return PageHolders(pool="full", page=page, free=free, rows=rows, tree=30 <= page - FIRST < 44)


def small_series() -> PoolSeries:
    counts = np.zeros((len(Use), SPANS), dtype=np.int64)
    time = np.arange(SPANS)
    counts[Use.COMMITTED], counts[Use.RESERVE] = 4 + time, 3
    counts[Use.EVICTABLE], counts[Use.CONFLICT] = time // 2, (time > 11).astype(np.int64)
    counts[Use.FREE] = PAGES - counts.sum(axis=0)
    return PoolSeries(
        pool="full",
        kind="full",
        page_size=SIZE,
        first=FIRST,
        followed=True,
        pages=PAGES,
        axis="step",
        x=800 + time,
        seq=100 + 30 * time,
        span=1,
        last=counts,
        low=counts,
        high=counts,
        looked=np.ones(SPANS, dtype=np.int64),
        blocks=np.zeros((SPANS, PAGES), dtype=np.int8),
        holders=np.full((SPANS, PAGES), -1, dtype=np.int32),
        names=(),
        block=1,
    )


def small_state(process: str, seq: int) -> Snapshot:
    found = small_map(seq)
    pool = PoolState(
        pool="full",
        kind="full",
        page_size=SIZE,
        first=FIRST,
        whole=True,
        use=found.use,
        holder=found.holder,
        dangling=found.dangling,
        why_unknown=found.why_unknown,
    )
    requests = tuple(
        LiveRequest(request=name, row=row, epoch=1, committed=c, allocated=a, pages=p)
        for name, row, c, a, p in (("7", 7, 1210, 1536, 12), ("8", 8, 1030, 1152, 9))
    )
    counted = CountedPool(
        pool="c128",
        pages=(
            CountedPage(page=3, count=2, holders=("row:7", "tree")),
            CountedPage(page=4, count=1, holders=("row:8", "row:7")),
        ),
    )
    ring = RingState(pool="c4_state", row=7, size=8, positions=(1203, 1204, 1205, 1206), cleared=4)
    account = Account(
        seq=seq - 1, step=811, available=4096, evictable=1024, protected=768, session=256, total=8192
    )
    return Snapshot(
        process=process,
        seq=seq,
        step=None,
        pools=(pool,),
        left_out=("c128", "c4_state"),
        accounts={"full": account},
        requests=requests,
        counted=(counted,),
        rings=(ring,),
        unseen=(Unseen(first=None, end=None, why="the recording did not see the process start"),),
    )
