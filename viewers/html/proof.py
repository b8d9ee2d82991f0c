"""The drawings that prove a finding: of its evidence, of its verify, and of the pages that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from speckv_debug.model.events import Release
from speckv_debug.model.finding import Evidence, Finding
from speckv_debug.model.text import amount
from speckv_debug.model.verify import KVBounds, VerifyStep
from speckv_debug.viewers.html.axis import Lane, Point, Span, draw_axis
from speckv_debug.viewers.html.cells import Strip, draw_cells
from speckv_debug.viewers.html.drawing import LANES, STRIPS, TREE, of_step
from speckv_debug.viewers.html.evidence_axes import committed, measured
from speckv_debug.viewers.html.evidence_cells import compared
from speckv_debug.viewers.html.evidence_links import linked, peers
from speckv_debug.viewers.html.evidence_lives import PEER, is_life, lived
from speckv_debug.viewers.html.given_back import draw_given_back
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.pages import Moment, draw_pages

Due = tuple[tuple[str, Callable[[int], str | None]], ...]
MOST_LIVES, MOST_SLOTS = 2, 4
LETTERED = (TREE[0], LANES[0], STRIPS[0])
LETTERS = (
    "R: root row of the draft tree, the last accepted token before. A, B, C, …: the other rows of the verify in their order. "
    "X: bonus. p: position. Small numbers: tokens; above the lanes: slots."
)
PLACE_FIRST = ("OWN-PAGESAFE", "OWN-CONSERVE", "LOC-RANGE", "RPL-RESERVE")
"""Rules whose proof is what the recording has around the finding, more than its evidence."""
VERIFY_FIRST = ("ACC-CHAIN", "ACC-SHIFT", "MOV-PAIR", "MOV-MISSING")
"""Rules whose proof is the verify itself; of the others its drawing follows that of the evidence."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A verify to draw beside a finding; `exact` is false if it is the last one before it."""

    step: VerifyStep
    exact: bool


@dataclass(frozen=True, slots=True)
class Place:
    """What the recording has around a finding.

    Attributes:
        shown: The verify.
        pages, moments: The pages that it names, and their map before, at and after.
        release: The end of the request's hold.
        bound: One more than the highest slot of its pool.
        lengths: The host's lengths that it is about.
        named: Slots that the row of its request names then, by position; -1 where none.
    """

    shown: Shown | None = None
    pages: tuple[int, ...] = ()
    moments: tuple[Moment, ...] = ()
    release: Release | None = None
    bound: int | None = None
    named: tuple[int, ...] = ()
    lengths: KVBounds | None = None


def prove(finding: Finding, place: Place) -> Html:
    """The pictures in the order in which they prove most; a picture without its data is left out."""
    shown = place.shown
    beside, evident = list(_of_place(finding, place)), list(_of_evidence(finding, _due(finding, shown)))
    told = [*beside, *evident] if finding.rule in PLACE_FIRST else [*evident, *beside]
    step = list(_of_verify(finding, shown.step)) if shown else []
    mapped = [("Pages around it", draw_pages(place.moments, place.pages))] if place.moments else []
    if finding.rule in VERIFY_FIRST:
        everything = [*step, *told, *mapped]
    elif finding.rule.partition("-")[0] in ("OWN", "LOC"):
        everything = [*told[:1], *mapped, *told[1:], *step]
    else:
        everything = [*told, *step, *mapped]
    drawn = [(title, picture) for title, picture in everything if picture]
    figures = [element("figure", element("figcaption", title), picture) for title, picture in drawn]
    named = any(title.startswith(LETTERED) for title, _ in drawn)
    letters = [element("p", element("span", LETTERS), class_="legend letters")] if named else []
    return element("div", *figures, *letters, class_="drawings") if figures else Html()


def _of_verify(finding: Finding, step: VerifyStep) -> Iterator[tuple[str, Html]]:
    """The drawings of a verify; each caption says whose it is and of which step."""
    who = f"row {step.row}" if step.request is None else f"request {step.request}"
    when = "" if step.step is None else f", step {step.step}"
    for title, picture in of_step(step, finding):
        yield f"{title} · {who}{when}", picture


