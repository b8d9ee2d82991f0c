"""The inspector: which screens there are, how one gets from one to the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.events import Event, InputEvent, Key
from textual.screen import Screen

from speckv_debug.errors import SpeckvError, UsageError
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.text import amount
from speckv_debug.replay.slot_history import require_held
from speckv_debug.viewers.tui import unjudged
from speckv_debug.viewers.tui.apart import Cancelled
from speckv_debug.viewers.tui.commands import DeedCommands
from speckv_debug.viewers.tui.copying import MOST, as_text, span_of
from speckv_debug.viewers.tui.following import FollowingApp
from speckv_debug.viewers.tui.help import help_lines
from speckv_debug.viewers.tui.history import LIFE, Question, parse_question
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.keys import deeds
from speckv_debug.viewers.tui.outline import Entry, Outcome
from speckv_debug.viewers.tui.places import Place, find_place, moved_page, parse_goal
from speckv_debug.viewers.tui.screens.asking import in_words
from speckv_debug.viewers.tui.screens.events import EventsScreen
from speckv_debug.viewers.tui.screens.findings import FindingsScreen
from speckv_debug.viewers.tui.screens.history import HistoryScreen
from speckv_debug.viewers.tui.screens.inspector import InspectorScreen
from speckv_debug.viewers.tui.screens.overview import OverviewScreen
from speckv_debug.viewers.tui.screens.pages import PagesScreen
from speckv_debug.viewers.tui.screens.scrubbing import ScrubbingScreen
from speckv_debug.viewers.tui.screens.sheet import Sheet
from speckv_debug.viewers.tui.screens.state import StateScreen
from speckv_debug.viewers.tui.screens.step import StepScreen
from speckv_debug.viewers.tui.screens.steps import StepsScreen
from speckv_debug.viewers.tui.tidying import LOOKED_EVERY_S, Tidying
from speckv_debug.viewers.tui.typed_ahead import LONGEST_S, TypedAhead
from speckv_debug.viewers.tui.walk import Moment, next_finding

WALKS = ("overview", "findings", "steps", "pages", "state", "life", "finding", "process", "back", "help")


AT_ONCE = 64
"""Questions that can wait for one another: those of screens that were left wait on, and each has a thread; a pool of Python's own size,
a few more than processors, would keep the next screen at `reading`."""


class InspectorApp(FollowingApp):
    """Looks at one recording; `place` opens a verify at once."""

    TITLE = "speckv-debug"
    CSS_PATH = "styles.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012  so declared by Textual
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (20, "-short"), (40, "-tall")]  # noqa: RUF012  so declared by Textual
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {DeedCommands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "overview", tooltip="Show the overview of the recording", id="go.overview", show=False),
        Binding("f", "findings", "Findings", tooltip="Show all findings", id="go.findings"),
        Binding("v", "steps", "Steps", tooltip="Show all verify steps", id="go.steps"),
        Binding("p", "pages", "Pages", tooltip="Show the pages of a pool at this step", id="go.pages"),
        Binding(
            "s",
            "state",
            "State",
            tooltip="Show pools, rings, counted pages and requests at this step",
            id="go.state",
        ),
        Binding("t", "life", tooltip="Show the life of this request", id="go.life", show=False),
        Binding("n", "finding(1)", "Next", tooltip="Go to the next finding", id="go.next-finding"),
        Binding("N", "finding(-1)", tooltip="Go to the finding before", id="go.finding-before", show=False),
        Binding("y", "copy_text", tooltip="Copy this finding as text", id="finding.copy", show=False),
        Binding(
            "Y",
            "copy_cut",
            tooltip="Copy the events around this finding as JSON Lines",
            id="finding.copy-events",
            show=False,
        ),
        Binding("o", "process(1)", "Process", tooltip="Look at the next process", id="go.process"),
        Binding("O", "process(-1)", tooltip="Look at the process before", id="go.process-before", show=False),
        Binding(
            "X",
            "check",
            tooltip="Give up the check, or begin it anew where it was given up or stopped",
            id="go.check",
            show=False,
        ),
        Binding("escape", "back", tooltip="Go back one level, or give up a filter", id="go.back", show=False),
        Binding("f1,question_mark", "help", "Help", tooltip="Say what keys and marks mean", id="view.help"),
        Binding("ctrl+t", "theme", tooltip="Change between light and dark", id="view.theme", show=False),
        Binding("ctrl+p", "command_palette", tooltip="List all commands", id="view.commands", show=False),
        Binding("q", "quit", "Quit", tooltip="Leave the inspector", id="view.quit"),
    ]

    def __init__(self, inspection: Inspection, place: Place | None = None) -> None:
        super().__init__(inspection)
        self._start_place = place
        self._visited: Entry | None = None
        self._tidying = Tidying()
        self._typed_ahead = TypedAhead()

    def get_default_screen(self) -> Screen[None]:
        return OverviewScreen()

    def on_mount(self) -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(AT_ONCE, "ask"))
        self._tidying.begin()
        self.set_interval(LOOKED_EVERY_S, self._tidying.tick)
        if self._start_place is not None:
            self.read(self._start_place.process)
            self.open_step(self._start_place)
        self.start_check()
        self.follow()

    def on_unmount(self) -> None:
        self._tidying.end()

    async def on_event(self, event: Event) -> None:
        if isinstance(event, InputEvent):
            self._tidying.typed()
        if isinstance(event, Key) and not event.is_forwarded:
            if self._typed_ahead.overdue:
                await self.prompt_closed()
            waited = self._typed_ahead.waits
            if self._typed_ahead.keeps(event, self.focused):
                return
            if self._typed_ahead.waits and not waited:
                self.set_timer(LONGEST_S, self._prompt_gone)
        await super().on_event(event)

    async def _prompt_gone(self) -> None:
        """Nobody has said for too long that the prompt has closed."""
        if self._typed_ahead.overdue:
            await self.prompt_closed()

    async def prompt_closed(self) -> None:
        """Its screen has answered: keys that came meanwhile go to what is shown now."""
        for key in self._typed_ahead.taken():
            await self.on_event(key)

    @property
    def _shown(self) -> list[InspectorScreen]:
        """Our screens; a watch of their own would keep each one that was ever left."""
        stack = self.screen_stack if self.is_running else []
        return [screen for screen in stack if isinstance(screen, InspectorScreen) and screen.is_mounted]

    def watch_outcome(self, outcome: Outcome | None) -> None:
        for screen in self._shown:
            screen.outcome_is(outcome)
        if self.is_running and isinstance(self.screen, Sheet):
            self.screen.refill()

    def watch_progress(self) -> None:
        for screen in self._shown:
            screen.progress_is()

    def watch_following(self) -> None:
        for screen in self._shown:
            screen.progress_is()

    def watch_processes_read(self) -> None:
        for screen in self._shown:
            screen.steps_read()

    def open_step(self, place: Place) -> None:
        """Draw one verify."""
        screen = self._uncover(StepScreen)
        if isinstance(screen, StepScreen):
            screen.show(place)
        else:
            self.push_screen(StepScreen(place))

    def open_findings(self, *, find: bool = False) -> None:
        """List all findings; `find` asks at once for a text that they must have."""
        if self._uncover(FindingsScreen) is None:
            self.push_screen(FindingsScreen(find=find))

    def open_events(self, process: str, seq: int) -> None:
        """List the events around `seq`."""
        screen = self._uncover(EventsScreen)
        if isinstance(screen, EventsScreen):
            screen.show(process, seq)
        else:
            self.push_screen(EventsScreen(process, seq))

    def open_history(self, process: str, question: Question) -> None:
        """List all that happened to a slot, page, row or request."""
        screen = self._uncover(HistoryScreen)
        if isinstance(screen, HistoryScreen):
            screen.show(process, question)
        else:
            self.push_screen(HistoryScreen(process, question))

    def open_finding(self, entry: Entry) -> None:
        """Go to where a finding shows: its verify, else its first event."""
        self._visited = entry
        if isinstance(self.screen, ScrubbingScreen):
            self.screen.show_finding(entry)
        elif entry.place is not None:
            self.open_step(entry.place)
        else:
            self.open_events(entry.finding.process, entry.finding.first_seq)

    def go_to(self, text: str) -> None:
        """Go where a person asked to go, or say what there is instead."""
        try:
            if (question := parse_question(text)) is not None:
                self._ask_history(question)
                return
            place = self._goal(text)
        except UsageError as error:
            self.say(in_words(error))
            return
        if isinstance(self.screen, ScrubbingScreen):
            self.screen.show(place.process, int(self.lookup(place.process).steps.seq[place.index]))
        elif isinstance(self.screen, StepsScreen):
            self.screen.show(place)
        else:
            self.open_step(place)

    def _ask_history(self, question: Question) -> None:
        """Open the history of a slot or page that its pool can have, or of anything else."""
        process = self._here().process
        if not process:
            self.say("nothing was recorded")
            return
        if question.kind in ("slot", "page"):
            asked: dict[str, int] = {question.kind: int(question.about)}
            require_held(self.inspection.process(process).info, pool=question.pool, **asked)
        self.open_history(process, question)

    def _goal(self, text: str) -> Place:
        step, request = parse_goal(text)
        here = self._here()
        if here.process not in self._lookups:
            raise UsageError("the steps are still being read", "try again in a moment")
        lookup = self.lookup(here.process)
        if request is None and step is not None and isinstance(self.screen, StepScreen | StepsScreen):
            own = lookup.steps.request[here.index]
            same = [int(i) for i in lookup.at_step(step) if lookup.steps.request[int(i)] == own]
            if same:
                return Place(here.process, same[0])
        return find_place(self.inspection, here.process, step, request)

    def _here(self) -> Place:
        """The verify that one looks at, or the first one."""
        screen = self.screen
        place = screen.place if isinstance(screen, StepScreen | StepsScreen) else None
        if place is None and isinstance(
            screen, EventsScreen | HistoryScreen | OverviewScreen | ScrubbingScreen
        ):
            return Place(screen.process, 0)
        return place or Place(self.inspection.labels[0] if self.inspection.labels else "", 0)

    def give_up(self) -> None:
        """End what is being worked out of the process that one looks at."""
        self.inspection.process(self._here().process).give_up()

    def action_check(self) -> None:
        if self.checking:
            if len(self._lookups) < len(self.inspection.processes):
                self.say("the check is given up as soon as the steps are read", "information")
            self.give_up_check()
        elif self.stopped:
            self.check_again()
            self.progress = "reading steps …"
            self.watch_outcome(self.outcome)
        else:
            self.say("the check is over", "information")

    def action_overview(self) -> None:
        self._uncover(OverviewScreen)

    def action_findings(self) -> None:
        self.open_findings()

    def action_steps(self) -> None:
        here = self._here()
        if here.process not in self._lookups:
            self.say("the steps are still being read")
        elif not len(self.lookup(here.process)):
            self.say(f"{unjudged.no_verify(self.inspection, here.process)}; e shows the events")
        elif isinstance(screen := self._uncover(StepsScreen), StepsScreen):
            screen.show(here)
        else:
            self.push_screen(StepsScreen(here))

    def open_pages(self, process: str, seq: int, page: int | None = None) -> None:
        """Draw the pages of the main pool after the step of an event."""
        screen = self._uncover(PagesScreen)
        if isinstance(screen, PagesScreen):
            screen.show(process, seq)
        else:
            self.push_screen(PagesScreen(process, seq, page))

    def action_pages(self) -> None:
        here = self._here()
        if not here.process:
            self.say("nothing was recorded")
        elif not isinstance(self.screen, PagesScreen):
            self.open_pages(here.process, *self._seq_and_page(here))

    def action_state(self) -> None:
        here = self._here()
        if not here.process:
            self.say("nothing was recorded")
        elif not isinstance(self.screen, StateScreen):
            seq, _ = self._seq_and_page(here)
            screen = self._uncover(StateScreen)
            if isinstance(screen, StateScreen):
                screen.show(here.process, seq)
            else:
                self.push_screen(StateScreen(here.process, seq))

    def _seq_and_page(self, here: Place) -> tuple[int, int | None]:
        """Where the pages are of interest: those of the verify that one looks at, else of the finding under the cursor."""
        screen, outcome = self.screen, self.outcome
        if isinstance(screen, StepScreen | StepsScreen):
            seq = int(self.lookup(here.process).steps.seq[here.index])
            return seq, None if screen.drawn is None else moved_page(screen.drawn.step)
        if isinstance(screen, EventsScreen | HistoryScreen | ScrubbingScreen):
            return screen.seq, None
        entry = screen.chosen if isinstance(screen, FindingsScreen | OverviewScreen) else None
        if entry is None and outcome is not None and outcome.entries:
            entry = outcome.entries[0]
        if entry is None or entry.finding.process != here.process:
            return 0, None
        return entry.finding.first_seq, entry.finding.pages[0] if entry.finding.pages else None

    def action_life(self) -> None:
        """Of the request whose verify one looks at."""
        here = self._here()
        if here.process not in self._lookups:
            self.say("the steps are still being read")
            return
        steps = self.lookup(here.process).steps
        request = steps.request[here.index] if len(steps) else None
        if request is None:
            self.say("no request is named here; : and life REQUEST shows one")
        else:
            self.open_history(here.process, Question(LIFE, request))

    def action_finding(self, by: int) -> None:
        if self.outcome is None:
            self.say(self.stopped or "the check is still running")
        elif not self.outcome.entries:
            self.say("nothing was found")
        elif isinstance(self.screen, FindingsScreen):
            self.screen.move(by)
        else:
            self._walk_findings(self.outcome, by)

    def _walk_findings(self, outcome: Outcome, by: int) -> None:
        """To the finding after (before) the one last visited, or after (before) where one is."""
        visited = self._visited if self._visited is not None and self._is_at(self._visited) else None
        entry = next_finding(outcome.entries, self.inspection.labels, self._moment(), visited, by)
        if entry is None:
            self.say(f"this is the {'last' if by > 0 else 'first'} finding")
        else:
            self.open_finding(entry)

    def _is_at(self, entry: Entry) -> bool:
        if isinstance(self.screen, ScrubbingScreen):
            return True
        return isinstance(self.screen, EventsScreen) if entry.place is None else entry.place == self._here()

    def _moment(self) -> Moment:
        here, screen = self._here(), self.screen
        process = self.inspection.labels.index(here.process)
        if isinstance(screen, EventsScreen | HistoryScreen | OverviewScreen | ScrubbingScreen):
            return Moment(process, screen.seq)
        return Moment(process, int(self.lookup(here.process).steps.seq[here.index]))

    def _finding_here(self) -> Entry | None:
        """Under the cursor, or of the verify that one looks at, or visited last."""
        screen = self.screen
        if isinstance(screen, FindingsScreen | OverviewScreen):
            return screen.chosen
        entries = () if self.outcome is None else self.outcome.entries
        if isinstance(screen, StepScreen | StepsScreen):
            return next((entry for entry in entries if entry.place == screen.place), None)
        return self._visited

    def action_copy_text(self) -> None:
        entry = self._finding_here()
        if entry is None:
            self.say("there is no finding here to copy")
            return
        self.copy_to_clipboard(as_text(self.inspection, entry))
        self.say(f"{entry.finding.rule} copied as text", "information")

    def action_copy_cut(self) -> None:
        entry = self._finding_here()
        if entry is None:
            self.say("there is no finding here to copy")
            return
        first, last = span_of(entry, self._lookups.get(entry.finding.process))
        self.run_worker(partial(self._cut, entry, first, last), thread=True, exit_on_error=False)

    def _cut(self, entry: Entry, first: int, last: int) -> None:
        """Runs beside the screen."""
        process = self.inspection.process(entry.finding.process)
        try:
            cut = process.cut(first, last, MOST)
        except (SpeckvError, Cancelled, RuntimeError) as error:
            self.call_from_thread(self.say, f"not copied: {error}")
            return
        self.call_from_thread(self.copy_to_clipboard, cut.text)
        rest = f" without the last {amount(cut.left_out, 'event')}, which did not fit" if cut.left_out else ""
        said = f"{cut.text.count(chr(10)):,} lines around {entry.finding.rule} copied{rest}; speckv-debug import reads them"
        self.call_from_thread(self.say, said, "information")

    def action_process(self, by: int) -> None:
        labels = self.inspection.labels
        to = labels[(labels.index(self._here().process) + by) % len(labels)]
        if to not in self._lookups:
            self.say("the steps are still being read")
        elif isinstance(self.screen, EventsScreen | ScrubbingScreen):
            self.screen.show(to, 0)
        elif isinstance(self.screen, HistoryScreen):
            self.screen.show(to, self.screen.question)
        elif isinstance(self.screen, OverviewScreen):
            self.screen.show(to)
        elif not len(self.lookup(to)):
            self.say(f"{to}: {unjudged.no_verify(self.inspection, to)}")
        elif isinstance(self.screen, StepScreen):
            self.screen.show(Place(to, 0))
        else:
            self._uncover(OverviewScreen)
            self.push_screen(StepsScreen(Place(to, 0)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Several processes make a next one; no walking before the screen's widgets are there."""
        if action == "process" and len(self.inspection.processes) < 2:
            return False
        ours = [screen for screen in self.screen_stack if isinstance(screen, InspectorScreen)]
        return action not in WALKS or (bool(ours) and ours[-1].is_mounted)

    async def action_back(self) -> None:
        screen = self.screen
        if isinstance(screen, FindingsScreen | StepsScreen) and screen.leave():
            return
        if len(self.screen_stack) > 1:
            self.pop_screen()
            self._tidying.left()

    def action_help(self) -> None:
        self.push_screen(Sheet("Keys and marks", partial(help_lines, deeds(self.screen))))

    def action_theme(self) -> None:
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def action_help_quit(self) -> None:
        """Ctrl-C with nothing to copy."""
        self.exit(return_code=ExitCode.INTERRUPTED)

    def _uncover(self, kind: type[Screen[None]]) -> Screen[None] | None:
        """Leave all screens above the last one of `kind`; None if there is none."""
        if not any(isinstance(screen, kind) for screen in self.screen_stack):
            return None
        if not isinstance(self.screen, kind):
            self._tidying.left()
        while not isinstance(self.screen, kind):
            self.pop_screen()
        return self.screen
