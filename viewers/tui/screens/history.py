"""What happened to a slot, a page, a request row or a request, event by event."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content

from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.history import USAGE, History, Question
from speckv_debug.viewers.tui.outline import Outcome
from speckv_debug.viewers.tui.screens.inspector import InspectorScreen
from speckv_debug.viewers.tui.widgets.history_list import NO_EVENT, HistoryList
from speckv_debug.viewers.tui.widgets.lines import Said
from speckv_debug.viewers.tui.widgets.prompt import Prompt


class HistoryScreen(InspectorScreen):
    """All its events; enter shows those around one."""

    def __init__(self, process: str, question: Question) -> None:
        super().__init__()
        self._process, self._question = process, question

    @property
    def process(self) -> str:
        """Label of the process that is asked."""
        return self._process

    @property
    def question(self) -> Question:
        """What was asked."""
        return self._question

    @property
    def seq(self) -> int:
        """The event under the cursor."""
        chosen = self.query_one(HistoryList).chosen
        return 0 if chosen is None else chosen.seq

    def body(self) -> ComposeResult:
        yield HistoryList(id="history-list")
        yield Said(id="unseen")

    def on_mount(self) -> None:
        self._begin()
        self.focus_body()

    def focus_body(self) -> None:
        self.query_one(HistoryList).focus()

    def show(self, process: str, question: Question) -> None:
        """Ask again."""
        self._process, self._question = process, question
        if self.is_mounted:
            self._begin()

    def _begin(self) -> None:
        self.locate(self._process, self._question.words, count="searching")
        process, question = self.inspector.inspection.process(self._process), self._question
        self.ask(lambda tell: process.history(question), self._list, "searching")

    def asking_failed(self, why: str) -> None:
        self._list(History(why, ()), f"there is no answer ({why}); ask again")

    def _list(self, found: History, empty: str = NO_EVENT) -> None:
        self.query_one(HistoryList).show(found.lines, self._marked(), printable(empty))
        said = [Content.styled(f"unknown  {printable(why)}", ink.DOUBT) for why in found.unseen]
        self.query_one("#unseen", Said).say(*said)
        self.query_one("#unseen").display = bool(said)
        self.locate(self._process, self._question.words, count=printable(found.title))

    def _marked(self) -> frozenset[int]:
        outcome = self.inspector.outcome
        entries = () if outcome is None else outcome.entries
        return frozenset(e.finding.first_seq for e in entries if e.finding.process == self._process)

    def outcome_changed(self, outcome: Outcome | None) -> None:
        self.query_one(HistoryList).mark(self._marked())

    def on_line_list_chosen(self) -> None:
        self.inspector.open_events(self._process, self.seq)

    def action_find(self) -> None:
        self.query_one(Prompt).ask("go", USAGE)
