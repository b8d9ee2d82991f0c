"""What a finding is about in the engine's own terms, so that it can be known again in another run.

Rule, pool, and the event that shows the breach: its table and what the engine says in words there, such as the reason of a
free and the function that called. No step, request, row, slot or page, which differ from run to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from speckv_debug.model.finding import Finding
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.view import Recording

WORDS: Mapping[str, tuple[str, ...]] = {
    "accept": ("algorithm", "layout", "sampling"),
    "move": ("target_source", "caller"),
    "compact": ("tensor",),
    "forward": ("mode", "group"),
    "alloc": ("reason", "site"),
    "free": ("reason", "site", "form"),
    "free_group": ("action",),
    "table_write": (),
    "row_alloc": (),
    "row_free": (),
    "lengths": ("cause", "cut"),
    "reserve": (),
    "cache": ("action",),
    "release": ("kind",),
    "swa_map": (),
    "page_ref": ("action",),
    "state_clear": (),
    "state_commit": (),
    "state_access": ("action",),
    "transfer": ("action", "direction"),
    "pool_stat": (),
    "drop": ("table", "why"),
    "note": ("level",),
}
"""Table → columns that hold words of the engine, the same in every run."""


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
    events: dict[tuple[str, int], tuple[str, tuple[tuple[str, str], ...]]] = {}
    for process in recording.processes:
        wanted = {spot.seq for spot in spots if spot.process == process.label}
        for seq, event in _events(process, wanted):
            events.setdefault((process.label, seq), event)
    nothing: tuple[str, tuple[tuple[str, str], ...]] = ("", ())
    return [
        Fingerprint(spot.rule, spot.pool or "", *events.get((spot.process, spot.seq), nothing))
        for spot in spots
    ]


def _events(
    process: Any, wanted: Iterable[int]
) -> Iterable[tuple[int, tuple[str, tuple[tuple[str, str], ...]]]]:
    """`seq` → table and words of the events that are there."""
    looked_for = np.array(sorted(wanted), dtype=np.int64)
    for table in process.present if len(looked_for) else ():
        rows = np.flatnonzero(np.isin(process.seqs[table], looked_for))
        if len(rows):
            columns = Columns(process.columns(table, *WORDS[table]))
            for row in rows.tolist():
                said = ((name, columns.text_at(name, row)) for name in WORDS[table])
                yield int(process.seqs[table][row]), (table, tuple((n, w) for n, w in said if w is not None))
