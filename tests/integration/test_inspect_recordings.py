"""Whatever was recorded can be drawn: every verify of the made-up cases, a share of the real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from speckv_debug.model.verify import VerifyStep
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.tui.answers import Answers
from speckv_debug.viewers.tui.recorded import RecordedProcess
from speckv_debug.viewers.tui.widgets.draft_tree import DraftTreePanel
from speckv_debug.viewers.tui.widgets.event_list import whole
from speckv_debug.viewers.tui.widgets.move_table import MoveTable
from speckv_debug.viewers.tui.widgets.room_bar import RoomBar
from speckv_debug.viewers.tui.widgets.step_panel import StepPanel
from speckv_debug.viewers.tui.widgets.token_strips import TokenStrips
from speckv_debug.viewers.tui.widgets.verify_facts import VerifyFacts
from tests.inspecting import Here

RECORDINGS = Path(__file__).parents[1] / "recordings"
FILES = sorted((*RECORDINGS.glob("cases/*.jsonl"), *RECORDINGS.glob("real/*.jsonl.xz")))
PANELS: tuple[type[StepPanel], ...] = (DraftTreePanel, MoveTable, TokenStrips, RoomBar, VerifyFacts)
EVERY = 9


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.split(".")[0])
def test_verifies_and_events_can_be_drawn(file: Path, tmp_path: Path) -> None:
    import_jsonl(file, tmp_path / "run.speckv")
    answers = Here(Answers(tmp_path / "run.speckv"))
    for recorded in Recording.open(tmp_path / "run.speckv").processes:
        process = RecordedProcess(recorded, *[answers] * 4)
        steps, lookup = process.lookup.steps, process.lookup
        for index in range(0, len(steps), EVERY if file.suffix == ".xz" else 1):
            step = process.drawn(index).step
            assert (step.step, step.request) == (steps.step[index], steps.request[index])
            assert lookup.at_seq(step.seq) == index
            draw(step)
        first, _ = process.span
        assert all(whole(event).plain for event in process.events(first, first + 50))


def draw(step: VerifyStep) -> None:
    """Each panel says something at each width, and every accepted row is in tree and table."""
    for width in (30, 77, 190):
        drawn = {panel: [line.plain for line in panel().step_lines(step, width)] for panel in PANELS}
        assert all(drawn.values())
        assert sum("●" in line for line in drawn[DraftTreePanel]) == len(set(step.accepted))
        assert len(drawn[MoveTable]) == len(step.moves) + 1
