"""A screen that asks for what takes long: in a worker, with its progress, the latest question alone counts."""

from __future__ import annotations

import time
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
LONG_S = 0.5


def in_words(error: SpeckvError) -> str:
    """What is wrong and what to do about it, in a line: what goes on with a capital letter is a sentence of its own."""
    if not error.remedy:
        return error.what
    return f"{error.what}{'.' if error.remedy[0].isupper() else ':'} {error.remedy}"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the how-manieth of its lane, and what becomes of the answer."""

    lane: str
    number: int
    then: Callable[[Any], None]
    failed: Callable[[str], None]
    doing: str
    stale: bool


@dataclass(slots=True)
class Lane:
    """Questions that wait for one another: how many were asked, and the one that is asked next."""

    number: int = 0
    at_work: bool = False
    since: float = 0.0
    next_job: Callable[[], None] | None = None


class AskingScreen(Screen[None]):
    """Subclasses ask; what comes back is handed on in the screen's own turn."""

    @dataclass
    class Progressed(Message):
        """A question is being worked on."""

        question: Question
        words: str

    @dataclass
    class Answered(Message):
        """A question has its answer."""

        question: Question
        answer: Any

    @dataclass
    class Failed(Message):
        """A question has none."""

        question: Question
        why: str

    def __init__(self) -> None:
        super().__init__()
        self._lanes: dict[str, Lane] = {}

    @property
    def asking(self) -> bool:
        """Whether a question is being worked on."""
        return any(lane.at_work for lane in self._lanes.values())

    def ask(
        self,
        work: Callable[[OnProgress], T],
        then: Callable[[T], None],
        doing: str,
        *,
        stale: bool = False,
        lane: str = "",
        failed: Callable[[str], None] | None = None,
    ) -> None:
        """Do `work` beside the screen, then `then` with its result; of several questions that wait the last one counts.

        Args:
            work: Gets a function to tell the share that is done.
            then: Runs in the screen's turn.
            doing: What is being done, in a word.
            stale: Whether an answer is of use though something else was asked since.
            lane: Questions of one lane wait for one another, not for those of others.
            failed: Told why there is no answer, in the screen's turn; else `asking_failed` is.
        """
        asked = self._lanes.setdefault(lane, Lane())
        asked.number += 1
        question = Question(lane, asked.number, then, failed or self.asking_failed, doing, stale)
        job = partial(self._work, question, work)
        if asked.at_work:
            asked.next_job = job
        else:
            self._start(asked, job)

    def _start(self, lane: Lane, job: Callable[[], None]) -> None:
        lane.at_work, lane.next_job, lane.since = True, None, time.monotonic()
        self.asking_changed()
        self.run_worker(job, thread=True, group="ask", exit_on_error=False)

    def _go_on(self, question: Question) -> None:
        lane = self._lanes[question.lane]
        lane.at_work = False
        if not self._there:
            lane.next_job = None
        elif lane.next_job is not None:
            self._start(lane, lane.next_job)
        else:
            self.asking_changed()

    @property
    def _there(self) -> bool:
        """Whether the screen has its widgets: an answer may come when it has been left."""
        return self.is_mounted and self.is_attached

    def _newest(self, question: Question) -> bool:
        return question.number == self._lanes[question.lane].number

    @property
    def asks_long(self) -> bool:
        """Whether what a person can give up has been worked on for so long that the key for it is worth a place."""
        return self.can_give_up and time.monotonic() - self._lanes[""].since >= LONG_S

    @property
    def can_give_up(self) -> bool:
        """Whether something is being worked out that can be given up."""
        return "" in self._lanes and self._lanes[""].at_work

    def asking_changed(self) -> None:
        """It has been asked, or answered."""

    def asking_progressed(self, words: str) -> None:
        """What is being done, and how much of it is done."""

    def asking_failed(self, why: str) -> None:
        """There is no answer."""

    def _work(self, question: Question, work: Callable[[OnProgress], Any]) -> None:
        """Runs beside the screen."""
        told = 0.0

        def tell(share: float) -> None:
            nonlocal told
            if share - told >= LEAST_STEP:
                told = share
                self.post_message(self.Progressed(question, f"{question.doing} {share:.0%}"))

        try:
            answer = work(tell)
        except Cancelled:
            self.post_message(self.Failed(question, "given up"))
        except SpeckvError as error:
            self.post_message(self.Failed(question, printable(in_words(error))))
        except Exception as error:  # noqa: BLE001  a fault in one answer must not take the screens away
            self.post_message(self.Failed(question, printable(f"{type(error).__name__}: {error}")))
        else:
            self.post_message(self.Answered(question, answer))

    def on_asking_screen_progressed(self, message: Progressed) -> None:
        if self._newest(message.question) and self._there:
            self.asking_progressed(message.words)

    def on_asking_screen_answered(self, message: Answered) -> None:
        question = message.question
        if (question.stale or self._newest(question)) and self._there:
            question.then(message.answer)
        self._go_on(question)

    def on_asking_screen_failed(self, message: Failed) -> None:
        if self._newest(message.question) and self._there:
            message.question.failed(message.why)
        self._go_on(message.question)
