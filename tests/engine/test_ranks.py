"""Two tensor-parallel ranks of a real scheduler, a spawned process each: the first records, or both."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_exit_paths import end_by

from speckv_debug.recording.reader import ProcessRecording, Recording

pytestmark = pytest.mark.full


def accepts(process: ProcessRecording) -> dict[tuple[int, str], tuple]:
    """What each verify accepted, by step and request."""
    return {
        (e.step, e.request): (e.accept_len, e.accept_index, e.predict)
        for e in process.events()
        if e.table == "accept"
    }


def test_the_first_rank_records(tmp_path: Path) -> None:
    ended = end_by("kill", tmp_path, target=["--ranks", "2"])
    assert ended.exit_code == 0, ended.stderr[-2000:]
    assert ended.process.info.rank.tp == 0
    assert ended.process.info.settings["tp_size"] == 2


def test_all_ranks_record_and_accept_the_same(tmp_path: Path) -> None:
    ended = end_by("kill", tmp_path, target=["--ranks", "2"], options=["--ranks", "all"])
    assert ended.exit_code == 0, ended.stderr[-2000:]
    first, second = Recording.open(ended.out).processes
    assert (first.info.rank.tp, second.info.rank.tp) == (0, 1)
    ours, theirs = accepts(first), accepts(second)
    both = ours.keys() & theirs.keys()
    assert len(both) >= 20
    assert {key for key in both if ours[key] != theirs[key]} == set()
