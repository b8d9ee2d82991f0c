"""All steps as one strip, the first bad one marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow.compute as pc

from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import Severity
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.html.markup import Html, element

HEIGHT, TOP, TALL = 58, 22, 14


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
        element("title", f"Steps {first} to {last}"),
        element("rect", x="0", y=TOP, width="100%", height=TALL, rx=3, class_="all"),
        *_marks(first, last, bad),
        _at(0, TOP + TALL + 16, f"step {first}", "small"),
        _at(100, TOP + TALL + 16, f"step {last}", "small"),
    ]
    return element("svg", *shapes, class_="timeline", width="100%", height=HEIGHT, role="img")


def _marks(first: int, last: int, bad: Sequence[RootCause]) -> Iterator[Html]:
    known = {root.finding.step for root in bad}
    later = {finding.step for root in bad for finding in root.consequences} - known
    for step in sorted(step for step in later if step is not None):
        yield _mark(_share(step, first, last), TOP + 4, TALL - 8, "after")
    causes = sorted(step for step in known if step is not None)
    for step in causes:
        yield _mark(_share(step, first, last), TOP - 4, TALL + 8, "cause")
    if causes:
        yield _at(_share(causes[0], first, last), TOP - 8, f"✗ first bad step {causes[0]}", "wrong")


def _share(step: int, first: int, last: int) -> float:
    return 100 * (step - first) / (last - first) if last > first else 50.0


def _mark(share: float, y: float, height: float, class_: str) -> Html:
    return element(
        "rect", x=f"{share:.2f}%", y=y, width=3, height=height, transform="translate(-1.5)", class_=class_
    )


def _at(share: float, y: float, words: str, class_: str) -> Html:
    anchor = "start" if share < 20 else "end" if share > 80 else "middle"
    return element("text", words, x=f"{share:.2f}%", y=y, text_anchor=anchor, class_=class_)
