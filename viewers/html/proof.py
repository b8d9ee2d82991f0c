"""The drawings that prove a finding: of its evidence, of its verify, and of the pages that it names."""

from __future__ import annotations

from collections.abc import Iterator

from speckv_debug.model.finding import Evidence, Finding
from speckv_debug.viewers.html.drawing import of_step
from speckv_debug.viewers.html.evidence_axes import measured
from speckv_debug.viewers.html.evidence_cells import compared
from speckv_debug.viewers.html.evidence_links import linked, peers
from speckv_debug.viewers.html.evidence_lives import PEER, is_life, lived
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.pages import Moment, draw_pages
from speckv_debug.viewers.html.verifies import Shown

MOST_LIVES = 2
VERIFY_FIRST = ("ACC-CHAIN", "ACC-SHIFT", "MOV-PAIR", "MOV-MISSING")
"""Rules whose proof is the verify itself; of the others its drawing follows that of the evidence."""
WITHOUT_VERIFY = ("OWN", "TRC")
"""Families that a verify shows nothing of, but for the room of a request."""


def prove(finding: Finding, shown: Shown | None, moments: tuple[Moment, ...], pages: tuple[int, ...]) -> Html:
    """The pictures in the order in which they prove most; a picture without its data is left out."""
    told = list(_of_evidence(finding))
    step = list(of_step(shown.step, finding)) if shown else []
    mapped = [("Pages around it", draw_pages(moments, pages))] if moments else []
    if finding.rule in VERIFY_FIRST:
        everything = [*step, *told, *mapped]
    elif finding.rule.partition("-")[0] in ("OWN", "LOC"):
        everything = [*told[:1], *mapped, *told[1:], *step]
    else:
        everything = [*told, *step, *mapped]
    figures = [element("figure", element("figcaption", title), drawn) for title, drawn in everything if drawn]
    return element("div", *figures, class_="drawings") if figures else Html()


def _of_evidence(finding: Finding) -> Iterator[tuple[str, Html]]:
    if any(e.columns == PEER for e in finding.evidence):
        yield "Mapping as it stands", peers(finding)
    lives = 0
    for evidence in finding.evidence:
        if is_life(evidence):
            lives += 1
            if lives > MOST_LIVES:
                continue
        yield _capital(evidence), _drawn(evidence, finding)


def _drawn(evidence: Evidence, finding: Finding) -> Html:
    return compared(evidence) or measured(evidence) or linked(evidence, finding) or lived(evidence, finding)


def _capital(evidence: Evidence) -> str:
    return evidence.title[:1].upper() + evidence.title[1:]
