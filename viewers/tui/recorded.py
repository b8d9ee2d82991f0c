"""A recording on disk as the inspector needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import cast

from speckv_debug.model.events import Event
from speckv_debug.model.finding import CheckResult
from speckv_debug.model.process import Process
from speckv_debug.recording.jsonl_cut import Cut
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.holders import PageHolders
from speckv_debug.replay.page_map import PageMap, followed_pools
from speckv_debug.replay.pool_series import PoolSeries
from speckv_debug.replay.snapshots import Snapshot
from speckv_debug.replay.verify_details import Recomputed
from speckv_debug.replay.verify_table import VerifyTable
from speckv_debug.viewers.tui.answers import Answers
from speckv_debug.viewers.tui.apart import Apart, Caller, Within
from speckv_debug.viewers.tui.drawn import Drawn, LastDrawn
from speckv_debug.viewers.tui.history import History, Question
from speckv_debug.viewers.tui.inspection import Inspection, Law, OnProgress, OnTold
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.moments import Moments

FOR_KEYS, FOR_CHARTS, BESIDE = 2, 5, 10
"""How much the processes give way to the screen: those that answer a key, the one whose chart is in sight, the one that judges."""

LONG = 200_000
"""Events from which on verifies are read in a process of its own: whole parts are held in memory for them."""


class RecordedProcess:
    """One process; nothing is read before it is asked for.

    Args:
        process: The process.
        answers: Answers questions about single slots and requests.
        replays: Replays the ledger to one event and to others, which takes longer and keeps what it replayed.
        through: Replays the ledger once from end to end; nobody waits for a page map behind it.
        draws: Reads single verifies and events; nobody waits for one behind an answer.
    """

    def __init__(
        self, process: ProcessRecording, answers: Caller, replays: Caller, through: Caller, draws: Caller
    ) -> None:
        self._process, self._answers, self._replays = process, answers, replays
        self._through, self._draws = through, draws
        self._last_drawn = LastDrawn()
        self._series: tuple[PoolSeries, ...] | None = None

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

    def recorded(self, table: str) -> bool:
        """Whether a file of a table is there, whatever it holds."""
        return table in self._process.files

    def at_hand(self, index: int) -> Drawn | None:
        """A verify that was drawn before; None if it has to be read."""
        return self._last_drawn.get(index)

    def drawn(self, index: int) -> Drawn:
        """One verify whole; of a long recording whole part files are read for it."""
        found = cast("Drawn", self._draws.call("drawn", self.label, index))
        self._last_drawn.keep(index, found)
        return found

    def recomputed(self, index: int, on_progress: OnProgress) -> tuple[Recomputed, ...]:
        """A verify's result beside what the kernels make of its inputs."""
        found = self._answers.call("recomputed", self.label, index, on_told=on_progress)
        return cast("tuple[Recomputed, ...]", found)

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last recorded seq; (0, 0) without any event."""
        pieces = [piece for table in self._process.files for piece in self._process.pieces(table)]
        return min((p.first for p in pieces), default=0), max((p.last for p in pieces), default=0)

    @property
    def events_recorded(self) -> int:
        """How many events there are, by the files' footers."""
        return self._process.rows

    def events(self, first_seq: int, last_seq: int) -> Iterator[Event]:
        """The recorded events of `[first_seq, last_seq]`; of a long recording whole part files are read for them."""
        yield from self._draws.call("events", self.label, first_seq, last_seq)

    def cut(self, first_seq: int, last_seq: int, most: int) -> Cut:
        """The events of `[first_seq, last_seq]` as JSON Lines, at most so many characters."""
        return cast("Cut", self._draws.call("cut", self.label, first_seq, last_seq, most))

    def history(self, question: Question) -> History:
        """The answer to a question about a slot, page, row or request."""
        return cast("History", self._answers.call("history", self.label, question))

    @property
    def pools(self) -> tuple[str, ...]:
        """Pools whose pages can be followed, the main one first."""
        return followed_pools(self.info)

    def moments(self, on_progress: OnProgress) -> Moments:
        """The ends of its steps."""
        return cast("Moments", self._replays.call("moments", self.label, on_told=on_progress))

    def give_up(self) -> None:
        """End what is being worked out; whoever waits is told."""
        for caller in (self._replays, self._through, self._answers, self._draws):
            caller.cancel()

    def series(self, on_progress: OnProgress) -> tuple[PoolSeries, ...]:
        """The pools over time, the main one first."""
        if self._series is None:
            self._series = self._through.call("series", self.label, on_told=on_progress)
        return self._series

    def page_map(self, seq: int, pool: str | None, on_progress: OnProgress) -> PageMap:
        """Owner and use of every page of a pool after event `seq`."""
        found = self._replays.call("page_map", self.label, seq, pool, on_told=on_progress)
        return cast("PageMap", found)

    def holders(self, seq: int, page: int, pool: str | None) -> PageHolders:
        """Everybody who holds a page then."""
        return cast("PageHolders", self._replays.call("holders", self.label, seq, page, pool))

    def state(self, seq: int, on_progress: OnProgress) -> Snapshot:
        """All pools and running requests after event `seq`."""
        return cast("Snapshot", self._replays.call("state", self.label, seq, on_told=on_progress))


def inspection_of(
    recording: Recording,
    check: Callable[[OnTold], CheckResult],
    laws: Mapping[str, Law],
    *,
    stop_check: Callable[[], None] = lambda: None,
    give_up_check: Callable[[], None] = lambda: None,
    again: bool = False,
) -> Inspection:
    """Look at `recording`; nothing is read yet. `again`: it has grown, and is looked at until it has grown further."""
    make = partial(Answers, recording.path)
    soon = not again and sum(process.rows for process in recording.processes) >= LONG
    answers, replays, through = (Apart(make, nice=nice) for nice in (FOR_KEYS, FOR_KEYS, FOR_CHARTS))
    draws = Apart(make, nice=FOR_KEYS) if soon else Within(make)

    def stop() -> None:
        stop_check()
        for each in (answers, replays, through, draws):
            each.close()

    def prepare() -> None:
        for each in (draws, replays):
            each.begin()

    return Inspection(
        name=recording.path.name,
        processes=tuple(
            RecordedProcess(process, answers, replays, through, draws) for process in recording.processes
        ),
        check=check,
        give_up_check=give_up_check,
        stop=stop,
        prepare=prepare if soon else lambda: None,
        laws=laws,
        ended=recording.manifest.get("clean_shutdown") is True,
        problems=tuple(str(problem) for problem in recording.problems),
    )
