"""Finds what shows a finding: the verify, and the map of the pages that it names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from speckv_debug.model.events import Release
from speckv_debug.model.finding import Finding
from speckv_debug.model.verify import KVBounds, VerifyStep
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.looking_points import newest_steps
from speckv_debug.replay.page_map import PageMap, PageMaps
from speckv_debug.replay.pool_series import follows_holders
from speckv_debug.replay.pool_state import Use
from speckv_debug.replay.ragged import Int64s
from speckv_debug.replay.verify_table import VerifyTable
from speckv_debug.viewers.html.evidence_lives import LOCK
from speckv_debug.viewers.html.given_back import release_of
from speckv_debug.viewers.html.pages import Moment
from speckv_debug.viewers.html.proof import Place, Shown

LASTING = ("LEN", "OWN")
"""Families about a request's room, for which the last verify before the finding still says something."""
MAPPED = ("OWN", "LOC-OWNED", "LOC-PAD", "LOC-UNIQ")
"""Families and rules about who holds pages."""


class RecordedPlaces:
    """The verifies and pages of a recording, each process read when it is first asked for."""

    def __init__(self, recording: Recording) -> None:
        self._processes = {process.label: process for process in recording.processes}
        self._steps: dict[str, VerifyTable] = {}
        self._maps: dict[str, PageMaps] = {}
        self._newest: dict[str, Int64s] = {}

    def of(self, finding: Finding) -> Place:
        """Everything that is known around a finding."""
        pages, moments = self.pages(finding)
        return Place(
            shown=self.verify(finding),
            pages=pages,
            moments=moments,
            release=self.release(finding),
            bound=self.bound(finding),
            named=self.named(finding),
            lengths=self.lengths(finding),
        )

    def verify(self, finding: Finding) -> Shown | None:
        """The verify of the finding's own event, of its step and request (or row), or the request's last one before.

        A finding that names neither request nor row has none: any verify of its step would be another's.
        """
        steps = self.steps_of(finding.process)
        if steps is None or not len(steps):
            return None
        at = int(np.searchsorted(steps.seq, finding.first_seq))
        if finding.rule == "MOV-MISSING" and finding.slots:
            # Its own event is the one that reads the rows; those were left behind by the verify before.
            left = self._last_of(steps, finding.request, at)
            return None if left is None else Shown(steps.verify(left), exact=True)
        if at < len(steps) and steps.seq[at] == finding.first_seq:
            return Shown(steps.verify(at), exact=True)
        if (own := self._own(steps, finding)) is not None:
            return Shown(own, exact=True)
        return self._earlier(steps, finding, at)

    def pages(self, finding: Finding) -> tuple[tuple[int, ...], tuple[Moment, ...]]:
        """The pages that a finding names, and their map before its event, at it and at the end of its step."""
        process = self._processes.get(finding.process)
        if process is None or not ({finding.rule, finding.rule.partition("-")[0]} & set(MAPPED)):
            return (), ()
        pool = finding.pool or process.info.main_pool
        maps = self.maps_of(process)
        if pool not in maps.pools:
            return (), ()
        pages = finding.pages or _pages_of(process, pool, finding.slots or ())
        if not pages:
            return (), ()
        seq, last = finding.first_seq, finding.first_seq
        if finding.step is not None:
            last = max(seq, self._end_of(process, finding.step))
        when = {"before": seq - 1, "at the event": seq} | ({"end of the step": last} if last > seq else {})
        followed = follows_holders(process, pool)
        return tuple(pages), tuple(
            Moment(words, _map(maps, at, pool, followed)) for words, at in when.items()
        )

    def _end_of(self, process: ProcessRecording, step: int) -> int:
        """The last event that moves pages before one names a later step, -1 without any."""
        timeline = self.maps_of(process).timeline
        if process.label not in self._newest:
            self._newest[process.label] = newest_steps(timeline)
        at = int(np.searchsorted(self._newest[process.label], step, side="right")) - 1
        return -1 if at < 0 else int(timeline.order.seq[at])

    def release(self, finding: Finding) -> Release | None:
        """The release that a finding about a request's end is at."""
        process = self._processes.get(finding.process)
        return None if process is None else release_of(process, finding)

    def bound(self, finding: Finding) -> int | None:
        """One more than the highest slot of the pool that a finding names, None if that is not known."""
        process = self._processes.get(finding.process)
        pool = None if process is None else process.info.pool(finding.pool)
        return None if pool is None else pool.id_bound

    def lengths(self, finding: Finding) -> KVBounds | None:
        """The host's lengths that a finding about their order is at."""
        process = self._processes.get(finding.process)
        if process is None or finding.rule != "LEN-ORDER":
            return None
        columns = Columns(process.columns("lengths", "committed", "allocated"))
        at = np.flatnonzero(columns.ints("seq") == finding.first_seq)
        told = (
            [columns.int_at(name, int(at[0])) for name in ("committed", "allocated")]
            if len(at)
            else [None, None]
        )
        return None if told[0] is None or told[1] is None else KVBounds(committed=told[0], allocated=told[1])

    def named(self, finding: Finding) -> tuple[int, ...]:
        """The slots that a request's row names at its event, where the finding is about what the request locks."""
        process = self._processes.get(finding.process)
        about_lock = any(evidence.columns == LOCK for evidence in finding.evidence)
        if process is None or not about_lock or finding.request is None:
            return ()
        tenure = self.maps_of(process).timeline.at(finding.first_seq).requests.get(finding.request)
        return () if tenure is None else tuple(tenure.slots[: tenure.extent].tolist())

    def steps_of(self, label: str) -> VerifyTable | None:
        """All verifies of a process, None if there is no such process."""
        if label not in self._steps and label in self._processes:
            self._steps[label] = VerifyTable(self._processes[label])
        return self._steps.get(label)

    def maps_of(self, process: ProcessRecording) -> PageMaps:
        """The page maps of a process."""
        return self._maps.setdefault(process.label, PageMaps(process))

    @staticmethod
    def _own(steps: VerifyTable, finding: Finding) -> VerifyStep | None:
        """The verify of the finding's step that is of its request, or of its row and epoch where it names no request."""
        if finding.step is None or (finding.request is None and finding.row is None):
            return None
        for index in steps.find(finding.step, finding.request):
            verify = steps.verify(index)
            row = finding.request is not None or verify.row == finding.row
            if row and (finding.epoch is None or verify.epoch in (None, finding.epoch)):
                return verify
        return None

    @staticmethod
    def _earlier(steps: VerifyTable, finding: Finding, before: int) -> Shown | None:
        if finding.request is None or finding.rule.partition("-")[0] not in LASTING:
            return None
        last = RecordedPlaces._last_of(steps, finding.request, before)
        return None if last is None else Shown(steps.verify(last), exact=False)

    @staticmethod
    def _last_of(steps: VerifyTable, request: str | None, before: int) -> int | None:
        """The request's last verify of those before the index `before`."""
        if request is None or request not in steps.request.names:
            return None
        code = list(steps.request.names).index(request)
        found = np.flatnonzero(steps.request.codes[:before] == code)
        return int(found[-1]) if len(found) else None


def _map(maps: PageMaps, seq: int, pool: str, followed: bool) -> PageMap:
    """Where holders are not followed a page that is out is granted: nobody knows whether it has one."""
    found = maps.at(seq, pool)
    if followed:
        return found
    return replace(found, use=np.where(found.use == Use.UNHELD, np.int8(Use.GRANTED), found.use))


def _pages_of(process: ProcessRecording, pool: str, slots: tuple[int, ...]) -> tuple[int, ...]:
    size = next((each.page_size for each in process.info.pools if each.name == pool), None) or 1
    return tuple(sorted({slot // size for slot in slots}))
