"""A recording that is still being written: look again from time to time, take over what is new."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from textual.message import Message

from speckv_debug.errors import SpeckvError
from speckv_debug.viewers.tui import checking
from speckv_debug.viewers.tui.checking_app import CheckingApp
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.lookup import StepLookup

EVERY_S = 2.0
ENDED = "the recording has ended: no more steps will come"


@dataclass
class Grown(Message):
    """There are more events than before."""

    inspection: Inspection
    lookups: dict[str, StepLookup]


class FollowingApp(CheckingApp):
    """Reopens what it looks at while it grows; where a check still runs, the next one begins when that is over."""

    def __init__(self, inspection: Inspection) -> None:
        super().__init__(inspection)
        self.following = inspection.reopen is not None
        self._looking_again = False
        self._behind = False
        self._checked: list[Inspection] = []

    def follow(self) -> None:
        """Begin to look again from time to time, if the recording may grow."""
        if self.following:
            self.set_interval(EVERY_S, self._look_again)

    def _look_again(self) -> None:
        if self.following and not self._looking_again:
            self._looking_again = True
            threading.Thread(target=self._look, name="follow", daemon=True).start()

    def _look(self) -> None:
        """Runs beside the screen."""
        old = self.inspection
        try:
            new = None if old.reopen is None else old.reopen()
            if new is not None and (new.events_recorded > old.events_recorded or new.ended):
                self.post_message(Grown(new, {each.label: each.lookup for each in new.processes}))
        except (SpeckvError, OSError):
            pass  # a part is just being renamed: the next look finds it
        finally:
            self._looking_again = False

    def on_grown(self, message: Grown) -> None:
        """Take the longer recording over; the check of the shorter one is not given up."""
        self._checked.append(self.inspection)
        self.inspection, self._lookups = message.inspection, dict(message.lookups)
        self.processes_read = 0
        self.processes_read = len(self._lookups)
        if message.inspection.ended:
            self.following = False
            self.say(ENDED, "information")
        if self.checking:
            self._behind = True
        else:
            self._check_again()

    def on_checked(self, message: checking.Checked) -> None:
        super().on_checked(message)
        if message.outcome.complete and self._behind:
            self._check_again()

    def _check_again(self) -> None:
        self._behind, self.stopped = False, ""
        while self._checked:
            self._checked.pop().stop()
        self.begin_check()
