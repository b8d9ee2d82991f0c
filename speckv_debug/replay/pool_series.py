"""Who owned the pages of each pool over time: the ledger's state at the ends of steps, thinned in the open.

A short recording is looked at after every step. A long one is parted into spans of as many steps each, and looked at where a
span ends, where its recorded grants and frees leave the fewest and the most pages out of the free list, and at the ends of
steps that the caller names. Every number is the ledger's own at such a point; grants and frees only say where to look. What
comes and goes inside one step is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.ledger_book import NOBODY
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.looking_points import LookingPoints, looking_points
from speckv_debug.replay.page_blocks import LOUDNESS, block_holders, block_uses
from speckv_debug.replay.pool_state import PoolState, Use, pool_states
from speckv_debug.replay.ragged import Int64s
from speckv_debug.replay.timeline import Timeline

POINTS = 200
"""Spans at most."""
BLOCKS = 256
"""Blocks of neighbouring pages at most, of which each point keeps one use."""
HOLDING = ("table_write", "row_alloc", "row_free", "cache")
"""Tables without which a page may have a holder that nobody saw."""
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSeries:
    """One pool over n spans of steps.

    Attributes:
        pool, kind, page_size, first: As in `PoolState`.
        followed: Whether the holders of pages are followed, see `follows_holders`. If not, a page that is out counts as
            `GRANTED`, never as held by nobody.
        pages: How many pages were followed.
        axis: What x counts: `step`, or `seq` where no event names a step.
        x: int64[n], first step of each span.
        seq: int64[n], the event after which `last` is the state.
        span: Steps of a span; 1: every step was looked at.
        last, low, high: int64[len(Use), n], pages of each use where the span ends, and the fewest and the most at the points
            that were looked at.
        looked: int64[n], how many points these are.
        blocks: int8[n, blocks], the use of each block of `block` neighbouring pages where the span ends, see `block_uses`, or
            the loudest of `page_blocks.LOUD` that it had at a point of the span that was looked at.
        holders: int32[n, blocks], index into `names` of who holds the pages of that use, `page_blocks.SEVERAL` or -1.
        names: The requests that occur in `holders`, a request without a name by its row.
        block: Pages of a block; 1: every page is kept.
    """

    pool: str
    kind: str
    page_size: int
    first: int
    followed: bool
    pages: int
    axis: str
    x: Int64s
    seq: Int64s
    span: int
    last: Counts
    low: Counts
    high: Counts
    looked: Int64s
    blocks: npt.NDArray[np.int8]
    holders: npt.NDArray[np.int32]
    names: tuple[str, ...]
    block: int


def pool_series(
    timeline: Timeline,
    points: int = POINTS,
    on_progress: Callable[[float], None] = lambda share: None,
    steps: Collection[int] = (),
) -> tuple[PoolSeries, ...]:
    """The pools whose pages can be followed, the main one first; none if no event moves pages.

    Args:
        timeline: Of the process; its place afterwards is the last event.
        points: How many spans there are at most.
        on_progress: Told the share of the points that were looked at.
        steps: Whose ends are looked at in any case.
    """
    stops = looking_points(timeline, points, steps)
    if not len(stops.seq):
        return ()
    kept: dict[str, _Pool] = {}
    for at, (seq, span) in enumerate(zip(stops.seq.tolist(), stops.of.tolist(), strict=True)):
        on_progress(at / len(stops.seq))
        for state in pool_states(timeline.at(seq)):
            if state.pool not in kept:
                kept[state.pool] = _Pool(state, follows_holders(timeline.process, state.pool), len(stops.x))
            kept[state.pool].look(span, seq, state)
    tenures = timeline.at(int(stops.seq[-1])).tenures
    return tuple(pool.series(stops, tenures) for pool in kept.values())


def _name(tenure: Tenure) -> str:
    return f"row {tenure.row}" if tenure.request is None else f"request {tenure.request}"


def follows_holders(process: ProcessRecording, pool: str) -> bool:
    """Whether it can be known who holds a page: rows, tree and sessions name the main pool's slots, if all are recorded."""
    return pool == process.info.main_pool and set(HOLDING) <= set(process.recorded_whole)


class _Pool:
    """What was seen of one pool so far."""

    def __init__(self, state: PoolState, followed: bool, spans: int) -> None:
        self._state, self._followed = state, followed
        self._block = max(1, -(-len(state.use) // BLOCKS))
        shape = (len(Use), spans)
        self._last, self._high = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        self._low = np.full(shape, np.iinfo(np.int64).max)
        self._seq, self._looked = np.zeros(spans, np.int64), np.zeros(spans, np.int64)
        self._blocks = np.zeros((spans, -(-len(state.use) // self._block)), dtype=np.int8)
        self._holders = np.full(self._blocks.shape, NOBODY, dtype=np.int32)

    def look(self, span: int, seq: int, state: PoolState) -> None:
        """Take one state; those of a span come in the order of `seq`."""
        use = state.use
        if not self._followed:
            use = np.where(use == Use.UNHELD, np.int8(Use.GRANTED), use)
        counts = np.bincount(use, minlength=len(Use))
        self._last[:, span], self._seq[span] = counts, seq
        self._low[:, span] = np.minimum(self._low[:, span], counts)
        self._high[:, span] = np.maximum(self._high[:, span], counts)
        self._looked[span] += 1
        blocks = block_uses(use, self._block)
        shown = LOUDNESS[blocks] >= LOUDNESS[self._blocks[span]]
        self._blocks[span, shown] = blocks[shown]
        self._holders[span, shown] = block_holders(use, state.holder, blocks, self._block)[shown]

    def series(self, stops: LookingPoints, tenures: Sequence[Tenure]) -> PoolSeries:
        state = self._state
        used = np.unique(self._holders[self._holders >= 0])
        place = np.searchsorted(used, self._holders)
        return PoolSeries(
            pool=state.pool,
            kind=state.kind,
            page_size=state.page_size,
            first=state.first,
            followed=self._followed,
            pages=len(state.use),
            axis=stops.axis,
            x=stops.x,
            seq=self._seq,
            span=stops.span,
            last=self._last,
            low=self._low,
            high=self._high,
            looked=self._looked,
            blocks=self._blocks,
            holders=np.where(self._holders >= 0, place, self._holders).astype(np.int32),
            names=tuple(_name(tenures[each]) for each in used.tolist()),
            block=self._block,
        )
