"""A recording on disk as the inspector needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import cast

from speckv_debug.model.events import Event
from speckv_debug.model.finding import CheckResult
from speckv_debug.model.process import Process
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.holders import PageHolders
from speckv_debug.replay.page_map import PageMap
from speckv_debug.replay.snapshots import Snapshot
from speckv_debug.replay.verify_table import VerifyTable
from speckv_debug.viewers.tui.answers import Answers
from speckv_debug.viewers.tui.apart import Apart, Caller
from speckv_debug.viewers.tui.history import History, Question
from speckv_debug.viewers.tui.inspection import Inspection, Law, OnProgress, OnTold
from speckv_debug.viewers.tui.lookup import StepLookup


class RecordedProcess:
    """One process; nothing is read before it is asked for."""

    def __init__(self, process: ProcessRecording, answers: Caller) -> None:
        self._process, self._answers = process, answers

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
        """All verifies, read at the first access."""
        return StepLookup(VerifyTable(self._process))

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last recorded seq; (0, 0) without any event."""
        pieces = [piece for table in self._process.files for piece in self._process.pieces(table)]
        return min((p.first for p in pieces), default=0), max((p.last for p in pieces), default=0)

    def events(self, first_seq: int, last_seq: int) -> Iterator[Event]:
        """The recorded events of `[first_seq, last_seq]`."""
        return self._process.events(first_seq, last_seq)

    def history(self, question: Question) -> History:
        """The answer to a question about a slot, page, row or request."""
        return cast("History", self._answers.call("history", self.label, question))

    def page_map(self, seq: int, pool: str | None, on_progress: OnProgress) -> PageMap:
        """Owner and use of every page of a pool after event `seq`."""
        found = self._answers.call("page_map", self.label, seq, pool, on_told=on_progress)
        return cast("PageMap", found)

    def holders(self, seq: int, page: int, pool: str | None) -> PageHolders:
        """Everybody who holds a page then."""
        return cast("PageHolders", self._answers.call("holders", self.label, seq, page, pool))

    def state(self, seq: int, on_progress: OnProgress) -> Snapshot:
        """All pools and running requests after event `seq`."""
        return cast("Snapshot", self._answers.call("state", self.label, seq, on_told=on_progress))


def inspection_of(
    recording: Recording,
    check: Callable[[OnTold], CheckResult],
    laws: Mapping[str, Law],
    stop_check: Callable[[], None] = lambda: None,
) -> Inspection:
    """Look at `recording`; nothing is read yet."""
    answers = Apart(partial(Answers, recording.path))

    def stop() -> None:
        stop_check()
        answers.cancel()

    return Inspection(
        name=recording.path.name,
        processes=tuple(RecordedProcess(process, answers) for process in recording.processes),
        check=check,
        stop=stop,
        laws=laws,
        problems=tuple(str(problem) for problem in recording.problems),
    )
