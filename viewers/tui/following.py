"""A recording that is still being written: look again from time to time, take over what is new."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from textual.message import Message
from textual.reactive import reactive

from speckv_debug.errors import SpeckvError
from speckv_debug.viewers.tui import checking
from speckv_debug.viewers.tui.checking_app import CheckingApp
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.screens.asking import AskingScreen

EVERY_S = 2.0
ENDED = "the recording has ended: no more steps will come"


MISSED = 3
"""Looks in a row that find nothing: then it is no part that was just being renamed."""


@dataclass
class Lost(Message):
    """The recording can't be read any more."""

    why: str


@dataclass
class Grown(Message):
    """There are more events than before."""

    inspection: Inspection
    lookups: dict[str, StepLookup]


class FollowingApp(CheckingApp):
    """Reopens what it looks at while it grows; where a check still runs, the next one begins when that is over.

    Attributes:
        following: Whether more may come.
        lost: Why it can't be read any more, else empty.
        reopened: Whether it has grown since it was opened.
    """

    following: reactive[bool] = reactive(False)

    def __init__(self, inspection: Inspection) -> None:
        super().__init__(inspection)
        self.set_reactive(FollowingApp.following, inspection.reopen is not None)
        self.lost, self._missed = "", 0
        self._looking_again = False
        self._behind = False
        self.reopened = False
        self._judged, self._old = inspection, list[Inspection]()

    def follow(self) -> None:
        """Begin to look again from time to time, if the recording may grow."""
        if self.following:
            self.set_interval(EVERY_S, self._look_again)

    def _look_again(self) -> None:
        if self.following and not self._looking_again:
            self._looking_again = True
            threading.Thread(target=self._look, name=checking.FOLLOW, daemon=True).start()

    def _look(self) -> None:
        """Runs beside the screen."""
        old = self.inspection
        try:
            new = None if old.reopen is None else old.reopen()
            if new is not None and new.events_recorded < old.events_recorded:
                self._miss("it holds fewer events than before")
            elif new is not None:
                self._missed = 0
                if new.events_recorded > old.events_recorded or new.ended:
                    self.post_message(Grown(new, {each.label: each.lookup for each in new.processes}))
        except (SpeckvError, OSError) as error:
            self._miss(getattr(error, "what", str(error)))
        finally:
            self._looking_again = False

    def _miss(self, why: str) -> None:
        """Runs beside the screen; a part may just be being renamed, so that the next look finds it."""
        self._missed += 1
        if self._missed == MISSED:
            self.post_message(Lost(why))

    def on_lost(self, message: Lost) -> None:
        self.lost, self.following = message.why, False
        self.say(f"the recording is gone ({message.why}); what was read of it stays here")

    def on_grown(self, message: Grown) -> None:
        """Take the longer recording over; what is being judged or asked of a shorter one is not given up."""
        self._old.append(self.inspection)
        self._let_go()
        self.reopened = True
        self.inspection, self._lookups = message.inspection, dict(message.lookups)
        self.processes_read = 0
        self.processes_read = len(self._lookups)
        if message.inspection.ended:
            self.following = False
            self.say(ENDED, "information")
        if self.checking:
            self._behind = True
        elif not self.given_up:
            self.check_again()

    def on_checked(self, message: checking.Checked) -> None:
        message.prevent_default()  # else Textual calls the other one once more, behind this one
        super().on_checked(message)
        if message.outcome.complete:
            self._let_go()
            if self._behind:
                self.check_again()

    def on_stopped(self, message: checking.Stopped) -> None:
        message.prevent_default()
        super().on_stopped(message)
        if self._behind and not self.given_up:
            self.check_again()

    def exit(self, result: None = None, return_code: int = 0, message: Any = None) -> None:
        """Leave; what is still asked is given up, for the threads that wait for it are waited for."""
        for each in (self.inspection, *self._old):
            each.stop()
        super().exit(result, return_code, message)

    def give_up_check(self) -> None:
        self._given_up.set()
        self._judged.give_up_check()

    def check_again(self) -> None:
        """Judge the recording as long as it is now."""
        self._behind = False
        self._judged = self.inspection
        self._let_go()
        self.begin_check()

    def _let_go(self) -> None:
        """Of shorter recordings; not while a screen waits for an answer, or one that takes long would never come."""
        screens = self.screen_stack if self.is_running else []
        if any(isinstance(screen, AskingScreen) and screen.asking for screen in screens):
            return
        for each in self._old:
            if each is not self._judged:
                each.stop()
        self._old = [each for each in self._old if each is self._judged]
