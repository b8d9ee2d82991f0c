"""What is known of all events after one look at their numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.recording.survey import Extent

SOURCE = Path(__file__).parents[2] / "recordings" / "real" / "ngram_b4_p1.jsonl.xz"


@pytest.fixture
def process(tmp_path: Path) -> ProcessRecording:
    import_jsonl(SOURCE, tmp_path / "x.speckv")
    return Recording.open(tmp_path / "x.speckv").processes[0]


def test_a_survey_says_what_the_columns_say(process: ProcessRecording) -> None:
    extents, gaps, last = dict(process.extents), process.gaps(), process.last_seq
    again, shown = ProcessRecording(process.folder, process.info, clean=process.clean), list[int]()
    survey = again.survey(["step"], lambda stretch: shown.append(sum(t.num_rows for t in stretch.values())))
    assert again.extents == extents and again.last_seq == last and again.present == process.present
    assert survey.dense == (not gaps) and sum(shown) == sum(extent.rows for extent in extents.values())


def test_damage_that_shows_later_ends_what_a_survey_knows(process: ProcessRecording) -> None:
    process.survey(["step"], lambda stretch: None)
    before = process.extents["accept"]
    part = next((process.folder / "accept").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:100])
    process.table("accept")
    assert process.problems and "accept" not in process.extents and before.rows > 0
    assert process.gaps()


def test_a_hole_makes_it_not_dense(tmp_path: Path) -> None:
    lines = ['{"event": "process", "engine": "x"}', *(f'{{"event": "note", "seq": {n}}}' for n in (3, 4, 6))]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    import_jsonl(tmp_path / "x.jsonl", tmp_path / "x.speckv")
    process = Recording.open(tmp_path / "x.speckv").processes[0]
    survey = process.survey([], lambda stretch: None)
    assert not survey.dense and survey.extents == {"note": Extent(3, 6, 3)}
    assert process.gaps() == [(5, 6)]
