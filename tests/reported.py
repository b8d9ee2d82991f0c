"""Small recordings and findings for the report's tests, written by hand."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from speckv_debug.model.finding import CheckResult, Evidence, Finding, Severity, Unknown
from speckv_debug.model.verify import DraftTree, VerifyStep
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.html.page import render
from tests.smallest import smallest_moves, smallest_step

LABEL = "tp0-pp0-dp0"
HOSTILE = "<a href='http://127.0.0.1:9/'>owned</a></script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u2028\u202e"
PROCESS: Mapping[str, Any] = {
    "event": "process",
    "engine": "sglang",
    "engine_version": "0.5.23",
    "rank": {"tp": 0, "pp": 0, "dp": 0},
    "tables": ["accept", "move", "lengths"],
    "from_start": True,
    "pools": [{"name": "full", "kind": "full", "slots": 65536, "page_size": 128}],
    "settings": {"algorithm": "EAGLE", "topk": 2},
    "hooks": {"accept": "eagle_sample", "move": None},
}


def accept(step: int, request: str = "7", **changes: Any) -> dict[str, Any]:
    """The accept event of the smallest example at another step: three rows further each step from 800 on."""
    start = 4096 + 3 * (step - 800)
    return {
        "event": "accept",
        "step": step,
        "request": request,
        "row": 7,
        "epoch": 1,
        "algorithm": "eagle",
        "layout": "tree",
        "sampling": "greedy",
        "width": 4,
        "block_start": 0,
        "seq_len": start,
        "draft_tokens": [31, 21, 22, 23],
        "next_token": [1, 3, -1, -1],
        "next_sibling": [-1, 2, -1, -1],
        "predict": [21, 23, 0, 31],
        "accept_index": [0, 1, 3],
        "accept_len": 3,
        "out_cache_loc": [42080, 42081, 42082, 42083],
        "table_slots": [42080, 42081, 42082, 42083],
        "new_seq_len": start + 3,
        "bonus_token": 31,
    } | changes


def lengths(step: int, request: str = "7", **changes: Any) -> dict[str, Any]:
    """What the host reports of a request's lengths before that verify."""
    known = {"event": "lengths", "step": step, "request": request, "row": 7, "epoch": 1}
    return (
        known | {"committed": 4096 + 3 * (step - 800), "allocated": 4352, "cause": "spec_prepare"} | changes
    )


MOVE = {
    "event": "move",
    "step": 812,
    "pool": "full",
    "target_source": "table",
    "src": [42080, 42081, 42082],
    "tgt": [42080, 42081, 42083],
}
"""The last pair is the wrong way round."""
DUE = MOVE | {"src": [42080, 42081, 42083], "tgt": [42080, 42081, 42082]}


def recording(
    folder: Path, events: Iterable[Mapping[str, Any]], process: Mapping[str, Any] = PROCESS
) -> Recording:
    """A recording of these events, in `folder`."""
    lines = "".join(json.dumps(line) + "\n" for line in (process, *events))
    import_jsonl(io.BytesIO(lines.encode()), folder / "run.speckv")
    return Recording.open(folder / "run.speckv")


def broken_run(folder: Path, request: str = "7") -> Recording:
    """Twenty steps of two requests; at step 812 the last move runs backwards."""
    events: list[Mapping[str, Any]] = []
    for step in range(800, 820):
        idle = lengths(step, "8", row=8, committed=4096)
        kept = lengths(step, request, committed=4099 + 3 * (step - 800), cause="verify_commit")
        events += [lengths(step, request), idle, accept(step, request)]
        events += [MOVE if step == 812 else DUE | {"step": step}, kept]
    return recording(folder, events)


def hostile_run(folder: Path) -> Recording:
    """The broken run with hostile text wherever an engine or a recorder can put text, the file's name included."""
    named = {"request": HOSTILE, "row": 7, "epoch": 1}
    events: list[Mapping[str, Any]] = [{"event": "row_alloc", "step": 800, **named}]
    granted = {"event": "alloc", "step": 800, "pool": "full", "slots": list(range(4096, 4224)), **named}
    events += [granted | {"reason": HOSTILE, "site": HOSTILE}]
    for step in range(800, 816):
        events += [
            lengths(step, HOSTILE),
            accept(step, HOSTILE),
            MOVE if step == 812 else DUE | {"step": step},
        ]
    events += [granted | {"event": "free", "step": 816, "reason": HOSTILE, "site": HOSTILE}]
    events += [granted | {"event": "free", "step": 817, "reason": HOSTILE, "site": HOSTILE}]
    events += [{"event": "drop", "step": 818, "table": "accept", "rows": 3, "why": HOSTILE}]
    events += [{"event": "note", "step": 818, "level": HOSTILE, "text": HOSTILE}]
    tables = ["accept", "move", "lengths", "alloc", "free", "row_alloc"]
    process = {
        **PROCESS,
        "engine": HOSTILE,
        "tables": tables,
        "hooks": {HOSTILE: None},
        "settings": {"algorithm": HOSTILE},
    }
    lines = "".join(json.dumps(line) + "\n" for line in (process, *events))
    path = folder / "<img src=x onerror=document.title='owned'>.speckv"
    import_jsonl(io.BytesIO(lines.encode()), path)
    return Recording.open(path)


def finding(**changes: Any) -> Finding:
    """The move of step 812 runs backwards."""
    rows = ((0, "R 11", 42080, 42080), (1, "A 21", 42081, 42081), (2, "C 23", 42083, 42082))
    evidence = Evidence(title="moves", columns=("k", "token", "source", "target"), rows=rows, marked=(2,))
    found = Finding(
        rule="MOV-PAIR",
        severity=Severity.ERROR,
        process=LABEL,
        message="the last move runs backwards",
        step=812,
        request="7",
        row=7,
        epoch=1,
        expected="42082 <- 42083",
        actual="42083 <- 42082",
        evidence=(evidence,),
        first_seq=51,
    )
    return dataclasses.replace(found, **changes)


def result(*findings: Finding, unknown: tuple[Unknown, ...] = (), checked: int = 100) -> CheckResult:
    """A check that judged `checked` instances of one rule."""
    return CheckResult(findings=findings, unknown=unknown, checked={"MOV-PAIR": checked})


def page(recording: Recording, result: CheckResult) -> str:
    """The report as text."""
    out = io.StringIO()
    render(recording, result, out)
    return out.getvalue()


def verify(**changes: Any) -> VerifyStep:
    """The verify of the smallest example, its last move run backwards."""
    tree = DraftTree(tokens=(11, 21, 22, 23), parents=(-1, 0, 0, 1))
    moves = smallest_moves(ran=(42082, 42083))
    return dataclasses.replace(smallest_step(process=LABEL, seq=50, tree=tree, moves=moves), **changes)
