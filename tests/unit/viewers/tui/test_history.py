"""Questions about slots, pages, rows and requests: how they are typed, and what the recording answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from speckv_debug.checks.run import check
from speckv_debug.errors import UsageError
from speckv_debug.viewers.tui.answers import Answers
from speckv_debug.viewers.tui.apart import Cancelled
from speckv_debug.viewers.tui.history import Question, parse_question
from speckv_debug.viewers.tui.recorded import RecordedProcess
from speckv_debug.viewers.tui.recorded_history import answer
from speckv_debug.viewers.tui.screens.events import EventsScreen
from speckv_debug.viewers.tui.screens.findings import FindingsScreen
from speckv_debug.viewers.tui.screens.history import HistoryScreen
from speckv_debug.viewers.tui.screens.step import StepScreen
from tests.inspected import LABEL, SmallProcess, SmallRun, clean, inspection, text_of
from tests.inspecting import Here, here, inspecting, until
from tests.reported import broken_run


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("slot 42082", Question("slot", "42082")),
        (" page 3 swa ", Question("page", "3", "swa")),
        ("row 7", Question("row", "7")),
        ("life chat 19", Question("life", "chat 19")),
        ("812", None),
        ("request 7", None),
        ("slotted 7", None),
    ],
)
def test_a_question_is_typed_as_words(typed: str, asked: Question | None) -> None:
    assert parse_question(typed) == asked


@pytest.mark.parametrize(
    "typed", ["slot", "page x", "row 7 swa", "row -1", "life", "slot 1.5", "slot " + "9" * 5000]
)
def test_what_begins_as_a_question_and_is_none_says_how_to_ask(typed: str) -> None:
    with pytest.raises(UsageError, match="needs") as error:
        parse_question(typed)
    assert "slot N" in error.value.remedy


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> RecordedProcess:
    recording = broken_run(tmp_path_factory.mktemp("history"))
    answers = Here(Answers(recording.path))
    return RecordedProcess(recording.processes[0], *[answers] * 4)


def test_a_recorded_request_has_its_verifies_in_order(process: RecordedProcess) -> None:
    request = process.lookup.requests[0]
    life = process.history(Question("life", str(request)))
    assert [line.seq for line in life.lines] == sorted(line.seq for line in life.lines)
    assert sum(line.event == "accept" for line in life.lines) == len(process.lookup.of_request(request))
    assert any("rows accepted" in line.what for line in life.lines)


def test_a_recorded_slot_row_and_page_answer(process: RecordedProcess) -> None:
    verify = process.drawn(0).step
    assert verify.out_cache_loc is not None
    slot = process.history(Question("slot", str(verify.out_cache_loc[0])))
    assert "accept" in {line.event for line in slot.lines}
    row = process.history(Question("row", str(verify.row)))
    assert row.title.startswith(f"request row {verify.row}: 1 epoch")
    number = verify.out_cache_loc[0] // verify.page_size if verify.page_size else 0
    page = process.history(Question("page", str(number)))
    assert page.title.startswith(f"page {number} of pool full")
    assert len(page.lines) >= len(slot.lines)


def test_what_a_check_has_read_answers_too(process: RecordedProcess, tmp_path: Path) -> None:
    """Tables that were not recorded are there then, without an event."""
    recording = broken_run(tmp_path)
    check(recording)
    for question in (Question("slot", "42082"), Question("row", "7"), Question("life", "7")):
        assert answer(recording.processes[0], question) == process.history(question)


def test_an_unknown_pool_is_refused(process: RecordedProcess) -> None:
    with pytest.raises(UsageError):
        process.history(Question("slot", "1", "nowhere"))


async def test_a_slot_is_asked_for_and_an_event_opened() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press(":", *"slot 42082", "enter")
        await until(pilot, lambda: "42083 <- 42082" in text_of(app))
        assert here(app)[0] is HistoryScreen
        shown = text_of(app)
        assert "unknown  table_write was not recorded" in shown
        assert next(line for line in shown.splitlines() if line.startswith("›")).split()[1:3] == ["✗", "460"]
        await pilot.press("enter")
        await until(pilot, lambda: here(app)[0] is EventsScreen)
        await pilot.press("escape", "escape")
        assert here(app) == (FindingsScreen, None)


async def test_the_life_of_the_request_in_sight() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("enter", "t")
        await until(pilot, lambda: "request 7: 7 events" in text_of(app))
        await pilot.press("n")
        assert here(app)[0] in (StepScreen, EventsScreen)


async def test_no_event_and_no_answer_are_said() -> None:
    async with inspecting(size=(120, 30)) as (app, pilot):
        await pilot.press(":", *"page 9999", "enter")
        await until(pilot, lambda: "no event of this process is about it" in text_of(app))
        await pilot.press(":", *"slot 5 none", "enter")
        await until(pilot, lambda: "there is no pool none in" in text_of(app))
        await pilot.press(":", *"slot x", "enter")
        await until(pilot, lambda: "slot needs a number" in text_of(app))


async def test_the_next_process_answers_the_same_question() -> None:
    other = SmallProcess(SmallRun(), "tp1-pp0-dp0-4712")
    async with inspecting(inspection(clean, SmallProcess(SmallRun()), other)) as (app, pilot):
        await pilot.press(":", *"row 7", "enter")
        await until(pilot, lambda: "4 events" in text_of(app))
        await pilot.press("o")
        await until(pilot, lambda: other.label in text_of(app))
        assert other.label != LABEL and here(app)[0] is HistoryScreen


async def test_an_answer_that_fails_is_told_and_nothing_is_taken_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def given_up(self: SmallProcess, *asked: object) -> None:
        raise Cancelled("ended")

    monkeypatch.setattr(SmallProcess, "history", given_up)
    monkeypatch.setattr(SmallProcess, "events", given_up)
    async with inspecting() as (app, pilot):
        await pilot.press(":", *"slot 42082", "enter")
        await until(pilot, lambda: "given up" in text_of(app))
        assert "no event" not in text_of(app) and "there is no answer" in text_of(app)
        await pilot.press("escape", "e")
        await until(pilot, lambda: here(app)[0] is EventsScreen and "given up" in text_of(app))
