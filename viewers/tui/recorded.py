"""A recording on disk as the inspector needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from speckv_debug.model.events import Event
from speckv_debug.model.finding import CheckResult
from speckv_debug.model.process import Process
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.steps import StepIndex
from speckv_debug.viewers.tui.history import History, Question
from speckv_debug.viewers.tui.inspection import Inspection, Law
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.recorded_history import answer


class RecordedProcess:
    """One process; nothing is read before it is asked for."""

    def __init__(self, process: ProcessRecording) -> None:
        self._process = process

    @property
    def label(self) -> str:
        """The folder's name, such as `tp0-pp0-dp0-4711`."""
        return self._process.label

    @property
    def info(self) -> Process:
        """What process.json says."""
        return self._process.info

    @cached_property
    def lookup(self) -> StepLookup:
        """All verifies, read at the first access, with what drawing one of them needs."""
        steps = StepIndex(self._process)
        if len(steps):
            steps.verify(0)
        return StepLookup(steps)

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last recorded seq; (0, 0) without any event."""
        seq = self._process.order().seq
        return (int(seq[0]), int(seq[-1])) if len(seq) else (0, 0)

    def events(self, first_seq: int, last_seq: int) -> Iterator[Event]:
        """The recorded events of `[first_seq, last_seq]`."""
        return self._process.events(first_seq, last_seq)

    def history(self, question: Question) -> History:
        """The answer to a question about a slot, page, row or request."""
        return answer(self._process, question)


def inspection_of(
    recording: Recording, check: Callable[[], CheckResult], laws: Mapping[str, Law]
) -> Inspection:
    """Look at `recording`; nothing is read yet."""
    return Inspection(
        name=recording.path.name,
        processes=tuple(RecordedProcess(process) for process in recording.processes),
        check=check,
        laws=laws,
        problems=tuple(str(problem) for problem in recording.problems),
    )
