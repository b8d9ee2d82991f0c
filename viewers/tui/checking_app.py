"""What the inspector knows while it runs: the verifies read so far, how the check stands."""

from __future__ import annotations

import gc
import threading
from collections.abc import Mapping
from typing import Literal

from textual.app import App
from textual.reactive import reactive

from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import checking
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.outline import Marks, Outcome


class CheckingApp(App[None]):
    """Reads and checks a recording beside the screens, which watch `outcome` and `progress`.

    Attributes:
        inspection: What is looked at.
        outcome: None until the check has ended.
        progress: What is being done, in a few words.
        processes_read: Of how many processes the verifies are known.
        stopped: Why the check ended without an outcome, else empty.
    """

    outcome: reactive[Outcome | None] = reactive(None)
    progress: reactive[str] = reactive("reading steps …")
    processes_read: reactive[int] = reactive(0)

    def __init__(self, inspection: Inspection) -> None:
        super().__init__()
        self.inspection = inspection
        self.stopped = ""
        self._lookups: dict[str, StepLookup] = {}
        self._seconds, self._share, self._judging = 0, 0.0, True
        self._given_up = threading.Event()

    def read(self, process: str) -> None:
        """Read the verifies of one process now."""
        self._lookups[process] = self.inspection.process(process).lookup
        self.processes_read = len(self._lookups)

    def start_check(self) -> None:
        """Read what is not read yet and judge, in another thread."""
        self.set_interval(1, self._tick)
        gc.freeze()  # modules, and below what was read: else each full collection walks through them, in the middle of a frame
        self.begin_check()

    def begin_check(self) -> None:
        """Judge what is looked at now; an earlier outcome stays until there is another one."""
        self._seconds, self._share, self._judging, self.stopped = 0, 0.0, True, ""
        self._given_up = threading.Event()
        checking.start(self.inspection, self.post_message, self._given_up)

    def give_up_check(self) -> None:
        """End the check; what it has found so far stays."""
        self._given_up.set()
        self.inspection.give_up_check()

    @property
    def given_up(self) -> bool:
        """Whether a person gave the last check up."""
        return self._given_up.is_set()

    def on_steps_read(self, message: checking.StepsRead) -> None:
        self._lookups[message.process] = message.lookup
        gc.freeze()
        self.processes_read = len(self._lookups)
        if len(self._lookups) == len(self.inspection.processes):
            self.progress, self._seconds = "checking …", 0

    def on_progressed(self, message: checking.Progressed) -> None:
        self._share = message.share

    def on_checked(self, message: checking.Checked) -> None:
        self._judging, self.stopped = not message.outcome.complete, ""
        self.progress = "replaying …" if self._judging else ""
        gc.freeze()
        if message.outcome.complete or self.outcome is None or not self.outcome.complete:
            self.outcome = message.outcome  # else what was found before stays until all is judged anew

    def on_stopped(self, message: checking.Stopped) -> None:
        self._judging = False
        self.stopped = f"the check stopped: {printable(message.why)}; X begins it anew"
        if self.given_up:
            self.stopped = "the check was given up; X begins it anew"
        self.progress = "! check given up" if self.given_up else "! check stopped"

    def _tick(self) -> None:
        """A running check shows that it is alive."""
        if self.checking:
            self._seconds += 1
            share = f"{self._share:.0%} " if self._share else ""
            doing = (self.progress.split() or ["checking"])[0]
            self.progress = f"{doing} {share}… {self._seconds} s"

    @property
    def checking(self) -> bool:
        """Whether the check goes on."""
        return self._judging

    @property
    def lookups(self) -> Mapping[str, StepLookup]:
        """Process label → its verifies, of those that have been read."""
        return self._lookups

    def lookup(self, process: str) -> StepLookup:
        """The verifies of a process that have been read."""
        return self._lookups[process]

    def marks(self, process: str) -> Marks:
        """Verify → its findings, as far as they are known."""
        return {} if self.outcome is None else self.outcome.marks.get(process, {})

    def moves_recorded(self, process: str) -> bool:
        """Whether an absent move is evidence."""
        return self.inspection.process(process).info.records("move")

    def say(self, text: str, severity: Literal["information", "warning"] = "warning") -> None:
        """A short notice; `text` may hold words of the recording."""
        self.notify(printable(text), severity=severity, timeout=4, markup=False)
