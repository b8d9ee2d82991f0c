"""A screen that asks for what takes long: in a worker, with its progress, the latest question alone counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from textual.message import Message
from textual.screen import Screen

from speckv_debug.errors import SpeckvError
from speckv_debug.model.text import printable
from speckv_debug.viewers.tui.apart import Cancelled
from speckv_debug.viewers.tui.inspection import OnProgress

T = TypeVar("T")
LEAST_STEP = 0.01
"""Progress below it is not worth a frame."""


class AskingScreen(Screen[None]):
    """Subclasses ask; what comes back is handed on in the screen's own turn."""

    @dataclass
    class Progressed(Message):
        """A question is being worked on."""

        number: int
        words: str

    @dataclass
    class Answered(Message):
        """A question has its answer."""

        number: int
        then: Callable[[Any], None]
        answer: Any
        stale: bool

    @dataclass
    class Failed(Message):
        """A question has none."""

        number: int
        why: str

    _asked = 0
    _at_work = False
    _next_job: Callable[[], None] | None = None

    @property
    def asking(self) -> bool:
        """Whether a question is being worked on."""
        return self._at_work

    def ask(
        self, work: Callable[[OnProgress], T], then: Callable[[T], None], doing: str, *, stale: bool = False
    ) -> None:
        """Do `work` beside the screen, then `then` with its result; of several questions that wait the last one counts.

        Args:
            work: Gets a function to tell the share that is done.
            then: Runs in the screen's turn.
            doing: What is being done, in a word.
            stale: Whether an answer is of use though something else was asked since.
        """
        self._asked += 1
        job = partial(self._work, self._asked, work, then, doing, stale)
        if self._at_work:
            self._next_job = partial(self._start, job)
        else:
            self._start(job)

    def _start(self, job: Callable[[], None]) -> None:
        self._at_work, self._next_job = True, None
        self.asking_changed()
        self.run_worker(job, thread=True, group="ask", exit_on_error=False)

    def _go_on(self) -> None:
        self._at_work = False
        if self._next_job is not None:
            self._next_job()
        else:
            self.asking_changed()

    def asking_changed(self) -> None:
        """It has been asked, or answered."""

    def asking_progressed(self, words: str) -> None:
        """What is being done, and how much of it is done."""

    def asking_failed(self, why: str) -> None:
        """There is no answer."""

    def _work(
        self,
        number: int,
        work: Callable[[OnProgress], T],
        then: Callable[[T], None],
        doing: str,
        stale: bool,
    ) -> None:
        """Runs beside the screen."""
        told = 0.0

        def tell(share: float) -> None:
            nonlocal told
            if share - told >= LEAST_STEP:
                told = share
                self.post_message(self.Progressed(number, f"{doing} {share:.0%}"))

        try:
            answer = work(tell)
        except Cancelled:
            self.post_message(self.Failed(number, "given up"))
        except SpeckvError as error:
            self.post_message(self.Failed(number, printable(f"{error.what}: {error.remedy}".rstrip(": "))))
        except Exception as error:  # noqa: BLE001  a fault in one answer must not take the screens away
            self.post_message(self.Failed(number, printable(f"{type(error).__name__}: {error}")))
        else:
            self.post_message(self.Answered(number, then, answer, stale))

    def on_asking_screen_progressed(self, message: Progressed) -> None:
        if message.number == self._asked:
            self.asking_progressed(message.words)

    def on_asking_screen_answered(self, message: Answered) -> None:
        if (message.stale or message.number == self._asked) and self.is_mounted:
            message.then(message.answer)
        self._go_on()

    def on_asking_screen_failed(self, message: Failed) -> None:
        if message.number == self._asked and self.is_mounted:
            self.asking_failed(message.why)
        self._go_on()
