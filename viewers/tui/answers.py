"""What is worked out of a recording on demand: histories, page maps, states; made to live in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from speckv_debug.model.events import Event
from speckv_debug.recording.jsonl_cut import Cut, cut_jsonl
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.holders import PageHolders
from speckv_debug.replay.looking_points import looking_points
from speckv_debug.replay.page_map import PageMap, PageMaps
from speckv_debug.replay.pool_series import PoolSeries, pool_series
from speckv_debug.replay.snapshots import Snapshot, snapshot
from speckv_debug.replay.verify_details import Recomputed
from speckv_debug.replay.verify_windows import VerifyWindows
from speckv_debug.viewers.tui.drawn import Drawn
from speckv_debug.viewers.tui.history import History, Question
from speckv_debug.viewers.tui.inspection import OnProgress, part_of
from speckv_debug.viewers.tui.moments import Moments
from speckv_debug.viewers.tui.recorded_history import answer

MOST = 1 << 40
"""Steps of a recording that are told apart: all."""


READ = 0.25
"""The share of reading in the time that a pool over time takes."""


class Answers:
    """Of one recording; methods name the process by its label, and their last argument is told the progress."""

    def __init__(self, path: Path) -> None:
        self._recording = Recording.open(path)
        self._maps: dict[str, PageMaps] = {}
        self._verifies: dict[str, VerifyWindows] = {}
        self._series: dict[str, tuple[PoolSeries, ...]] = {}

    def history(self, label: str, question: Question, on_progress: OnProgress) -> History:
        """The answer to a question about a slot, page, row or request.

        Raises:
            UsageError: There can be no answer.
        """
        with self._lean(label) as process:
            return answer(process, question)

    def events(self, label: str, first_seq: int, last_seq: int, on_progress: OnProgress) -> tuple[Event, ...]:
        """The recorded events of `[first_seq, last_seq]`."""
        return tuple(self._process(label).events(first_seq, last_seq))

    def cut(self, label: str, first_seq: int, last_seq: int, most: int, on_progress: OnProgress) -> Cut:
        """The events of `[first_seq, last_seq]` as JSON Lines, at most so many characters."""
        return cut_jsonl(self._process(label), first_seq, last_seq, most)

    def moments(self, label: str, on_progress: OnProgress) -> Moments:
        """The ends of all steps."""
        points = looking_points(self._of(label).read(on_progress), MOST)
        return Moments(points.axis, points.x, points.seq)

    def series(self, label: str, on_progress: OnProgress) -> tuple[PoolSeries, ...]:
        """The pools over time, the main one first; none if no event moves pages."""
        if label not in self._series:
            timeline = self._of(label).read(part_of(on_progress, 0, READ))
            self._series[label] = pool_series(timeline, on_progress=part_of(on_progress, READ, 1))
        return self._series[label]

    def recomputed(self, label: str, index: int, on_progress: OnProgress) -> tuple[Recomputed, ...]:
        """A verify's result beside what the kernels make of its inputs; imports torch."""
        return self._windows(label).recomputed(index)

    def drawn(self, label: str, index: int, on_progress: OnProgress) -> Drawn:
        """One verify whole; the parts of the recording around it are read for it, and kept for those beside it."""
        windows = self._windows(label)
        return Drawn(windows.verify(index), windows.compacted(index))

    def page_map(self, label: str, seq: int, pool: str | None, on_progress: OnProgress) -> PageMap:
        """The map of a pool after event `seq`.

        Raises:
            UsageError: No such pool, or its pages can't be followed.
        """
        return self._of(label).at(seq, pool, on_progress)

    def holders(
        self, label: str, seq: int, page: int, pool: str | None, on_progress: OnProgress
    ) -> PageHolders:
        """Everybody who holds a page after event `seq`."""
        return self._of(label).holders(seq, page, pool)

    def state(self, label: str, seq: int, on_progress: OnProgress) -> Snapshot:
        """All pools and running requests after event `seq`."""
        with self._lean(label) as process:
            return snapshot(process, seq, ledger=self._of(label).timeline.at(seq, on_progress))

    def _windows(self, label: str) -> VerifyWindows:
        if label not in self._verifies:
            self._verifies[label] = VerifyWindows.of(self._process(label))
        return self._verifies[label]

    def _of(self, label: str) -> PageMaps:
        if label not in self._maps:
            self._maps[label] = PageMaps(self._process(label))
        return self._maps[label]

    def _process(self, label: str) -> ProcessRecording:
        return next(process for process in self._recording.processes if process.label == label)

    @contextmanager
    def _lean(self, label: str) -> Iterator[ProcessRecording]:
        """The process; tables that were read whole are let go of behind."""
        process = self._process(label)
        yield process
        process.forget()
