"""Finds the verify that shows a finding."""

from __future__ import annotations

import numpy as np

from speckv_debug.model.finding import Finding
from speckv_debug.recording.reader import Recording
from speckv_debug.replay.steps import StepIndex
from speckv_debug.viewers.html.findings import Shown

LASTING = ("LEN", "OWN")
"""Families about a request's room, for which the last verify before the finding still says something."""


class RecordedVerifies:
    """The verifies of a recording, each process read when it is first asked for."""

    def __init__(self, recording: Recording) -> None:
        self._processes = {process.label: process for process in recording.processes}
        self._steps: dict[str, StepIndex] = {}

    def of(self, finding: Finding) -> Shown | None:
        """The verify of the finding's own event, of its step and request, or the request's last one before."""
        steps = self._of_process(finding.process)
        if steps is None or not len(steps):
            return None
        at = int(np.searchsorted(steps.seq, finding.first_seq))
        if at < len(steps) and steps.seq[at] == finding.first_seq:
            return Shown(steps.verify(at), exact=True)
        if finding.step is not None and (same := steps.find(finding.step, finding.request)):
            return Shown(steps.verify(same[0]), exact=True)
        return self._earlier(steps, finding, at)

    def _of_process(self, label: str) -> StepIndex | None:
        if label not in self._steps and label in self._processes:
            self._steps[label] = StepIndex(self._processes[label])
        return self._steps.get(label)

    @staticmethod
    def _earlier(steps: StepIndex, finding: Finding, before: int) -> Shown | None:
        if finding.request is None or finding.rule.partition("-")[0] not in LASTING:
            return None
        for index in range(before - 1, -1, -1):
            if steps.request[index] == finding.request:
                return Shown(steps.verify(index), exact=False)
        return None
