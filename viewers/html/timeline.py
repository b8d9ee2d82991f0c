"""All steps as one strip, the first bad one marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow.compute as pc

from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import Severity
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.html.markup import Html, element

HEIGHT, TOP, TALL = 58, 22, 14
MARKS_A_PERCENT, MOST_NAMED = 4, 12
"""Marks are three pixels wide: so many of them fill a percent of a wide page."""


def step_range(recording: Recording) -> tuple[int, int] | None:
    """Lowest and highest step of all events, None if no event has one."""
    found = []
    for process in recording.processes:
        for name in process.present:
            both = pc.min_max(process.columns(name, "step")["step"]).as_py()
            found += [step for step in both.values() if step is not None]
    return (min(found), max(found)) if found else None


def timeline(steps: tuple[int, int] | None, roots: Sequence[RootCause]) -> Html:
    """Root causes as tall marks, what follows from them as short ones; the first bad step in words."""
    bad = [root for root in roots if root.finding.severity is not Severity.NOTE]
    if steps is None:
        return Html()
    first, last = steps
    shapes = [
        element("title", _title(first, last, bad)),
        element("rect", x="0", y=TOP, width="100%", height=TALL, rx=3, class_="all"),
        *_marks(first, last, bad),
        _at(0, TOP + TALL + 16, f"step {first}", "small"),
        _at(100, TOP + TALL + 16, f"step {last}", "small"),
    ]
    return element("svg", *shapes, class_="timeline", width="100%", height=HEIGHT, role="img")


def _title(first: int, last: int, bad: Sequence[RootCause]) -> str:
    causes, later = _bad_steps(bad)
    said = [f"Steps {first} to {last}"]
    said += [f"✗ first bad step {causes[0]}", f"root causes at {_listed(causes)}"] if causes else []
    return "; ".join([*said, f"what follows at {_listed(later)}"] if later else said)


def _listed(steps: Sequence[int]) -> str:
    """Steps with their word, the first ones where they are many."""
    more = f" and {len(steps) - MOST_NAMED:,} more" if len(steps) > MOST_NAMED else ""
    return f"{'step' if len(steps) == 1 else 'steps'} {', '.join(map(str, steps[:MOST_NAMED]))}{more}"


def _bad_steps(bad: Sequence[RootCause]) -> tuple[list[int], list[int]]:
    """Steps of root causes, and those of what follows from them alone; ascending."""
    causes = {root.finding.step for root in bad if root.finding.step is not None}
    later = {each.step for root in bad for each in root.consequences if each.step is not None}
    return sorted(causes), sorted(later - causes)


def _marks(first: int, last: int, bad: Sequence[RootCause]) -> Iterator[Html]:
    causes, later = _bad_steps(bad)
    for share in _apart(later, first, last):
        yield _mark(share, TOP + 4, TALL - 8, "after")
    for share in _apart(causes, first, last):
        yield _mark(share, TOP - 4, TALL + 8, "cause")
    if causes:
        yield _at(_share(causes[0], first, last), TOP - 8, f"✗ first bad step {causes[0]}", "wrong")


def _apart(steps: Sequence[int], first: int, last: int) -> list[float]:
    """Where the marks stand in percent; those that nobody could tell apart are one."""
    return list(
        dict.fromkeys(round(_share(step, first, last) * MARKS_A_PERCENT) / MARKS_A_PERCENT for step in steps)
    )


def _share(step: int, first: int, last: int) -> float:
    return 100 * (step - first) / (last - first) if last > first else 50.0


def _mark(share: float, y: float, height: float, class_: str) -> Html:
    return element(
        "rect", x=f"{share:.2f}%", y=y, width=3, height=height, transform="translate(-1.5)", class_=class_
    )


def _at(share: float, y: float, words: str, class_: str) -> Html:
    anchor = "start" if share < 20 else "end" if share > 80 else "middle"
    return element("text", words, x=f"{share:.2f}%", y=y, text_anchor=anchor, class_=class_)
