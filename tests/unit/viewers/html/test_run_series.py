"""Moves, frees, drops and requests over time: sums are exact however they are thinned, extremes stay, nothing simulated counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.viewers.html.chart import Chart
from speckv_debug.viewers.html.run_charts import event_charts
from speckv_debug.viewers.html.run_figures import counts_figure, moves_figure, requests_figure
from speckv_debug.viewers.html.run_series import MOST_REASONS, OTHER, accepts_by_request, drops, frees, moves
from speckv_debug.viewers.html.series import MOST_POINTS, MOST_REQUESTS
from tests.reported import accept, recording


def made(folder: Path, *events: dict[str, Any]) -> ProcessRecording:
    return recording(folder, events).processes[0]


def move(step: int | None, src: list[int], tgt: list[int]) -> dict[str, Any]:
    return {"event": "move", "step": step, "pool": "full", "src": src, "tgt": tgt}


def free(step: int | None, reason: str | None, slots: list[int]) -> dict[str, Any]:
    return {"event": "free", "step": step, "pool": "full", "slots": slots, "reason": reason}


def test_pairs_of_a_step_are_added_up_and_those_in_place_counted(tmp_path: Path) -> None:
    found = moves(made(tmp_path, move(1, [5, 6], [5, 7]), move(1, [8], [8]), move(2, [9], [4])))
    assert found.total == 4
    assert found.frame[["x", "mean", "low", "high", "pairs", "same"]].values.tolist() == [
        [1, 3, 3, 3, 3, 2],
        [2, 1, 1, 1, 1, 0],
    ]


def test_many_steps_keep_their_sums_and_extremes(tmp_path: Path) -> None:
    events = [
        move(step, [1] * (9 if step == 501 else 1), [2] * (9 if step == 501 else 1)) for step in range(1000)
    ]
    found = moves(made(tmp_path, *events))
    assert len(found.frame) == MOST_POINTS and found.span == 5
    assert found.frame["pairs"].sum() == 1008 and found.frame["high"].max() == 9
    assert found.frame["low"].tolist() == [1] * MOST_POINTS
    body = moves_figure("moves-0", found, ()).body
    assert max(body["data"][0]["y"]) == 9 and set(body["data"][3]["y"]) == {0.0}


def test_what_a_point_of_moves_stands_for_is_said(tmp_path: Path) -> None:
    def said(*events: dict[str, Any]) -> str:
        folder = tmp_path / str(len(events))
        folder.mkdir(exist_ok=True)
        drawn = event_charts(0, made(folder, *events), ())
        return next(str(each.words) for each in drawn if isinstance(each, Chart))

    assert "A point is one step; a step without a move has none." in said(
        move(1, [1], [2]), move(9, [1], [2])
    )
    assert "A point is one event; an" in said(*[move(None, [1], [2])] * 3)
    many = said(*(move(step, [1], [2]) for step in range(0, 1000, 2)))
    assert "A point stands for 5 steps, mean and band (fewest to most) for those of them with a move." in many


def test_frees_are_counted_in_slots_by_reason(tmp_path: Path) -> None:
    found = frees(made(tmp_path, free(1, "finish", [1, 2]), free(1, "evict", [3]), free(2, None, [4])))
    told = found.frame[["x", "name", "count"]].values.tolist()
    assert told == [[1, "evict", 1], [1, "finish", 2], [2, "no reason told", 1]]
    assert found.total == 4


def test_many_steps_keep_the_fewest_and_most_that_one_of_them_freed(tmp_path: Path) -> None:
    events = [free(step, "evict", list(range(9 if step == 501 else 2))) for step in range(0, 1000, 2)]
    events += [free(501, "evict", list(range(9))), free(501, "finish", [1])]
    process = made(tmp_path, *events)
    found = frees(process)
    span = found.frame[(found.frame["x"] == 500) & (found.frame["name"] == "evict")]
    assert found.span == 5
    assert span[["count", "low", "high", "steps"]].values.tolist() == [[15, 2, 9, 4]]
    bars = {bar["name"]: bar for bar in counts_figure("frees-0", found, "slots", (), "slots").body["data"]}
    assert [2, 9, 4] in bars["evict"]["customdata"] and "%{customdata[1]} in one" in bars["evict"][
        "hovertemplate"
    ]
    (chart,) = [
        each for each in event_charts(0, process, ()) if getattr(each, "title", "") == "Frees by reason"
    ]
    assert isinstance(chart, Chart) and "the fewest and most of one of them" in chart.words
    numbers = re.findall(r"<td[^>]*>([^<]*)</td>", chart.words)
    assert numbers == ["evict", "1009", "501", "2", "9", "finish", "1", "1", "1", "1"]


def test_rare_reasons_are_put_together_and_nothing_is_lost(tmp_path: Path) -> None:
    events = [free(1, f"reason {n}", list(range(n + 1))) for n in range(MOST_REASONS + 3)]
    found = frees(made(tmp_path, *events))
    assert len(set(found.frame["name"])) == MOST_REASONS and OTHER in set(found.frame["name"])
    assert found.frame["count"].sum() == found.total == sum(range(1, MOST_REASONS + 4))
    assert len(counts_figure("frees-0", found, "slots", (), "slots").body["data"]) == MOST_REASONS


def test_a_drop_without_a_number_is_one_at_least(tmp_path: Path) -> None:
    lost = {"event": "drop", "step": 3, "table": "accept", "why": "queue full"}
    found = drops(made(tmp_path, lost | {"rows": 7}, lost | {"rows": None}))
    assert (found.total, found.frame["name"].tolist()) == (8, ["accept"])


def test_without_steps_the_event_order_is_the_axis(tmp_path: Path) -> None:
    assert moves(made(tmp_path, move(None, [1], [1]))).axis == "seq"


def test_nothing_recorded_gives_nothing(tmp_path: Path) -> None:
    process = made(tmp_path, accept(1))
    assert all(len(of(process).frame) == 0 and of(process).total == 0 for of in (moves, frees, drops))


def test_requests_that_findings_name_come_first_and_simulated_ones_never(tmp_path: Path) -> None:
    events = [accept(n, f"r{n}", accept_len=1 + n % 3) for n in range(MOST_REQUESTS + 5)]
    events += [accept(99, "fake", sampling="simulated", accept_len=9)]
    frame, everybody = accepts_by_request(made(tmp_path, *events), ["r44", "nobody"])
    assert len(frame) == MOST_REQUESTS and everybody == MOST_REQUESTS + 5
    assert "r44" in set(frame["request"]) and "fake" not in set(frame["request"])
    (bars,) = requests_figure("requests-0", frame).body["data"]
    assert max(bars["y"]) == 3
