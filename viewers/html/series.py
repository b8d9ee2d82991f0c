"""Numbers over time out of a recorded process, thinned in the open where there are too many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from speckv_debug.recording.reader import ProcessRecording

MOST_POINTS = 200
"""Spans on the x axis; a longer series keeps the lowest and highest value of each span."""
MOST_CHANGES = 2 * MOST_POINTS
"""Of one request's lengths; above, it is thinned."""
MOST_REQUESTS = 40
SIMULATED = "simulated"


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
    frame = process.table("accept").select(["seq", "step", "accept_len", "sampling"]).to_pandas()
    known = frame[frame["accept_len"].notna()]
    axis = _axis(known)
    always = bool(process.info.settings.get("simulate_acc_len")) and known["sampling"].isna()
    fake = (known["sampling"] == SIMULATED) | always
    span = span_of(known[axis])
    counts = known.loc[~fake, "accept_len"].astype("int64").value_counts().sort_index()
    return Accepts(
        over_steps=_byspan_of(known[~fake], axis, span),
        simulated=_byspan_of(known[fake], axis, span),
        counts={int(length): int(count) for length, count in counts.items()},
        span=span,
        axis=axis,
        unknown=len(frame) - len(known),
    )


def lengths(process: ProcessRecording, first: Iterable[str] = ()) -> Lengths:
    """Lengths in the full pool; the requests of `first`, then those with the most changes, up to a number."""
    columns = ["seq", "step", "pool", "request", "row", "epoch", "committed", "allocated"]
    frame = process.table("lengths").select(columns).to_pandas()
    frame = frame[frame["pool"].isna() | (frame["pool"] == "full")]
    frame = frame.assign(who=_who(frame))
    axis = _axis(frame)
    frame["x"] = frame[axis].cummax()
    sizes = frame.groupby("who", sort=False).size()
    wanted = [who for who in dict.fromkeys(first) if who in sizes.index]
    longest = sizes.sort_values(ascending=False, kind="stable").index
    drawn = list(dict.fromkeys([*wanted, *longest]))[:MOST_REQUESTS]
    span = span_of(frame["x"])
    order = [
        *(who for who in wanted if who in drawn),
        *(w for w in sizes.index if w in set(drawn) - set(wanted)),
    ]
    groups = dict(list(frame[frame["who"].isin(drawn)].groupby("who", sort=False)))
    return Lengths(
        lives={who: _lives(groups[who], span) for who in order},
        changes={who: int(sizes[who]) for who in order},
        requests=len(sizes),
        axis=axis,
    )


def _who(frame: pd.DataFrame) -> pd.Series:
    """The request, or its row where it has no name."""
    nameless = frame.loc[frame["request"].isna(), "row"]
    rows = ["row ?" if pd.isna(row) else f"row {int(row)}" for row in nameless]
    return frame["request"].astype(object).fillna(pd.Series(rows, index=nameless.index, dtype=object))


def _axis(frame: pd.DataFrame) -> str:
    """Steps, or the event order where a step is missing."""
    return "step" if frame["step"].notna().all() else "seq"


def span_of(x: pd.Series) -> int:
    """Whole steps a point, so that no more than the allowed number is drawn."""
    if x.empty or x.nunique() <= MOST_POINTS:
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
