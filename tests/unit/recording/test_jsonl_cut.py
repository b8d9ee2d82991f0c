"""A cut of a recording can be imported, and claims nothing of what lies before it."""

from __future__ import annotations

from pathlib import Path

from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.jsonl_cut import cut_jsonl
from speckv_debug.recording.reader import Recording

REAL = Path(__file__).parents[2] / "recordings" / "real" / "fault-move-source-shifted.jsonl.xz"


def test_a_cut_holds_the_events_of_its_span_and_can_be_imported(tmp_path: Path) -> None:
    import_jsonl(REAL, tmp_path / "x.speckv")
    (process,) = Recording.open(tmp_path / "x.speckv").processes
    (tmp_path / "cut.jsonl").write_text(cut_jsonl(process, 500, 599, 1 << 20))
    import_jsonl(tmp_path / "cut.jsonl", tmp_path / "cut.speckv")
    (cut,) = Recording.open(tmp_path / "cut.speckv").processes
    assert list(cut.events()) == list(process.events(500, 599))
    assert not cut.info.from_start and cut.info.pools == process.info.pools


def test_a_cut_that_would_be_too_long_ends_with_a_whole_line(tmp_path: Path) -> None:
    import_jsonl(REAL, tmp_path / "x.speckv")
    (process,) = Recording.open(tmp_path / "x.speckv").processes
    whole, short = (cut_jsonl(process, 500, 599, most) for most in (1 << 20, 9000))
    assert len(short) <= 9000 and short.endswith("}\n") and whole.startswith(short)
