"""The first screen: the verdict, the findings, and the one under the cursor in full."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from speckv_debug.viewers.tui import unjudged
from speckv_debug.viewers.tui.findings_filter import FindingsFilter
from speckv_debug.viewers.tui.headline import headline
from speckv_debug.viewers.tui.outline import Entry, Outcome
from speckv_debug.viewers.tui.screens.filtered import FilteredScreen
from speckv_debug.viewers.tui.screens.sheet import Sheet
from speckv_debug.viewers.tui.widgets.finding_detail import FindingDetail
from speckv_debug.viewers.tui.widgets.finding_list import FindingList
from speckv_debug.viewers.tui.widgets.lines import Said


class FindingsScreen(FilteredScreen):
    """Is it broken, where, since which step."""

    finds = "words, or rule:MOV severity:error request:7 process:tp0 step:812"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "events", "Events", tooltip="Show the events around this finding", id="finding.events"),
        Binding(
            "r",
            "only('rule')",
            "Rule",
            tooltip="Show this rule's findings alone, or all again",
            id="filter.rule",
        ),
        Binding(
            "m",
            "only('severity')",
            tooltip="Show this severity alone, or all again",
            id="filter.severity",
            show=False,
        ),
        Binding(
            "w",
            "only('request')",
            tooltip="Show this request's findings alone, or all again",
            id="filter.request",
            show=False,
        ),
        Binding(
            "c",
            "only('process')",
            tooltip="Show this process's findings alone, or all again",
            id="filter.process",
            show=False,
        ),
        Binding(
            "u", "unknown", "Unknown", tooltip="Show all that was not judged, and why", id="finding.unknown"
        ),
    ]

    def __init__(self, *, find: bool = False) -> None:
        super().__init__()
        self._entries: tuple[Entry, ...] = ()
        self._find = find

    def body(self) -> ComposeResult:
        yield Said(id="headline")
        with Container(id="findings-and-detail"):
            yield FindingList(id="findings")
            yield FindingDetail(id="detail")
        yield Said(id="unknown")

    def on_mount(self) -> None:
        self.focus_body()
        if self._find:
            self.call_after_refresh(self.action_find)

    def focus_body(self) -> None:
        self.query_one(FindingList).focus()

    def outcome_changed(self, outcome: Outcome | None) -> None:
        self.call_after_refresh(self._summarise)
        self.query_one("#detail").display = bool(outcome and outcome.entries)
        self._list(self.chosen)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._summarise)

    def _summarise(self) -> None:
        line = self.query_one("#unknown", Said)
        width = self.size.width - line.gutter.width
        line.say(unjudged.summary(self.inspector.inspection, self.inspector.outcome, width))

    def progress_changed(self) -> None:
        if self.inspector.stopped:
            self._list()
        app = self.inspector
        words = headline(app.inspection, app.lookups, app.outcome, app.progress)
        self.query_one("#headline", Said).say(words)

    def _list(self, at: Entry | None = None) -> None:
        outcome, findings = self.inspector.outcome, self.query_one(FindingList)
        if outcome is None:
            findings.wait(
                self.inspector.stopped or "the recording is being checked; v shows its steps meanwhile"
            )
        elif not outcome.entries:
            findings.wait(unjudged.no_finding(outcome, "v shows the steps, e the events"))
        else:
            asked = FindingsFilter.of(self._text)
            self._entries = tuple(entry for entry in outcome.entries if asked.wants(entry.finding))
            findings.empty = "no finding is like that; escape shows all"
            findings.show(self._entries, self._entries.index(at) if at in self._entries else 0)
        if findings.chosen is None:
            self.query_one(FindingDetail).show(None, None)
        shown, all_ = len(self._entries), 0 if outcome is None else len(outcome.entries)
        count = f"{shown:,} of {all_:,}" if self._text else ""
        self.locate("findings", *([f"with {self._text!r}"] if self._text else []), count=count)

    def action_only(self, name: str) -> None:
        """Narrow to findings that have a field like the one under the cursor, or no more."""
        entry = self.chosen
        asked = FindingsFilter.of(self._text)
        if entry is not None:
            self._text = asked.toggled(name, entry.finding).typed
        elif asked.fields:
            self._text = asked.text
        self._list(entry)

    def on_line_list_moved(self) -> None:
        entry = self.query_one(FindingList).chosen
        law = None if entry is None else self.inspector.inspection.laws.get(entry.finding.rule)
        self.query_one(FindingDetail).show(entry, law)

    def on_line_list_chosen(self) -> None:
        if (entry := self.query_one(FindingList).chosen) is not None:
            self.inspector.open_finding(entry)

    def action_events(self) -> None:
        entry = self.query_one(FindingList).chosen
        if entry is not None:
            self.inspector.open_events(entry.finding.process, entry.finding.first_seq)
        elif self.inspector.inspection.processes:
            self.inspector.open_events(self.inspector.inspection.labels[0], 0)

    def action_unknown(self) -> None:
        self.app.push_screen(Sheet("Not judged", partial(unjudged.sheet, self.inspector)))

    @property
    def chosen(self) -> Entry | None:
        """The finding under the cursor."""
        return self.query_one(FindingList).chosen

    def move(self, by: int) -> None:
        """Move the cursor by so many findings."""
        self.query_one(FindingList).cursor += by

    def point_at(self, entry: Entry) -> None:
        """Put the cursor on `entry`, if it is listed."""
        if entry in self._entries:
            self.query_one(FindingList).cursor = self._entries.index(entry)