def _of_place(finding: Finding, place: Place) -> Iterator[tuple[str, Html]]:
    if place.release is not None:
        wrong = finding.rule == "OWN-PAGESAFE" and place.release.seq == finding.first_seq
        yield "What the release gives up", draw_given_back(place.release, wrong=wrong)
    if place.lengths is not None:
        yield "Lengths as the host has them", _order(place.lengths)
    if place.named and finding.slots:
        yield "What is locked and what the row names", _locked(finding.slots, place.named)
    if finding.rule == "LOC-RANGE" and (bound := place.bound) is not None and finding.slots:
        named = sorted(set(finding.slots))
        slots = [*(slot for slot in named if slot >= bound), *(slot for slot in named if slot < bound)]
        more = f" ({amount(len(slots) - MOST_SLOTS, 'more slot')} named)" if len(slots) > MOST_SLOTS else ""
        pool = Lane(f"pool {finding.pool}", (Span(0, bound, "plain"),))
        points = [Point(bound, "ends at"), *(Point(slot, "slot", True) for slot in slots[:MOST_SLOTS])]
        yield f"Slots of the pool{more}", draw_axis([pool], points, "Slots of the pool", "slot")


def _order(told: KVBounds) -> Html:
    """Committed within allocated, or beyond it."""
    wrong = told.committed > told.allocated
    beyond = (Span(told.allocated, told.committed, "wrong"),) if wrong else ()
    lanes = [
        Lane("allocated", (Span(0, told.allocated, "reserve"),)),
        Lane("committed", (Span(0, told.committed, "committed"), *beyond)),
    ]
    points = [Point(told.allocated, "allocated"), Point(told.committed, "committed", wrong)]
    return draw_axis(lanes, points, "Lengths as the host has them")


def _locked(locked: tuple[int, ...], named: tuple[int, ...]) -> Html:
    """Position by position; the row is right where it names what the request locks."""
    shown = range(min(len(locked), len(named)))
    wrong = frozenset(k for k in shown if named[k] >= 0 and named[k] != locked[k])
    if not wrong:
        return Html()
    lanes = (
        ("locked", tuple(str(locked[k]) for k in shown)),
        ("row names", tuple(str(named[k]) if named[k] >= 0 else None for k in shown)),
    )
    strip = Strip(key="position", keys=tuple(map(str, shown)), lanes=lanes, wrong=wrong)
    return draw_cells(strip, "What is locked and what the row names")


def _due(finding: Finding, shown: Shown | None) -> Due:
    """What the engine's own account says of each place of accept_index, as far as the law compares with it."""
    if shown is None or not shown.exact:
        return ()
    step = shown.step
    if finding.rule == "ACC-COUNT" and (length := step.accept_len) is not None:
        return ((f"accept_len {length}", lambda k: "a row" if k < length else "-1"),)
    if finding.rule == "ACC-BLOCK" and (rows := len(step.tree.tokens)):
        start = step.block_start
        return (("due", lambda k: str(start) if k == 0 else f"{start}…{start + rows - 1}"),)
    return ()


def _of_evidence(finding: Finding, due: Due) -> Iterator[tuple[str, Html]]:
    if any(e.columns == PEER for e in finding.evidence):
        yield "Mapping as it stands", peers(finding)
    lives = 0
    for evidence in finding.evidence:
        if finding.rule == "LEN-COMMIT":
            yield "What was committed", committed(evidence, finding.expected or "")
        if is_life(evidence):
            lives += 1
            if lives > MOST_LIVES:
                continue
        yield _capital(evidence), _drawn(evidence, finding, due)
    if (hidden := lives - MOST_LIVES) > 0:
        yield "More lives", element("p", f"{amount(hidden, 'more table')} below, not drawn.", class_="aside")


def _drawn(evidence: Evidence, finding: Finding, due: Due) -> Html:
    return (
        compared(evidence, due) or measured(evidence) or linked(evidence, finding) or lived(evidence, finding)
    )


def _capital(evidence: Evidence) -> str:
    return evidence.title[:1].upper() + evidence.title[1:]
