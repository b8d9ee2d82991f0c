"""What moved, what was freed and what the recorder left out, over spans of steps: sums are exact, extremes are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Ragged
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.viewers.html.series import MOST_REQUESTS, span_of

MOST_REASONS = 8
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Over:
    """A frame with a column `x`, the first step of each span.

    Attributes:
        frame: One row a span, or a span and name.
        span: Steps of a span.
        axis: `step`, or `seq` where a step is missing.
        total: Sum over everything.
        at_least: Whether an amount is unknown and stands for one.
    """

    frame: pd.DataFrame
    span: int
    axis: str
    total: int
    at_least: bool = False


def moves(process: ProcessRecording) -> Over:
    """Pairs that movers were handed by step: `x, mean, low, high` of a step's pairs, `pairs` and `same` of the span."""
    columns = Columns(process.columns("move", "step", "src", "tgt"))
    src, tgt = columns.lists("src"), columns.lists("tgt")
    other = tgt.at(src.owners, src.within)
    in_place = (other != NULL) & (other == src.values)
    same = np.bincount(src.owners[in_place], minlength=len(columns))
    frame = _events(columns).assign(pairs=src.lengths, same=same)
    axis, frame = _placed(frame)
    steps = frame.groupby("at", as_index=False)[["pairs", "same"]].sum()
    span = span_of(steps["at"].to_numpy())
    found = steps.groupby(steps["at"] // span * span).agg(
        mean=("pairs", "mean"),
        low=("pairs", "min"),
        high=("pairs", "max"),
        pairs=("pairs", "sum"),
        same=("same", "sum"),
    )
    return Over(found.reset_index(names="x"), span, axis, int(frame["pairs"].sum()))


def frees(process: ProcessRecording) -> Over:
    """Slots that the engine passed to a free, by reason: `x, name, count` of a span, `low, high` of its steps with that reason, how many `steps` these are; rare reasons are put together."""
    columns = Columns(process.columns("free", "step", "reason", "slots"))
    lists: Ragged = columns.lists("slots")
    reasons = columns.texts("reason")
    names = [reasons[k] or "no reason told" for k in range(len(columns))]
    return _by_name(_events(columns).assign(name=names, count=lists.lengths))


def drops(process: ProcessRecording) -> Over:
    """Events that the recorder had to leave out, by table: columns as of `frees`."""
    columns = Columns(process.columns("drop", "step", "table", "rows"))
    tables, rows = columns.texts("table"), columns.ints("rows")
    names = [tables[k] or "unknown table" for k in range(len(columns))]
    found = _by_name(_events(columns).assign(name=names, count=np.where(rows == NULL, 1, rows)))
    return replace(found, at_least=bool((rows == NULL).any()))


def accepts_by_request(process: ProcessRecording, first: list[str]) -> tuple[pd.DataFrame, int]:
    """`request, mean, low, high, verifies` of real acceptance, requests of findings first; and how many there are."""
    told = process.columns("accept", "request", "accept_len", "sampling")
    fake = VerifyBatch(Columns(told), process.info).simulated
    frame = told.select(["request", "accept_len"]).to_pandas()
    frame = frame[frame["accept_len"].notna() & frame["request"].notna() & ~fake]
    found = frame.groupby("request", sort=False)["accept_len"].agg(["mean", "min", "max", "size"])
    found = found.set_axis(["mean", "low", "high", "verifies"], axis=1)
    named = [who for who in dict.fromkeys(first) if who in found.index]
    most = found["verifies"].sort_values(ascending=False, kind="stable").index
    kept = list(dict.fromkeys([*named, *most]))[:MOST_REQUESTS]
    return found.loc[[who for who in found.index if who in set(kept)]].reset_index(), len(found)


def _events(columns: Columns) -> pd.DataFrame:
    return pd.DataFrame({"seq": columns.ints("seq"), "step": columns.ints("step")})


def _placed(frame: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Where each event stands: at its step, or in the order of events where one has none."""
    steps: Int64s = frame["step"].to_numpy(dtype=np.int64)
    axis = "step" if (steps != NULL).all() else "seq"
    return axis, frame.assign(at=frame[axis])


def _by_name(frame: pd.DataFrame) -> Over:
    axis, frame = _placed(frame)
    totals = frame.groupby("name")["count"].sum().sort_values(ascending=False, kind="stable")
    shown = set(totals.index[: MOST_REASONS - (len(totals) > MOST_REASONS)])
    frame["name"] = [name if name in shown else OTHER for name in frame["name"]]
    span = span_of(frame["at"].to_numpy())
    steps = frame.groupby(["at", "name"], as_index=False)["count"].sum()
    found = steps.groupby([steps["at"] // span * span, "name"])["count"].agg(["sum", "min", "max", "size"])
    found = found.reset_index().set_axis(["x", "name", "count", "low", "high", "steps"], axis=1)
    return Over(found, span, axis, int(frame["count"].sum()))
