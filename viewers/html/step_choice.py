"""Which steps a report embeds: around each finding, those that were asked for, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import Severity
from speckv_debug.model.text import amount
from speckv_debug.replay.ragged import NULL, Int64s
from speckv_debug.replay.verify_table import VerifyTable

AROUND = 2
"""Steps before and after that of a finding."""
MOST_AROUND, MOST_ASKED = 24, 100
MOST_VERIFIES = 160
"""Verifies of all embedded steps of a page together: some ten kilobytes each."""


MOST_RUNS = 2000
Runs = list[tuple[int, int]]
"""First and last of steps without a gap."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Steps of one process.

    Attributes:
        steps: Ascending.
        verifies: Step → indices of its verifies in the `VerifyTable`, those of findings first.
        recorded: Step → how many verifies it has, embedded or not.
        left_out: In words, what is not embedded; empty if everything is.
    """

    steps: tuple[int, ...]
    verifies: dict[int, tuple[int, ...]]
    recorded: dict[int, int]
    left_out: str


def runs_of(index: VerifyTable) -> Runs | None:
    """The steps with a verify, None where they have too many gaps to list."""
    known = np.unique(index.step[index.step != NULL])
    starts = np.flatnonzero(np.diff(known, prepend=known[:1] - 2) != 1)
    if len(starts) > MOST_RUNS:
        return None
    ends = np.append(starts[1:], len(known))[: len(starts)] - 1
    return list(zip(known[starts].tolist(), known[ends].tolist(), strict=True))


def choose(
    index: VerifyTable,
    roots: Sequence[RootCause],
    asked: tuple[int, int] | None,
    parts: int = 1,
    verifies: int | None = None,
) -> Chosen:
    """The steps around the root causes of this process, or those of the interval `[A, B]` that was asked for.

    `parts`: processes that share the room of the page. `verifies`: how many of them at most, where there is less room.
    """
    known = np.unique(index.step[index.step != NULL])
    wanted = _asked(known, asked) if asked else _around(known, roots)
    room = MOST_VERIFIES // parts if verifies is None else verifies
    steps = wanted[: min(room, MOST_ASKED // parts if asked else MOST_AROUND)]
    named = {root.finding.request for root in roots}
    found = {step: sorted(index.find(step), key=lambda at: index.request[at] not in named) for step in steps}
    recorded = {step: len(found[step]) for step in steps}
    shares = _shares(recorded, room)
    kept = {step: tuple(found[step][: shares[step]]) for step in steps}
    hidden = sum(recorded.values()) - sum(shares.values())
    return Chosen(
        tuple(sorted(steps)),
        kept,
        recorded,
        _left_out(len(known), int(np.isin(wanted, known).sum()), wanted, steps, hidden, asked),
    )


def _shares(recorded: dict[int, int], room: int) -> dict[int, int]:
    """How many verifies of each step fit; what a small step leaves goes to the larger ones."""
    shares = dict[int, int]()
    for done, step in enumerate(sorted(recorded, key=lambda step: recorded[step])):
        shares[step] = min(recorded[step], room // (len(recorded) - done))
        room -= shares[step]
    return shares


def _asked(known: Int64s, asked: tuple[int, int]) -> list[int]:
    first, last = asked
    found: list[int] = known[(known >= first) & (known <= last)].tolist()
    return found


def _around(known: Int64s, roots: Sequence[RootCause]) -> list[int]:
    """The worst findings' steps first, each with its neighbours; where nothing is found the first steps."""
    at = [root.finding.step for root in roots if root.finding.severity is not Severity.NOTE]
    found: dict[int, None] = {}
    for step in at:
        if step is not None:
            middle = int(np.searchsorted(known, step))
            near = known[max(0, middle - AROUND) : middle + AROUND + 1].tolist()
            found |= dict.fromkeys([step, *sorted(near, key=lambda each: abs(each - step))])
    return list(found) or known[: 2 * AROUND + 1].tolist()


def _left_out(
    known: int,
    with_verify: int,
    wanted: Sequence[int],
    steps: Sequence[int],
    hidden: int,
    asked: tuple[int, int] | None,
) -> str:
    said = []
    if asked and not steps:
        said.append(f"no step from {asked[0]} to {asked[1]} has a verify")
    if more := len(wanted) - len(steps):
        said.append(
            f"{amount(more, 'more step')} {'asked for' if asked else 'around findings'} left out for size"
        )
    if rest := known - with_verify:
        said.append(f"{amount(rest, 'other step')} of {known:,} with a verify")
    if hidden:
        said.append(f"{amount(hidden, 'verify', 'verifies')} of the steps shown, for size")
    return "; ".join(said)
