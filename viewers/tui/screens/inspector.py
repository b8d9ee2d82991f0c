"""What all screens of the inspector have in common: the place on top, the prompt and the keys below."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer

from speckv_debug.model.text import amount, printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.outline import Outcome
from speckv_debug.viewers.tui.screens.asking import LONG_S, AskingScreen
from speckv_debug.viewers.tui.widgets.key_bar import KeyBar
from speckv_debug.viewers.tui.widgets.place_bar import PlaceBar
from speckv_debug.viewers.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from speckv_debug.viewers.tui.app import InspectorApp


class InspectorScreen(AskingScreen):
    """A screen that knows its place and how the check stands."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "stop", "Give up", tooltip="Give up what is being worked out", id="go.give-up"),
        Binding("tab", "part(1)", tooltip="Go to the next part of the screen", id="move.part", show=False),
        Binding("shift+tab", "part(-1)", tooltip="Go to the part before", id="move.part-before", show=False),
        Binding(
            "slash", "find", "Find", key_display="/", tooltip="Find by a text", id="go.find", priority=True
        ),
        Binding(
            "colon",
            "go_to",
            "Go to",
            key_display=":",
            tooltip="Go to a step or request, or ask what happened to a slot, page, row or request",
            id="go.to",
            priority=True,
        ),
    ]

    _telling: Timer | None = None

    @property
    def inspector(self) -> InspectorApp:
        """The app, as what it is."""
        return cast("InspectorApp", self.app)

    def compose(self) -> ComposeResult:
        yield PlaceBar()
        yield from self.body()
        yield Prompt()
        yield KeyBar()

    def body(self) -> ComposeResult:
        """The widgets between the place and the prompt."""
        raise NotImplementedError

    def asking_changed(self) -> None:
        self.query_one(PlaceBar).waiting = self.asking
        if self._telling is not None:
            self._telling.stop()
            self._telling = None
        if self.can_give_up:
            self._telling = self.set_timer(LONG_S, self._tell_key)
        elif self.query_one(KeyBar).gives_up:
            self.refresh_bindings()

    def _tell_key(self) -> None:
        """What takes a while can be given up."""
        if self.is_attached:
            self.refresh_bindings()

    def outcome_changed(self, outcome: Outcome | None) -> None:
        """The check has ended, or has not yet."""

    def progress_changed(self) -> None:
        """The check has come on, or has stopped."""

    def steps_read(self) -> None:
        """The verifies of one more process are known."""

    def on_mount(self) -> None:
        self.outcome_is(self.inspector.outcome)

    def outcome_is(self, outcome: Outcome | None) -> None:
        """Draw what has been found, and how the check stands."""
        self.progress_is()
        self.outcome_changed(outcome)

    def progress_is(self) -> None:
        """Draw how the check stands."""
        app = self.inspector
        state = state_of(app.outcome, app.progress)
        if app.outcome is not None and app.outcome.complete and (app.checking or app.stopped):
            state = Content.assemble(f"{app.outcome.part}: ", state, (f" · {app.progress}", ink.DOUBT))
        bar = self.query_one(PlaceBar)
        bar.aside = "↻ following" if app.following else "! recording gone" if app.lost else ""
        bar.state = state
        self.progress_changed()

    def locate(self, *crumbs: str, count: str = "") -> None:
        """Name the place below the recording."""
        bar = self.query_one(PlaceBar)
        bar.crumbs = tuple(printable(crumb) for crumb in (self.inspector.inspection.name, *crumbs))
        bar.count = count

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing before the widgets are there; no second prompt, its keys are text then."""
        if action in ("find", "go_to"):
            return self.is_mounted and not isinstance(self.focused, Prompt)
        if action == "stop":
            return self.can_give_up
        if action == "part":
            return self.is_mounted and len(self.focus_chain) > 1
        return self.is_mounted

    def action_stop(self) -> None:
        self.inspector.give_up()

    def action_part(self, by: int) -> None:
        self.focus_next() if by > 0 else self.focus_previous()

    def action_go_to(self) -> None:
        self.query_one(Prompt).ask("go", "step, step request, request id · slot N, page N, row N, life id")

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        self.focus_body()
        if event.purpose == "go" and event.text.strip():
            self.inspector.go_to(event.text)
        self.inspector.call_later(self.inspector.prompt_closed)

    def on_prompt_given_up(self) -> None:
        self.focus_body()
        self.inspector.call_later(self.inspector.prompt_closed)

    def focus_body(self) -> None:
        """Give the keys back to what the screen is about."""
        raise NotImplementedError


def state_of(outcome: Outcome | None, progress: str) -> Content:
    """The verdict in a few words, or what is being done."""
    if outcome is None:
        return Content.styled(progress, ink.DOUBT)
    result, found = outcome.result, len(outcome.entries)
    sign, style = ("!", ink.DOUBT) if outcome.only_warned else ("✗", ink.BAD)
    if not outcome.complete:
        so_far = Content.styled(f"{sign} {amount(found, 'finding')} so far", style) if found else Content("")
        return Content.assemble(so_far, " · " if found else "", (progress, ink.DOUBT))
    if result.verdict == "unknown":
        return Content.styled("? can't be judged", ink.DOUBT)
    if result.verdict == "clean":
        sign, style = ("?", ink.DOUBT) if result.mostly_unknown else ("✓", ink.GOOD)
        notes = f", {amount(found, 'note')}" if found else ""
        return Content.styled(f"{sign} {result.nothing_found}{notes}", style)
    return Content.styled(f"{sign} {amount(found, 'finding')}", style)
