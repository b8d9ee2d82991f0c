"""A finding as text, and where its cut of the recording begins and ends."""

from __future__ import annotations

from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.outline import Entry
from speckv_debug.viewers.tui.widgets.finding_detail import finding_lines

WIDTH = 100
MOST = 60_000
"""Characters of a cut: terminals take no more over the escape code for the clipboard."""
BESIDE = 40
"""Events before and behind the step of a finding."""


def as_text(inspection: Inspection, entry: Entry) -> str:
    """What the findings screen shows of it, without colours and without the way on; control characters are escaped."""
    law = inspection.laws.get(entry.finding.rule)
    lines = [line.plain.rstrip() for line in finding_lines(entry, law, WIDTH)][:-1]
    return "\n".join([f"{inspection.name} · {inspection.facts}", *lines]).rstrip() + "\n"


def span_of(entry: Entry, lookup: StepLookup | None) -> tuple[int, int]:
    """First and last event of the cut around a finding: its step's verifies, its own event, and some on both sides."""
    seqs = [entry.finding.first_seq]
    if lookup is not None and entry.finding.step is not None:
        seqs += [int(lookup.steps.seq[index]) for index in lookup.at_step(entry.finding.step)]
    return max(0, min(seqs) - BESIDE), max(seqs) + BESIDE
