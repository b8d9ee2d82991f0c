"""The section of figures of each process: where they stand, what they show, the numbers in words."""

from __future__ import annotations

from collections.abc import Sequence

from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import Severity
from speckv_debug.model.text import amount
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.viewers.html.figures import (
    Figure,
    Mark,
    accept_figure,
    distribution_figure,
    lengths_figure,
)
from speckv_debug.viewers.html.markup import Html, element, table, text
from speckv_debug.viewers.html.series import MOST_CHANGES, MOST_POINTS, Accepts, Lengths, accepts, lengths

MOST_PROCESSES = 8


def charts_section(recording: Recording, roots: Sequence[RootCause]) -> tuple[Html, list[Figure]]:
    """The section, and the figures that the page's script draws into it."""
    parts: list[Html] = []
    figures: list[Figure] = []
    for number, process in enumerate(recording.processes[:MOST_PROCESSES]):
        own = [root for root in roots if root.finding.process == process.label]
        title = (
            [element("h3", "Process ", element("code", process.label))]
            if len(recording.processes) > 1
            else []
        )
        shown, drawn = _process(number, process, own)
        parts += [*title, *shown]
        figures += drawn
    if (hidden := len(recording.processes) - MOST_PROCESSES) > 0:
        parts.append(
            element("p", f"{amount(hidden, 'more process', 'more processes')} not drawn.", class_="aside")
        )
    script = element(
        "noscript", element("p", "The figures need JavaScript; all findings are readable without.")
    )
    section = element("section", element("h2", "Over time"), script, *parts, id="figures")
    return section, figures


def _process(
    number: int, process: ProcessRecording, roots: Sequence[RootCause]
) -> tuple[list[Html], list[Figure]]:
    bad = [root.finding for root in roots if root.finding.severity is not Severity.NOTE]
    marks = [Mark(f.step, f.rule) for f in bad if f.step is not None]
    named = [f.request for f in bad if f.request is not None]
    accepted, held = accepts(process), lengths(process, named)
    parts, figures = [], []
    if len(accepted.over_steps) or len(accepted.simulated):
        figures.append(accept_figure(f"accept-{number}", accepted, marks))
        parts.append(_framed(figures[-1], "Accept length over time", _accept_words(accepted)))
    if accepted.counts:
        figures.append(distribution_figure(f"distribution-{number}", accepted))
        parts.append(_framed(figures[-1], "Accept lengths", _distribution_words(accepted)))
    if not parts:
        parts.append(element("p", "No verify with an accept length was recorded.", class_="aside"))
    if held.lives:
        shown = next((request for request in named if request in held.lives), None)
        figures.append(lengths_figure(f"lengths-{number}", held, marks, shown))
        chooser = _chooser(figures[-1].id, held, shown)
        parts.append(
            _framed(figures[-1], "Committed and allocated", _lengths_words(held), chooser, wide=True)
        )
    else:
        parts.append(element("p", "No lengths were recorded.", class_="aside"))
    return [element("div", *parts, class_="charts")], figures


def _framed(figure: Figure, title: str, words: Html, *tools: Html, wide: bool = False) -> Html:
    place = element("div", id=figure.id, class_="plot", role="img", aria_label=title)
    return element(
        "figure", element("figcaption", title, *tools), place, words, class_="wide" if wide else None
    )


def _accept_words(accepted: Accepts) -> Html:
    words = [
        f"A point is the mean over {_point(accepted.axis, accepted.span)}, the band reaches from lowest to highest."
    ]
    if simulated := int(accepted.simulated["verifies"].sum()):
        words.append(
            f"{amount(simulated, 'verify', 'verifies')} with simulated acceptance marked ×, in no mean or rate."
        )
    if accepted.unknown:
        words.append(f"{amount(accepted.unknown, 'verify', 'verifies')} without a recorded accept length.")
    return element("p", " ".join(words), class_="aside")


def _point(axis: str, span: int) -> str:
    noun = "step" if axis == "step" else "event"
    return f"the verifies of one {noun}" if span == 1 else f"the verifies of {span:,} {noun}s"


def _distribution_words(accepted: Accepts) -> Html:
    said = f"Mean {accepted.mean:.2f} accepted rows over {amount(accepted.verifies, 'verify', 'verifies')}, root included."
    rows = [(n, k, f"{100 * k / accepted.verifies:.1f} %") for n, k in accepted.counts.items()]
    numbers = table(("accepted rows", "verifies", "share"), rows)
    return element("div", element("p", said, class_="aside"), _fold("The numbers", numbers))


def _lengths_words(held: Lengths) -> Html:
    words = ["Solid: committed, dotted: allocated, tinted: the reserve between them (of a single request)."]
    if held.requests > len(held.lives):
        words.append(
            f"{len(held.lives)} of {held.requests:,} requests are drawn: those that a finding names, "
            "then those with the most changes."
        )
    thinned = [who for who in held.lives if held.changes[who] > MOST_CHANGES]
    if thinned:
        words.append(
            f"{amount(len(thinned), 'request')} with more than {MOST_CHANGES} changes: "
            f"the lowest and highest of each of {MOST_POINTS} spans are drawn."
        )
    return element("p", " ".join(words), class_="aside")


def _chooser(id: str, held: Lengths, shown: str | None) -> Html:
    options = [element("option", "all requests", value="all", selected=shown is None)]
    for number, request in enumerate(held.lives):
        options.append(element("option", request, value=number, selected=request == shown))
    select = element("select", *options, data_figure=id)
    return element("label", text("request "), select, class_="chooser")


def _fold(title: str, content: Html) -> Html:
    return element("details", element("summary", title), content)
