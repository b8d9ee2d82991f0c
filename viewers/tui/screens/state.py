"""All pools and running requests at a step: the pools' account, rings of compressor state, counted pages."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from speckv_debug.replay.snapshots import Snapshot
from speckv_debug.viewers.tui.inspection import OnProgress
from speckv_debug.viewers.tui.outline import Outcome
from speckv_debug.viewers.tui.screens.scrubbing import ScrubbingScreen
from speckv_debug.viewers.tui.state_lines import StateLine, state_lines
from speckv_debug.viewers.tui.widgets.prompt import Prompt
from speckv_debug.viewers.tui.widgets.scrub_bar import ScrubBar
from speckv_debug.viewers.tui.widgets.state_list import StateList


class StateScreen(ScrubbingScreen):
    """What `speckv-debug state` prints, at any step; enter on a request shows its life."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "next_part", "Part", tooltip="Go to the next part: pools, counted pages, rings, requests", id="state.part"),
    ]  # fmt: skip

    def body(self) -> ComposeResult:
        yield ScrubBar(id="scrub")
        yield StateList(id="state")

    def focus_body(self) -> None:
        self.query_one(StateList).focus()

    def crumbs(self) -> tuple[str, ...]:
        return ("state",)

    def look(self, seq: int, tell: OnProgress) -> Snapshot:
        """Runs beside the screen."""
        return self.inspector.inspection.process(self.process).state(seq, tell)

    def looked(self, found: Snapshot) -> None:
        """Draw what was found; the cursor stays on its line."""
        listed = self.query_one(StateList)
        listed.show(tuple(state_lines(found)), listed.cursor)

    def asking_progressed(self, words: str) -> None:
        self.query_one(StateList).wait(f"{words}; x gives up")

    def asking_failed(self, why: str) -> None:
        self.query_one(StateList).wait(why)

    def outcome_changed(self, outcome: Outcome | None) -> None:
        self.draw_bar()

    def on_line_list_chosen(self) -> None:
        chosen = self.query_one(StateList).chosen
        if isinstance(chosen, StateLine) and chosen.question is not None:
            self.inspector.open_history(self.process, chosen.question)
        else:
            self.inspector.say("a request or a counted page has a history; this line has none")

    def action_next_part(self) -> None:
        self.query_one(StateList).next_part()

    def action_find(self) -> None:
        self.query_one(Prompt).ask("find", "go to the next line with this text")

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        text = event.text.strip()
        if event.purpose == "find" and text and not self.query_one(StateList).find(text):
            self.inspector.say(f"no line with {text!r}")
