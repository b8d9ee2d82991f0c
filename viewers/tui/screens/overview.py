"""The first screen: is it broken, by what, and what was recorded at all."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from speckv_debug.model.finding import Severity
from speckv_debug.replay.pool_series import PoolSeries
from speckv_debug.viewers.tui import unjudged
from speckv_debug.viewers.tui.headline import headline
from speckv_debug.viewers.tui.inspection import InspectedProcess
from speckv_debug.viewers.tui.outline import Entry, Outcome, consequences_of
from speckv_debug.viewers.tui.screens.inspector import InspectorScreen
from speckv_debug.viewers.tui.screens.sheet import Sheet
from speckv_debug.viewers.tui.widgets.accept_chart import AcceptChart
from speckv_debug.viewers.tui.widgets.cause_detail import CauseDetail
from speckv_debug.viewers.tui.widgets.finding_detail import FindingDetail
from speckv_debug.viewers.tui.widgets.finding_list import FindingList
from speckv_debug.viewers.tui.widgets.lines import Said
from speckv_debug.viewers.tui.widgets.missing_list import MissingList
from speckv_debug.viewers.tui.widgets.pool_chart import NO_POOLS, PoolChart
from speckv_debug.viewers.tui.widgets.process_list import ProcessLine, ProcessList


class OverviewScreen(InspectorScreen):
    """Shows at once what the recording says of itself; the check and the replay fill in the rest."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "u", "unknown", "Unknown", tooltip="Show all that was not judged, and why", id="finding.unknown"
        ),
        Binding(
            "e", "events", tooltip="Show the events around this finding", id="finding.events", show=False
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._process = ""

    @property
    def process(self) -> str:
        """Label of the process whose verifies and pools are drawn."""
        return self._process

    @property
    def seq(self) -> int:
        """Before all events."""
        return -1

    def body(self) -> ComposeResult:
        yield Said(id="headline")
        with Container(id="causes"):
            yield FindingList(id="roots")
            yield CauseDetail(id="cause")
            yield FindingDetail(id="cause-in-full")
        with Container(id="charts"):
            yield AcceptChart(id="accepted")
            yield PoolChart(id="pools")
        with Container(id="recorded"):
            yield MissingList(id="missing")
            yield ProcessList(id="processes")

    def on_mount(self) -> None:
        labels = self.inspector.inspection.labels
        self.query_one("#causes").border_title = "Root causes"
        self.show(labels[0] if labels else "")
        self.focus_body()

    def focus_body(self) -> None:
        self.query_one(FindingList).focus()

    def show(self, process: str) -> None:
        """Draw the verifies and pools of this process."""
        self._process = process
        self.locate(*([process] if process else []), "overview")
        self._draw_verifies()
        if process:
            self.ask(self.inspector.inspection.process(process).series, self._draw_pools, "replaying")
        else:
            self.query_one(PoolChart).show(None, "nothing was recorded")

    def _draw_pools(self, found: tuple[PoolSeries, ...]) -> None:
        pools = self.inspector.inspection.process(self._process).pools
        why = "no event moves a page" if pools else NO_POOLS
        self.query_one(PoolChart).show(found[0] if found else None, why)

    def asking_failed(self, why: str) -> None:
        self.query_one(PoolChart).show(None, why)

    def asking_progressed(self, words: str) -> None:
        self.query_one(PoolChart).show(None, words)

    def steps_read(self) -> None:
        self._draw_verifies()
        self._draw_recorded()
        self.progress_changed()

    def _draw_verifies(self) -> None:
        lookup = self.inspector.lookups.get(self._process)
        if lookup is not None:
            why = "" if len(lookup) else unjudged.no_verify(self.inspector.inspection, self._process)
            steps = lookup.steps
            self.query_one(AcceptChart).show(steps.accept_len, steps.width, steps.simulated, why)

    def _draw_recorded(self) -> None:
        app = self.inspector
        said = [*unjudged.lacks(app.inspection), *unjudged.unknowns(app.outcome)]
        whole = "nothing: every rule had all that it needs"
        self.query_one(MissingList).show(said, whole if app.outcome is not None else unjudged.WAITING)
        self.query_one(ProcessList).show([self._process_line(each) for each in app.inspection.processes])

    def _process_line(self, process: InspectedProcess) -> ProcessLine:
        outcome, lookup = self.inspector.outcome, self.inspector.lookups.get(process.label)
        entries = () if outcome is None else outcome.entries
        own = [entry.finding.severity for entry in entries if entry.finding.process == process.label]
        return ProcessLine(
            process.info,
            process.events_recorded,
            None if lookup is None else len(lookup),
            None if outcome is None else len(own),
            next((severity for severity in Severity if severity in own), None),
        )

    def outcome_changed(self, outcome: Outcome | None) -> None:
        roots = self.query_one(FindingList)
        if outcome is None:
            roots.wait(
                self.inspector.stopped or "the recording is being checked; v shows its steps meanwhile"
            )
        elif not outcome.entries:
            roots.wait(unjudged.no_finding(outcome, "v shows the steps, p the pages"))
        else:
            roots.show(tuple(entry for entry in outcome.entries if entry.depth == 0), roots.cursor)
        for part in ("#cause", "#cause-in-full"):
            self.query_one(part).set_class(roots.count == 0, "-empty")
        self._draw_recorded()
        if outcome is not None and outcome.complete and self.inspector.reopened and self._process:
            self.ask(self.inspector.inspection.process(self._process).series, self._draw_pools, "replaying")

    def progress_changed(self) -> None:
        app = self.inspector
        if app.stopped and (app.outcome is None or not app.outcome.entries):
            self.query_one(FindingList).wait(app.stopped)
        words = headline(app.inspection, app.lookups, app.outcome, app.progress)
        self.query_one("#headline", Said).say(words)

    @property
    def chosen(self) -> Entry | None:
        """The root cause under the cursor."""
        return self.query_one(FindingList).chosen

    def on_line_list_moved(self) -> None:
        entry, outcome = self.chosen, self.inspector.outcome
        law = None if entry is None else self.inspector.inspection.laws.get(entry.finding.rule)
        then = () if entry is None or outcome is None else consequences_of(outcome, entry)
        self.query_one(CauseDetail).show(None if entry is None else entry.finding, law, then)
        self.query_one(FindingDetail).show(entry, law, then)

    def on_line_list_chosen(self) -> None:
        if (entry := self.chosen) is not None:
            self.inspector.open_finding(entry)

    def action_events(self) -> None:
        entry = self.chosen
        if entry is not None:
            self.inspector.open_events(entry.finding.process, entry.finding.first_seq)
        elif self._process:
            self.inspector.open_events(self._process, 0)

    def action_unknown(self) -> None:
        self.app.push_screen(Sheet("Not judged", partial(unjudged.sheet, self.inspector)))

    def action_find(self) -> None:
        self.inspector.open_findings(find=True)
