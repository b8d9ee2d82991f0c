"""The plotly figures: which lines are shown, what is marked, names that can't become markup."""

from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from speckv_debug.viewers.html.figures import (
    MOST_LENGTHS,
    MOST_MARKS,
    Mark,
    accept_figure,
    distribution_figure,
    finished,
    lengths_figure,
)
from speckv_debug.viewers.html.series import accepts, lengths
from tests.reported import accept, recording
from tests.reported import lengths as held


def test_the_mean_is_drawn_with_its_band_and_simulated_steps_apart(tmp_path: Path) -> None:
    events = [accept(1, "a"), accept(1, "b", accept_len=1)]
    events += [accept(2, request, sampling="simulated", accept_len=n) for request, n in (("a", 1), ("b", 3))]
    figure = accept_figure("accept-0", accepts(recording(tmp_path, events).processes[0]), [])
    by_name = {trace["name"]: trace for trace in figure.body["data"] if trace.get("showlegend") is not False}
    assert by_name["mean"]["y"] == [2.0]
    assert by_name["mean"]["customdata"] == [[1, 3, 2]]
    simulated = by_name["simulated, not counted"]
    assert (simulated["x"], simulated["y"], simulated["customdata"]) == ([2], [2.0], [[1, 3, 2]])
    assert (simulated["error_y"]["array"], simulated["error_y"]["arrayminus"]) == ([1.0], [1.0])
    assert "lowest to highest" in by_name


def test_the_first_bad_step_is_marked_with_its_rule(tmp_path: Path) -> None:
    found = accepts(recording(tmp_path, [accept(1), accept(2)]).processes[0])
    layout = accept_figure("accept-0", found, [Mark(2, "MOV-PAIR")]).body["layout"]
    assert [shape["x0"] for shape in layout["shapes"]] == [2]
    assert [note["text"] for note in layout["annotations"]] == ["✗ MOV-PAIR"]


def test_hover_and_click_know_what_a_point_stands_for(tmp_path: Path) -> None:
    for name, count, span in (("a", 3, 1), ("b", 1000, 5)):
        (tmp_path / name).mkdir()
        process = recording(tmp_path / name, [accept(step) for step in range(count)]).processes[0]
        figure = accept_figure("accept-0", accepts(process), [])
        assert figure.span == span
        mean = next(trace for trace in figure.body["data"] if trace["name"] == "mean")
        assert mean["hovertext"][1] == ("step 1" if span == 1 else "steps 5 to 9")
        assert mean["hovertemplate"].startswith("%{hovertext}: mean")
    assert distribution_figure("d-0", accepts(process)).span == 0


def test_marks_that_are_left_out_are_counted(tmp_path: Path) -> None:
    found = accepts(recording(tmp_path, [accept(step) for step in range(40)]).processes[0])
    marks = [Mark(step, "MOV-PAIR") for step in range(30)]
    layout = accept_figure("accept-0", found, [*marks, *marks]).body["layout"]
    assert len(layout["shapes"]) == MOST_MARKS
    assert layout["annotations"][-1]["text"] == f"{30 - MOST_MARKS} more ✗ not marked"


def test_ticks_of_one_are_never_crowded() -> None:
    def ticks(data: list[Any], marks: list[Mark], **layout: Any) -> tuple[int | None, int | None]:
        axes = finished("x", go.Figure(data, layout), marks).body["layout"]
        return axes.get("xaxis", {}).get("dtick"), axes.get("yaxis", {}).get("dtick")

    line = go.Scatter(x=[825, 830], y=[3, 4])
    assert ticks([line], []) == (1, 1)
    assert ticks([line], [Mark(800, "MOV-PAIR")]) == (None, 1)
    assert ticks([go.Scatter(x=[1, 2], y=[511, 511])], []) == (1, None)
    assert ticks([line], [], yaxis={"range": [0, 60]}) == (1, None)
    beside = go.Scatter(x=[825, 830], y=[0, 100], yaxis="y2")
    assert ticks([line, beside], [], yaxis2={"overlaying": "y"}) == (1, 1)
    bars = [go.Bar(x=[1, 2], y=[7, 8]) for _ in range(2)]
    assert ticks(bars, []) == (1, 1) and ticks(bars, [], barmode="stack") == (1, None)


def test_steps_are_not_marked_on_an_axis_that_counts_events(tmp_path: Path) -> None:
    found = accepts(recording(tmp_path, [accept(1), {**accept(2), "step": None}]).processes[0])
    assert "shapes" not in accept_figure("accept-0", found, [Mark(2, "MOV-PAIR")]).body["layout"]


def test_lengths_that_no_verify_can_have_are_put_together(tmp_path: Path) -> None:
    odd = (2, 2**31 - 1, 200_000, 0, -5)
    events = [accept(step, accept_len=length) for step, length in enumerate(odd)]
    found = accepts(recording(tmp_path, events).processes[0])
    (bars,) = distribution_figure("d-0", found).body["data"]
    assert len(bars["x"]) == MOST_LENGTHS + 3 and sum(bars["y"]) == found.verifies == len(odd)
    said = {words: count for (words, _), count in zip(bars["customdata"], bars["y"], strict=True) if count}
    assert said == {"fewer than 0": 1, "0": 1, "2": 1, "more than 64": 2}


def test_the_distribution_has_a_bar_for_lengths_that_never_occurred(tmp_path: Path) -> None:
    events = [accept(1), accept(2), accept(3, accept_len=1)]
    figure = distribution_figure("d-0", accepts(recording(tmp_path, events).processes[0]))
    (bars,) = figure.body["data"]
    assert (bars["x"], bars["y"]) == ([1, 2, 3], [1, 0, 2])


def test_a_named_request_stands_alone_with_its_reserve(tmp_path: Path) -> None:
    found = lengths(recording(tmp_path, [held(1), held(1, "8"), held(2)]).processes[0], ["8"])
    figure = lengths_figure("lengths-0", found, [], "8")
    shown = [trace for trace in figure.body["data"] if trace["visible"]]
    assert [trace["meta"]["length"] for trace in shown] == ["committed", "allocated"]
    assert {trace["name"] for trace in shown} == {"8"}
    assert [trace.get("fill") for trace in shown] == [None, "tonexty"]


def test_all_requests_together_have_no_tint(tmp_path: Path) -> None:
    found = lengths(recording(tmp_path, [held(1), held(1, "8")]).processes[0])
    traces = lengths_figure("lengths-0", found, [], None).body["data"]
    assert all(trace["visible"] for trace in traces)
    assert {trace.get("fill") for trace in traces} == {None, "none"}


def test_a_length_that_was_not_recorded_is_a_gap(tmp_path: Path) -> None:
    found = lengths(recording(tmp_path, [held(1), held(2, allocated=None)]).processes[0])
    _, allocated = lengths_figure("lengths-0", found, [], None).body["data"]
    assert allocated["y"] == [4352, None]


def test_names_from_the_recording_are_no_markup_for_plotly(tmp_path: Path) -> None:
    name = '<a href="https://example.org">%{x}</a>'
    found = lengths(recording(tmp_path, [held(1, name)]).processes[0])
    for trace in lengths_figure("lengths-0", found, [], None).body["data"]:
        assert trace["name"] == '&lt;a href="https://example.org"&gt;%{x}&lt;/a&gt;'
        assert name not in trace["hovertemplate"]
