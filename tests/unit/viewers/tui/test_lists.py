"""Lists draw the lines in sight and no others."""

import numpy as np
import pytest
from textual.app import App, ComposeResult
from textual.content import Content

from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.outline import outcome_of
from speckv_debug.viewers.tui.widgets.evidence import evidence_lines
from speckv_debug.viewers.tui.widgets.finding_list import FindingList
from speckv_debug.viewers.tui.widgets.run_chart import columns, pointers
from speckv_debug.viewers.tui.widgets.step_list import StepList, accepted
from tests.inspected import LABEL, SmallProcess, SmallRun, broken, swapped_move


class CountingList(StepList):
    """Remembers which lines were drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[int] = []

    def line(self, index: int, width: int) -> Content:
        self.drawn.append(index)
        return super().line(index, width)


class ListApp(App[None]):
    def compose(self) -> ComposeResult:
        yield CountingList()


@pytest.mark.asyncio
async def test_a_million_verifies_cost_a_screenful() -> None:
    app = ListApp()
    async with app.run_test(size=(80, 24)) as pilot:
        steps, lookup = app.query_one(CountingList), StepLookup(SmallRun(1_000_000))
        steps.show(lookup, lookup.all(), {})
        await pilot.pause()
        assert steps.drawn and max(steps.drawn) < 24
        steps.drawn.clear()
        await pilot.press("G")
        await pilot.pause()
        assert steps.cursor == 999_999
        assert min(steps.drawn) >= 999_999 - 24


@pytest.mark.asyncio
async def test_the_cursor_stays_in_sight_and_in_bounds() -> None:
    app = ListApp()
    async with app.run_test(size=(80, 24)) as pilot:
        steps, lookup = app.query_one(CountingList), StepLookup(SmallRun(60))
        steps.show(lookup, lookup.all(), {}, at=40)
        await pilot.pause()
        assert steps.cursor == 40
        assert steps.scroll_offset.y <= 40 < steps.scroll_offset.y + 23
        await pilot.press("pagedown", "pagedown", "down", "j")
        assert steps.cursor == 59
        await pilot.press("g", "up", "k")
        assert steps.cursor == 0
        await pilot.resize_terminal(80, 5)
        await pilot.press("end")
        await pilot.pause()
        assert steps.scroll_offset.y == 56
        await pilot.click(CountingList, offset=(4, 1))
        assert steps.cursor == 56


@pytest.mark.asyncio
async def test_a_line_says_step_request_accept_length_and_finding() -> None:
    lookup = StepLookup(SmallRun(60))
    marks = outcome_of(broken(), {LABEL: lookup}).marks[LABEL]
    app = ListApp()
    async with app.run_test():
        steps = app.query_one(CountingList)
        steps.show(lookup, lookup.all(), marks)
        assert steps.line(36, 78).plain.rstrip() == "✗       812  7         ▇▇▇  3 of 4    MOV-PAIR"
        assert steps.line(37, 78).plain.rstrip() == "        812  8         ▇··  1 of 4"


def test_bars_have_the_scale_of_the_longest() -> None:
    assert accepted(5, 10, 5).plain == "▇▇▇▇▇  5 of 10 "
    assert accepted(0, 4, 3).plain == "···  0 of 4  "
    assert accepted(1, 64, 64).plain == "▇·······  1 of 64 "
    assert accepted(64, 64, 64).plain.startswith("▇▇▇▇▇▇▇▇ 64 of 64")
    assert accepted(-1, 4, 3).plain == "?   unknown  "


@pytest.mark.asyncio
async def test_findings_are_indented_below_their_cause() -> None:
    entries = outcome_of(broken(), {LABEL: SmallProcess(SmallRun()).lookup}).entries
    findings = FindingList()
    async with App[None]().run_test() as pilot:
        await pilot.app.mount(findings)
        findings.show(entries)
        assert findings.line(1, 120).plain == (
            "└ ✗ E  LEN-TOKEN   step 813 · request 7  position 4098 holds B, the output says C  (and 391 more)"
        )
        assert findings.line(2, 120).plain == (
            "! W  OWN-LEAK      request 8             2 pages of the finished request 8 have no holder"
        )
        assert findings.line(2, 69).plain == (
            "! W  OWN-LEAK      request 8  2 pages of the finished request 8 have no holder"
        )


def test_evidence_is_a_table_with_the_broken_row_marked() -> None:
    assert [row.plain for row in evidence_lines(swapped_move().evidence[0])] == [
        "accepted rows and their slots",
        "  k  token  verify row  source  target  engine moved",
        "  0  R 11            0   42080   42080  42080 <- 42080",
        "  1  A 21            1   42081   42081  42081 <- 42081",
        "✗ 2  C 23            3   42083   42082  42083 <- 42082",
    ]


def test_evidence_wider_than_its_room_goes_on_in_the_next_line_and_nothing_is_cut() -> None:
    assert [row.plain for row in evidence_lines(swapped_move().evidence[0], 48)] == [
        "accepted rows and their slots",
        "  k  token     verify  source  target  engine",
        "                  row                  moved",
        "  0  R 11           0   42080   42080  42080 <-",
        "                                       42080",
        "  1  A 21           1   42081   42081  42081 <-",
        "                                       42081",
        "✗ 2  C 23           3   42083   42082  42083 <-",
        "                                       42082",
    ]


def test_the_overview_fits_the_run_into_the_width() -> None:
    lengths = np.repeat(np.array([1, 4], np.int64), 500)
    assert columns(lengths, 10) == "▂▂▂▂▂█████"
    assert columns(np.array([2, -1], np.int64), 10) == "█ "
    assert columns(np.zeros(0, np.int64), 10) == columns(lengths, 0) == ""


def test_findings_and_the_cursor_stand_below_their_column() -> None:
    assert pointers(1000, 10, np.array([998, 999]), 0) == "▲        ✗"
    assert pointers(1000, 10, np.zeros(0, np.int64), 5000) == "         ▲"
    assert pointers(0, 0, np.zeros(0, np.int64), 0) == ""
