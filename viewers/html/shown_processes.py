"""Which processes a page shows: those with findings first, and how many are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speckv_debug.model.causes import RootCause
from speckv_debug.model.text import amount
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.viewers.html.markup import Html, element

MOST_PROCESSES = 8


@dataclass(frozen=True, slots=True)
class ShownProcess:
    """A process with its place in the recording, of which the page's ids are made, and its own faults, worst first."""

    number: int
    process: ProcessRecording
    roots: tuple[RootCause, ...]

    @property
    def name(self) -> str:
        """Its label, with a sign where something was found in it."""
        return f"{self.process.label} ✗" if self.roots else self.process.label


def shown_processes(recording: Recording, bad: Sequence[RootCause]) -> list[ShownProcess]:
    """Those of the root causes in their order, then the others as recorded, up to a number."""
    place = {root.finding.process: at for at, root in reversed(list(enumerate(bad)))}
    order = sorted(enumerate(recording.processes), key=lambda each: place.get(each[1].label, len(bad)))
    return [
        ShownProcess(number, process, tuple(root for root in bad if root.finding.process == process.label))
        for number, process in order[:MOST_PROCESSES]
    ]


def hidden_processes(recording: Recording) -> list[Html]:
    """How many are left out, in words."""
    hidden = len(recording.processes) - MOST_PROCESSES
    if hidden <= 0:
        return []
    said = f"{amount(hidden, 'more process', 'more processes')} not shown; those with findings come first."
    return [element("p", said, class_="aside")]
