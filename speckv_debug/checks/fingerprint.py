"""What a finding is about in the engine's own terms, so that it can be known again in another run.

Rule, pool, and the event that shows the breach: its table and what the engine says in words there, such as the reason of a
free and the function that called. No step, request, row, slot or page, which differ from run to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speckv_debug.model.finding import Finding
from speckv_debug.replay.event_words import NO_EVENT, EventWords, words_at
from speckv_debug.replay.view import Recording


@dataclass(frozen=True, slots=True, order=True)
class Fingerprint:
    """Rule, pool and event of a finding; empty where there is none. `words` are pairs of column and text."""

    rule: str
    pool: str = ""
    event: str = ""
    words: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a finding, or one that a note counts, stands."""

    rule: str
    process: str
    pool: str | None
    seq: int


def spot_of(finding: Finding) -> Spot:
    """Where a finding stands."""
    return Spot(finding.rule, finding.process, finding.pool, finding.first_seq)


def fingerprints(recording: Recording, spots: Sequence[Spot]) -> list[Fingerprint]:
    """The fingerprint of each."""
    events: dict[tuple[str, int], EventWords] = {}
    for process in recording.processes:
        wanted = {spot.seq for spot in spots if spot.process == process.label}
        found = words_at(process, wanted)
        events.update({(process.label, seq): event for seq, event in found.items()})
    return [
        Fingerprint(spot.rule, spot.pool or "", *events.get((spot.process, spot.seq), NO_EVENT))
        for spot in spots
    ]
