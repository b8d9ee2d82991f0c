"""Two tensor-parallel ranks on two GPUs: the first records, or both, and both accept the same; DP attention records each replica."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from speckv_debug.recording.reader import ProcessRecording
from tests.gpu.program import Served
from tests.gpu.serving import drafted, eagle, run_engine

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU: two ranks need two"),
]
TWO = {"tp_size": 2, "disable_custom_all_reduce": True}


def accepts(process: ProcessRecording) -> dict[tuple[int, str], tuple]:
    """What each verify accepted, by step and request."""
    return {
        (e.step, e.request): (e.accept_len, e.accept_index, e.predict)
        for e in process.events()
        if e.table == "accept"
    }


def is_whole_and_clean(served: Served) -> None:
    assert served.exit_code == 0, served.stderr[-3000:]
    served.is_whole()
    served.is_clean()


def test_the_first_rank_records(tmp_path: Path) -> None:
    served = run_engine(tmp_path, "0,1", eagle(4, "target-wide", "eagle-wide") | TWO)
    is_whole_and_clean(served)
    (process,) = served.processes
    assert process.info.rank.tp == 0
    assert process.info.settings["tp_size"] == 2


def test_all_ranks_record_and_accept_the_same(tmp_path: Path) -> None:
    arguments = eagle(4, "target-wide", "eagle-wide") | TWO
    served = run_engine(tmp_path, "0,1", arguments, options=["--ranks", "all"])
    is_whole_and_clean(served)
    first, second = served.processes
    assert (first.info.rank.tp, second.info.rank.tp) == (0, 1)
    ours, theirs = accepts(first), accepts(second)
    both = ours.keys() & theirs.keys()
    assert len(both) >= 0.9 * len(ours) >= 100
    assert {key for key in both if ours[key] != theirs[key]} == set()


def test_both_replicas_of_dp_attention_record(tmp_path: Path) -> None:
    """Each keeps its own requests, and runs idle batches while only the other has some.

    The draft is of EAGLE3: for others 0.5.15 builds the draft model with the target's TP group, which Llama's
    attention takes for its own.
    """
    arguments = drafted("EAGLE3", 4, 10, "target-qwen", "eagle3") | TWO
    arguments |= {"dp_size": 2, "enable_dp_attention": True, "enable_dp_lm_head": True}
    served = run_engine(tmp_path, "0,1", arguments)
    is_whole_and_clean(served)
    first, second = served.processes
    asked = [{request for _, request in accepts(process)} for process in (first, second)]
    assert asked[0] and asked[1] and not asked[0] & asked[1]
