"""A cut of a recording can be imported, and claims nothing of what lies before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from speckv_debug.checks.run import check
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.jsonl_cut import cut_jsonl
from speckv_debug.recording.reader import Recording

CLEAN = Path(__file__).parents[2] / "recordings" / "real" / "eagle_k1_p64.jsonl.xz"
REAL = Path(__file__).parents[2] / "recordings" / "real" / "fault-move-source-shifted.jsonl.xz"


def test_a_cut_holds_the_events_of_its_span_and_can_be_imported(tmp_path: Path) -> None:
    import_jsonl(REAL, tmp_path / "x.speckv")
    (process,) = Recording.open(tmp_path / "x.speckv").processes
    (tmp_path / "cut.jsonl").write_text(cut_jsonl(process, 500, 599, 1 << 20).text)
    import_jsonl(tmp_path / "cut.jsonl", tmp_path / "cut.speckv")
    (cut,) = Recording.open(tmp_path / "cut.speckv").processes
    assert list(cut.events()) == list(process.events(500, 599))
    assert not cut.info.from_start and cut.info.pools == process.info.pools


def test_a_cut_that_would_be_too_long_ends_with_a_whole_line(tmp_path: Path) -> None:
    import_jsonl(REAL, tmp_path / "x.speckv")
    (process,) = Recording.open(tmp_path / "x.speckv").processes
    whole, short = (cut_jsonl(process, 500, 599, most) for most in (1 << 20, 9000))
    assert len(short.text) <= 9000 and short.text.endswith("}\n") and whole.text.startswith(short.text)
    assert whole.left_out == 0
    assert short.left_out == whole.text.count("\n") - short.text.count("\n") > 0


@pytest.mark.parametrize("first", range(200, 1800, 160))
def test_a_cut_of_a_clean_run_is_clean_wherever_it_ends(first: int, tmp_path: Path) -> None:
    import_jsonl(CLEAN, tmp_path / "x.speckv")
    (process,) = Recording.open(tmp_path / "x.speckv").processes
    (tmp_path / "cut.jsonl").write_text(cut_jsonl(process, first, first + 81, 1 << 20).text)
    import_jsonl(tmp_path / "cut.jsonl", tmp_path / "cut.speckv")
    found = check(Recording.open(tmp_path / "cut.speckv"), replay="off")
    assert found.findings == ()
