"""Numbers over time out of a recorded process, thinned in the open where there are too many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask
from speckv_debug.replay.verifies import VerifyBatch

MOST_POINTS = 200
"""Spans on the x axis; a longer series keeps the lowest and highest value of each span."""
MOST_CHANGES = 2 * MOST_POINTS
"""Of one request's lengths; above, it is thinned."""
MOST_REQUESTS = 40
LENGTHS = ("request", "row", "epoch", "committed", "allocated")
"""Columns of a request's lengths."""


@dataclass(frozen=True, slots=True)
class Accepts:
    """Accept lengths of the verifies of one process.

    Attributes:
        over_steps: `x, mean, low, high, verifies`, one row a span of steps, simulated acceptance left out.
        simulated: The same of verifies with simulated acceptance.
        counts: Accept length → verifies, simulated acceptance left out.
        span: Steps a row stands for.
        axis: What x counts.
        unknown: Verifies without a recorded accept length.
    """

    over_steps: pd.DataFrame
    simulated: pd.DataFrame
    counts: dict[int, int]
    span: int
    axis: str
    unknown: int

    @property
    def verifies(self) -> int:
        """How many verifies have a real accept length."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float | None:
        """Mean accept length, None without any."""
        return sum(n * k for n, k in self.counts.items()) / self.verifies if self.verifies else None


@dataclass(frozen=True, slots=True)
class Lengths:
    """Committed and allocated length of the requests of one process.

    Attributes:
        lives: Request → rows `x, committed, allocated` in event order, one frame for each row (epoch) it had.
        changes: Request → how many rows there were before thinning.
        requests: How many requests the process had, drawn or not.
        axis: What x counts.
    """

    lives: dict[str, tuple[pd.DataFrame, ...]]
    changes: dict[str, int]
    requests: int
    axis: str


def accepts(process: ProcessRecording) -> Accepts:
    """Accept lengths by step; steps without real acceptance are kept apart."""
    told = Columns(process.columns("accept", "step", "accept_len", "sampling"))
    length, fake = told.ints("accept_len"), VerifyBatch(told, process.info).simulated
    known = length != NULL
    axis, x = _axis(told, known)
    frame = pd.DataFrame({axis: x, "accept_len": length})
    span = span_of(x[known])
    found, counts = np.unique(length[known & ~fake], return_counts=True)
    return Accepts(
        over_steps=_byspan_of(frame[known & ~fake], axis, span),
        simulated=_byspan_of(frame[known & fake], axis, span),
        counts=dict(zip(found.tolist(), counts.tolist(), strict=True)),
        span=span,
        axis=axis,
        unknown=int((~known).sum()),
    )


def lengths(process: ProcessRecording, first: Iterable[str] = (), most: int = MOST_REQUESTS) -> Lengths:
    """Lengths in the main pool; the requests of `first`, then those with the most changes, `most` of them."""
    told = Columns(process.columns("lengths", "step", "pool", *LENGTHS))
    pool = told.texts("pool")
    rows = np.flatnonzero(pool.equal(process.info.main_pool) | ~pool.known)
    axis, x = _axis(told, rows)
    x = np.maximum.accumulate(x[rows])
    who, names = _who(told, rows)
    order, sizes = _drawn(who, names, first, most)
    span = span_of(x)
    kept = np.zeros(len(names), dtype=np.bool_)
    kept[order] = True
    drawn = kept[who]
    values = {name: _floats(told.ints(name)[rows[drawn]]) for name in ("epoch", "committed", "allocated")}
    frame = pd.DataFrame({"who": who[drawn], "x": x[drawn], **values})
    groups = dict(list(frame.groupby("who", sort=False)))
    return Lengths(
        lives={names[each]: _lives(groups[each], span) for each in order},
        changes={names[each]: int(sizes[each]) for each in order},
        requests=int((sizes > 0).sum()),
        axis=axis,
    )


def _who(told: Columns, rows: Int64s) -> tuple[Int64s, list[str]]:
    """A number for each of these rows and the names of the numbers: the request, or its row where it has no name."""
    request, row = told.texts("request"), told.ints("row")[rows]
    codes = request.codes[rows].astype(np.int64)
    nameless, place = np.unique(row[codes < 0], return_inverse=True)
    spoken = [*request.names, *("row ?" if each == NULL else f"row {each}" for each in nameless.tolist())]
    codes[codes < 0] = len(request.names) + place
    number = {name: at for at, name in enumerate(dict.fromkeys(spoken))}
    return np.array([number[name] for name in spoken], dtype=np.int64)[codes], list(number)


def _drawn(who: Int64s, names: Sequence[str], first: Iterable[str], most: int) -> tuple[list[int], Int64s]:
    """The numbers of those that are drawn, the named ones first, then as they come; and how many changes each has."""
    sizes = np.bincount(who, minlength=len(names))
    begun = np.full(len(names), len(who))
    begun[who[::-1]] = np.arange(len(who))[::-1]
    coming = [each for each in np.argsort(begun, kind="stable").tolist() if sizes[each]]
    number = {names[each]: each for each in coming}
    wanted = [number[name] for name in dict.fromkeys(first) if name in number][:most]
    longest = sorted(coming, key=lambda each: -sizes[each])
    drawn = set([*dict.fromkeys([*wanted, *longest])][:most])
    return [*wanted, *(each for each in coming if each in drawn - set(wanted))], sizes


def _floats(values: Int64s) -> npt.NDArray[np.float64]:
    return np.where(values == NULL, np.nan, values.astype(np.float64))


def _axis(told: Columns, of: Int64s | Mask) -> tuple[str, Int64s]:
    """Steps, or the event order where one of these rows has none; the name of the axis and a number for every row."""
    steps = told.ints("step")
    return ("step", steps) if (steps[of] != NULL).all() else ("seq", told.ints("seq"))


def span_of(x: Int64s) -> int:
    """Whole steps a point, so that no more than the allowed number is drawn."""
    if not len(x) or len(np.unique(x)) <= MOST_POINTS:
        return 1
    return int(-(-(x.max() - x.min() + 1) // MOST_POINTS))


def _byspan_of(frame: pd.DataFrame, axis: str, span: int) -> pd.DataFrame:
    start = frame[axis] // span * span
    grouped = frame.groupby(start)["accept_len"].agg(["mean", "min", "max", "size"])
    return grouped.reset_index().set_axis(["x", "mean", "low", "high", "verifies"], axis=1)


def _lives(frame: pd.DataFrame, span: int) -> tuple[pd.DataFrame, ...]:
    """The rows of one request, parted where it got a new row; of a long one each span's lowest and highest."""
    if len(frame) > MOST_CHANGES:
        spans = frame.groupby(frame["x"] // span)
        kept = {frame.index[0], frame.index[-1]}
        for column in ("committed", "allocated"):
            values = spans[column]
            kept |= set(values.idxmin().dropna()) | set(values.idxmax().dropna())
        frame = frame.loc[sorted(kept)]
    lives = frame.groupby("epoch", sort=False, dropna=False)[["x", "committed", "allocated"]]
    return tuple(life.astype("float64") for _, life in lives)
