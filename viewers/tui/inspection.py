"""What the inspector looks at: a recording's processes, and the laws' words for findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from speckv_debug.model.events import Event
from speckv_debug.model.finding import CheckResult
from speckv_debug.model.process import Process
from speckv_debug.model.text import printable
from speckv_debug.recording.jsonl_cut import Cut
from speckv_debug.replay.holders import PageHolders
from speckv_debug.replay.page_map import PageMap
from speckv_debug.replay.pool_series import PoolSeries
from speckv_debug.replay.snapshots import Snapshot
from speckv_debug.replay.verify_details import Recomputed
from speckv_debug.viewers.tui.drawn import Drawn
from speckv_debug.viewers.tui.history import History, Question
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.moments import Moments

OnProgress = Callable[[float], None]
OnTold = Callable[[float | CheckResult], None]


def part_of(on_progress: OnProgress, first: float, last: float) -> OnProgress:
    """Told the share of a part of the work, tells that of all of it; the part goes from `first` to `last`."""
    return lambda share: on_progress(first + share * (last - first))


@dataclass(frozen=True, slots=True)
class Law:
    """A rule in words: its sentence and the engine function to look at."""

    sentence: str
    look_at: str = ""


class InspectedProcess(Protocol):
    """One recorded process as the screens need it."""

    @property
    def label(self) -> str: ...

    @property
    def info(self) -> Process: ...

    @property
    def lookup(self) -> StepLookup:
        """All its verifies; the first access reads them."""

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last recorded seq; (0, 0) without any event."""

    def recorded(self, table: str) -> bool:
        """Whether a file of a table is there, whatever it holds."""

    def at_hand(self, index: int) -> Drawn | None:
        """A verify as `drawn`, if it need not be read."""

    def drawn(self, index: int) -> Drawn:
        """One verify whole; slow where the parts of the recording around it have to be read."""

    def recomputed(self, index: int, on_progress: OnProgress) -> tuple[Recomputed, ...]:
        """A verify's result beside what the kernels make of its inputs; slow the first time."""

    @property
    def events_recorded(self) -> int:
        """How many events there are, without reading them."""

    def events(self, first_seq: int, last_seq: int) -> Iterator[Event]:
        """The recorded events of `[first_seq, last_seq]`."""

    def cut(self, first_seq: int, last_seq: int, most: int) -> Cut:
        """The events of `[first_seq, last_seq]` as JSON Lines, at most so many characters."""

    def history(self, question: Question) -> History:
        """The answer to a question about a slot, page, row or request.

        Raises:
            UsageError: There can be no answer.
        """

    @property
    def pools(self) -> tuple[str, ...]:
        """Pools whose pages can be followed, the main one first."""

    def moments(self, on_progress: OnProgress) -> Moments:
        """The ends of its steps."""

    def give_up(self) -> None:
        """End what is being replayed for it; whoever waits is told."""

    def series(self, on_progress: OnProgress) -> tuple[PoolSeries, ...]:
        """The pools over time, the main one first; none if no event moves pages."""

    def page_map(self, seq: int, pool: str | None, on_progress: OnProgress) -> PageMap:
        """Owner and use of every page of a pool (the main one if None) after event `seq`.

        Raises:
            UsageError: No such pool, or its pages can't be followed.
        """

    def holders(self, seq: int, page: int, pool: str | None) -> PageHolders:
        """Everybody who holds a page then."""

    def state(self, seq: int, on_progress: OnProgress) -> Snapshot:
        """All pools and running requests after event `seq`."""


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """A recording to look at.

    Attributes:
        name: The recording's file name.
        processes: In the order of the recording.
        check: Judges the recording; slow, runs beside the screen. Tells the share that is done, and what was found so far.
        give_up_check: Ends the check that is running, which raises `Cancelled`; nothing where none is.
        stop: Ends all that runs for the screens in processes of their own.
        prepare: Starts the processes that keys will need, so that the first key need not wait for them.
        laws: Rule id → its words.
        reopen: Looks at the same recording anew, where it is followed while it grows.
        ended: Whether the recording says that it is complete.
        problems: What the reader could not read.
    """

    name: str
    processes: tuple[InspectedProcess, ...]
    check: Callable[[OnTold], CheckResult]
    give_up_check: Callable[[], None] = lambda: None
    stop: Callable[[], None] = lambda: None
    prepare: Callable[[], None] = lambda: None
    laws: Mapping[str, Law] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    reopen: Callable[[], Inspection] | None = None
    ended: bool = False

    @property
    def events_recorded(self) -> int:
        """Of all processes."""
        return sum(process.events_recorded for process in self.processes)

    def process(self, label: str) -> InspectedProcess:
        """The process of that label."""
        return next(process for process in self.processes if process.label == label)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of all processes."""
        return tuple(process.label for process in self.processes)

    @property
    def facts(self) -> str:
        """What ran, from the first process: `sglang 0.5.23 · EAGLE topk 2 · page 128`."""
        return facts_of(self.processes[0].info) if self.processes else ""


def facts_of(info: Process) -> str:
    """Engine, algorithm and page size of a process, as far as they were recorded."""
    settings = info.settings
    algorithm = str(settings.get("algorithm") or "")
    if algorithm and settings.get("topk") is not None:
        algorithm += f" topk {settings['topk']}"
    pool = info.pool(None)
    page = f"page {pool.page_size}" if pool and pool.page_size else ""
    engine = " ".join(part for part in (info.engine, info.engine_version) if part)
    return " · ".join(printable(part) for part in (engine, algorithm, page) if part)
