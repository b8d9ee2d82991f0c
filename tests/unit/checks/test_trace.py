"""TRC: a hole in the stream is named; what the recorder knows that it left out is not a finding."""

from __future__ import annotations

from tests.ledgers import Run


def notes(*seqs: int) -> Run:
    run = Run()
    for seq in seqs:
        run.step = seq // 10
        run.add("note", seq=seq, text="here")
    return run


def test_a_stream_may_start_anywhere() -> None:
    result = notes(500, 501, 502).check("TRC-GAP")
    assert not result.findings and result.checked["TRC-GAP"] == 1


def test_a_hole_names_the_first_missing_event_and_how_many() -> None:
    (finding,) = notes(8, 9, 23).check("TRC-GAP").findings
    assert (finding.first_seq, finding.step, finding.severity) == (10, 2, "warning")
    assert finding.message.startswith("13 events are missing (10 to 22)")


def test_one_missing_event() -> None:
    (finding,) = notes(8, 10).check("TRC-GAP").findings
    assert finding.message.startswith("1 event is missing (9)")


def test_several_holes_are_one_finding_with_repeats() -> None:
    result = notes(1, 3, 5, 6).check("TRC-GAP")
    assert [(f.first_seq, f.repeats) for f in result.findings] == [(2, 1)]
    assert result.checked["TRC-GAP"] == 3


def test_rows_that_the_recorder_dropped_are_no_hole() -> None:
    run = notes(1, 2, 3)
    run.lines[1] |= {"event": "drop", "table": "alloc", "rows": 9}
    del run.lines[1]["text"]
    result = run.check("TRC-GAP")
    assert not result.findings and result.unknown[0].instances == 1


def test_nothing_recorded_is_nothing_to_judge() -> None:
    assert Run().check("TRC-GAP").checked["TRC-GAP"] == 0
