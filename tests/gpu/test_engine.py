"""`sglang.Engine` on a GPU: overlap, CUDA graphs, each family; recorded at both cheap levels, whole and clean."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.gpu.generate import REQUESTS
from tests.gpu.program import Served
from tests.gpu.serving import MODELS, drafted, eagle, run_engine, start_engine

pytestmark = pytest.mark.gpu
SCENARIOS: dict[str, dict[str, Any]] = {
    "eagle-topk4": eagle(4),
    "eagle-topk4-page64": eagle(4) | {"page_size": 64, "max_total_tokens": 12 * 1024},
    "eagle-topk1": eagle(1),
    "ngram": {
        "model_path": str(MODELS / "target"),
        "speculative_algorithm": "NGRAM",
        "speculative_num_draft_tokens": 8,
    },
    "standalone": drafted("STANDALONE", 4, 10, "target", "draft"),
}
JUDGED = {"1": ("ACC-", "MOV-", "LEN-"), "2": ("",)}
MOVED_BY = ("eagle-topk4", "eagle-topk4-page64", "ngram", "standalone")


def holds_what_it_was_made_for(served: Served, moves: bool) -> None:
    """Overlap and graphs were on, a request was given up, and accepted rows lay apart where they may."""
    (process,) = served.processes
    assert process.info.settings["overlap"] is True
    events = list(process.events())
    assert {e.lane for e in events if e.table == "accept"} == {"forward"}
    released = Counter(e.kind for e in events if e.table == "release")
    assert released["finish"] >= REQUESTS - 1 and released["abort"] >= 1
    moved = sum(
        src != tgt
        for e in events
        if e.table == "move" and e.caller == "accept"
        for src, tgt in zip(e.src, e.tgt, strict=True)
    )
    assert (moved >= 20) is moves
    assert sum(e.accept_len > 1 for e in events if e.table == "accept") >= 100


@pytest.mark.parametrize("level", ["2", "1"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_family_with_overlap_and_graphs(scenario: str, level: str, gpu: str, tmp_path: Path) -> None:
    words = ["--sampled"] if scenario == "standalone" else []
    served = run_engine(tmp_path, gpu, SCENARIOS[scenario], *words, options=["--level", level])
    assert served.exit_code == 0, served.stderr[-3000:]
    assert len(json.loads(served.stdout.splitlines()[-1])) == REQUESTS
    served.is_whole()
    served.is_clean(JUDGED[level])
    assert served.report("cuda") == served.report("cpu")
    holds_what_it_was_made_for(served, scenario in MOVED_BY)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_engine_that_somebody_ends_while_it_generates(
    number: signal.Signals, gpu: str, tmp_path: Path
) -> None:
    program = start_engine(tmp_path, gpu, eagle(4), "--again")
    program.wait_for(program.says)
    served = program.end_by(number)
    assert served.exit_code != 0 or number is signal.SIGTERM
    served.is_whole()
    served.is_clean()
    assert number is signal.SIGINT or served.is_complete  # SIGTERM lets it finish what it has
