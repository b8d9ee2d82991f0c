"""The section of figures of each process: where they stand, what they show, the numbers in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import Severity
from speckv_debug.model.text import amount, cut
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.viewers.html.budget import LARGEST, Budget
from speckv_debug.viewers.html.caveats import caveats
from speckv_debug.viewers.html.chart import Chart, words
from speckv_debug.viewers.html.figures import (
    Figure,
    Mark,
    accept_figure,
    distribution,
    distribution_figure,
    lengths_figure,
)
from speckv_debug.viewers.html.markup import Html, data_of, element, table, text
from speckv_debug.viewers.html.run_charts import event_charts, pool_charts, request_chart
from speckv_debug.viewers.html.series import (
    MOST_CHANGES,
    MOST_POINTS,
    MOST_REQUESTS,
    Accepts,
    Lengths,
    accepts,
    lengths,
)
from speckv_debug.viewers.html.shown_processes import ShownProcess, hidden_processes, shown_processes
from speckv_debug.viewers.html.tabs import tabs

MOST_OF_TITLE = 200


def charts_section(
    recording: Recording, roots: Sequence[RootCause], room: Budget | None = None
) -> tuple[Html, list[Figure]]:
    """The section, and the figures that the page's script draws into it; several processes stand in tabs.

    A figure that there is no room for stands as words.
    """
    room = room or Budget(LARGEST)
    panels: list[tuple[str, Html]] = []
    figures: list[Figure] = []
    several = shown_processes(recording, [r for r in roots if r.finding.severity is not Severity.NOTE])
    for each in several:
        shown, drawn = _process(each, len(several), room)
        panels.append((each.name, shown))
        figures += drawn
    parts = [tabs("process", panels, "Processes")] if len(panels) > 1 else [panel for _, panel in panels]
    parts += hidden_processes(recording)
    script = element(
        "noscript", element("p", "The figures need JavaScript; all findings are readable without.")
    )
    section = element("section", element("h2", "The run"), script, *parts, id="figures")
    return section, figures


def _process(shown: ShownProcess, sharing: int, room: Budget) -> tuple[Html, list[Figure]]:
    number, process, bad = shown.number, shown.process, [root.finding for root in shown.roots]
    marks = [Mark(f.step, f.rule) for f in bad if f.step is not None]
    named = [f.request for f in bad if f.request is not None]
    parts: list[Chart | Html] = [
        *_accepts(number, process, marks),
        *request_chart(number, process, named),
        *_lengths(number, process, named, marks, sharing),
        *pool_charts(number, process, marks, sharing),
        *event_charts(number, process, marks),
    ]
    kept = [part if room.takes(*_bytes(part)) else _left_out(part) for part in parts]
    figures = [part.figure for part in kept if isinstance(part, Chart)]
    framed = (part.framed() if isinstance(part, Chart) else part for part in kept)
    return element("div", *framed, class_="charts"), figures


def _bytes(part: Chart | Html) -> tuple[str, ...]:
    """What a figure adds to the page: its frame and its data."""
    return (part.framed(), data_of(part.figure.body)) if isinstance(part, Chart) else (part,)


def _left_out(part: Chart | Html) -> Html:
    return words(f"{cut(part.title, MOST_OF_TITLE)}: left out for size.") if isinstance(part, Chart) else part


def _accepts(number: int, process: ProcessRecording, marks: Sequence[Mark]) -> Iterator[Chart | Html]:
    accepted = accepts(process)
    yield from caveats(process, "accept")
    if len(accepted.over_steps) or len(accepted.simulated):
        figure = accept_figure(f"accept-{number}", accepted, marks)
        yield Chart(figure, "Accept length over time", _accept_words(accepted))
    else:
        yield words("No verify with an accept length was recorded.")
    if accepted.counts:
        figure = distribution_figure(f"distribution-{number}", accepted)
        yield Chart(figure, "Accept lengths", _distribution_words(accepted))


def _lengths(
    number: int, process: ProcessRecording, named: list[str], marks: Sequence[Mark], parts: int
) -> Iterator[Chart | Html]:
    held = lengths(process, named, MOST_REQUESTS // parts)
    yield from caveats(process, "lengths")
    if not held.lives:
        yield words("No lengths were recorded.")
        return
    shown = next((request for request in named if request in held.lives), None)
    figure = lengths_figure(f"lengths-{number}", held, marks, shown)
    chooser = _chooser(figure.id, held, shown)
    yield Chart(figure, "Committed, allocated, reserve", _lengths_words(held), (chooser,), wide=True)


def _accept_words(accepted: Accepts) -> Html:
    said = [
        f"A point is the mean over {_point(accepted.axis, accepted.span)}, the band reaches from lowest to highest."
    ]
    if simulated := int(accepted.simulated["verifies"].sum()):
        said.append(
            f"{amount(simulated, 'verify', 'verifies')} with simulated acceptance marked ×, with a line from lowest to highest, in no mean or rate."
        )
    if accepted.unknown:
        said.append(f"{amount(accepted.unknown, 'verify', 'verifies')} without a recorded accept length.")
    return element("p", " ".join(said), class_="aside")


def _point(axis: str, span: int) -> str:
    noun = "step" if axis == "step" else "event"
    return f"the verifies of one {noun}" if span == 1 else f"the verifies of {span:,} {noun}s"


def _distribution_words(accepted: Accepts) -> Html:
    said = f"Mean {accepted.mean:.2f} accepted rows over {amount(accepted.verifies, 'verify', 'verifies')}, root included."
    found = [
        (int(words) if words.isdigit() else words, count)
        for _, words, count in distribution(accepted.counts)
        if count
    ]
    rows = [(words, count, f"{100 * count / accepted.verifies:.1f} %") for words, count in found]
    numbers = table(("accepted rows", "verifies", "share"), rows)
    return element("div", element("p", said, class_="aside"), _fold("The numbers", numbers))


def _lengths_words(held: Lengths) -> Html:
    said = ["Solid: committed, dotted: allocated, tinted: the reserve between them (of a single request)."]
    if held.requests > len(held.lives):
        said.append(
            f"{len(held.lives)} of {held.requests:,} requests are drawn: those that a finding names, "
            "then those with the most changes."
        )
    thinned = [who for who in held.lives if held.changes[who] > MOST_CHANGES]
    if thinned:
        said.append(
            f"{amount(len(thinned), 'request')} with more than {MOST_CHANGES} changes: "
            f"the lowest and highest of each of {MOST_POINTS} spans are drawn."
        )
    return element("p", " ".join(said), class_="aside")


def _chooser(id: str, held: Lengths, shown: str | None) -> Html:
    options = [element("option", "all requests", value="all", selected=shown is None)]
    for number, request in enumerate(held.lives):
        options.append(element("option", request, value=number, selected=request == shown))
    select = element("select", *options, data_figure=id)
    return element("label", text("request "), select, class_="chooser")


def _fold(title: str, content: Html) -> Html:
    return element("details", element("summary", title), content)
