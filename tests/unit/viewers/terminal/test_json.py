"""The JSON form: every key is always there."""

from __future__ import annotations

import io
import json

from speckv_debug.model.finding import CheckResult, Evidence, Finding, Severity, Unknown
from speckv_debug.model.process import Rank
from speckv_debug.viewers.terminal.json import render

KEYS = ["rule", "severity", "process", "step", "request", "row", "epoch", "pool", "slots", "pages", "ranks"]
KEYS += ["message", "expected", "actual", "about", "evidence", "first_seq", "repeats", "cause"]


def test_keys_are_always_there() -> None:
    bare = Finding(rule="X", severity=Severity.NOTE, process="p", message="m")
    out = io.StringIO()
    render(
        CheckResult(findings=(bare,), unknown=(Unknown(rule="Y", why="w", instances=2),), checked={"X": 3}),
        out,
    )
    value = json.loads(out.getvalue())
    assert list(value) == [
        "verdict",
        "judged",
        "findings",
        "unknown",
        "checked",
        "known",
        "disabled",
        "lowered",
    ]
    assert list(value["findings"][0]) == KEYS
    assert {key for key, held in value["findings"][0].items() if held is None} == {
        "step", "request", "row", "epoch", "pool", "slots", "pages", "ranks", "expected", "actual", "cause", "about",
    }  # fmt: skip
    assert value["unknown"] == [{"rule": "Y", "why": "w", "instances": 2}]
    assert (value["verdict"], value["checked"]) == ("clean", {"X": 3})
    assert value["judged"] == {"instances": 3, "of": 5, "percent": 60.0}
    assert (value["known"], value["disabled"]) == (None, [])


def test_values() -> None:
    table = Evidence(title="t", columns=("k",), rows=((1,), (None,)), marked=(0,))
    full = Finding(
        rule="X", severity=Severity.ERROR, process="p", message="m", slots=(1, 2), ranks=(Rank(tp=0, pp=0, dp=1),),
        evidence=(table,), cause=4,
    )  # fmt: skip
    out = io.StringIO()
    render(CheckResult(findings=(full,)), out)
    value = json.loads(out.getvalue())
    assert value["verdict"] == "findings"
    finding = value["findings"][0]
    assert (finding["severity"], finding["slots"], finding["cause"]) == ("error", [1, 2], 4)
    assert finding["ranks"] == [{"tp": 0, "pp": 0, "dp": 1}]
    assert finding["evidence"] == [{"title": "t", "columns": ["k"], "rows": [[1], [None]], "marked": [0]}]
