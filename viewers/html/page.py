"""The report: one HTML file that says whether it is broken, where and since which step."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import TextIO

from plotly.offline import get_plotlyjs

from speckv_debug import __version__
from speckv_debug.model.causes import RootCause, root_causes, worst_first
from speckv_debug.model.described import described
from speckv_debug.model.finding import CheckResult
from speckv_debug.model.text import amount
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.html.budget import (
    ENVIRONMENT,
    FIGURES,
    FINDINGS,
    JUDGED,
    LARGEST,
    WORDS,
    Budget,
    size_of,
)
from speckv_debug.viewers.html.charts import charts_section
from speckv_debug.viewers.html.environment import environment_section, judged_tables
from speckv_debug.viewers.html.figures import Figure
from speckv_debug.viewers.html.finding_card import Law
from speckv_debug.viewers.html.findings import findings_section, kind_of
from speckv_debug.viewers.html.headline import headline, mark
from speckv_debug.viewers.html.markup import Html, data_block, data_of, element, joined, text
from speckv_debug.viewers.html.places import RecordedPlaces
from speckv_debug.viewers.html.shown_processes import ShownProcess, shown_processes
from speckv_debug.viewers.html.step_browser import step_section
from speckv_debug.viewers.html.step_choice import Runs, runs_of
from speckv_debug.viewers.html.timeline import step_range, timeline

SECTIONS = (
    ("figures", "The run"),
    ("steps", "Step by step"),
    ("environment", "Environment"),
)


def render(
    recording: Recording,
    result: CheckResult,
    out: TextIO,
    *,
    laws: Mapping[str, Law] | None = None,
    steps: tuple[int, int] | None = None,
    largest: int = LARGEST,
) -> None:
    """Write the report; the same recording and result give the same characters.

    Args:
        recording: What was checked.
        result: What the check says.
        out: Where the page goes.
        laws: Rule id → its words; a finding whose rule is not in it is shown without its law.
        steps: First and last step to embed, both included; None for those around the findings.
        largest: Bytes of the page at most; what does not fit is left out, and said so.
    """
    roots, known, places = (
        worst_first(root_causes(result.findings)),
        step_range(recording),
        RecordedPlaces(recording),
    )
    several = result.names_processes(len(recording.processes))
    title = f"{mark(result, recording.damaged)}: {recording.path.name} (speckv-debug report)"
    damaged, about = recording.damaged, _facts(recording, known)
    strip, links = timeline(known, roots), _navigation(roots)
    bare = headline(result, roots, about, damaged=damaged, several=several)
    room = _room(largest, text(title), strip, links, bare)
    judged = judged_tables(result, room.part(JUDGED))
    verdict = headline(result, roots, about, judged, damaged=damaged, several=several)
    found = findings_section(roots, laws or {}, places, strip, several=several, room=room.part(FINDINGS))
    environment = environment_section(recording, room.part(ENVIRONMENT))
    charts, figures = charts_section(recording, roots, room.part(FIGURES))
    told = _verifies(shown_processes(recording, roots), places, room)
    replayed = any(rule.startswith("RPL-") for rule in result.laws)
    steps_shown = step_section(recording, roots, places, steps, room, replayed=replayed)
    main = joined([verdict, found or strip, links, charts, steps_shown, environment], "\n")
    out.write(_page(title, joined([main, *_whole_texts(main)], "\n"), figures, told))


def _room(largest: int, *head: str) -> Budget:
    """What the scripts and the head leave of a page."""
    own = (get_plotlyjs(), *map(_asset, ("page.js", "page.css", "page.html")))
    return Budget(largest - size_of(*own, *head) - WORDS)


def _whole_texts(main: Html) -> list[Html]:
    """Where texts stand whole that are cut in the page."""
    if " characters]" not in main:
        return []
    said = "Overlong texts are cut to their beginning, with their length behind it; whole in "
    commands = [element("code", f"speckv-debug {each}") for each in ("info", "check --format json", "export")]
    return [element("p", said, joined(commands, ", "), ".", class_="aside")]


def _verifies(
    shown: Sequence[ShownProcess], places: RecordedPlaces, room: Budget
) -> Mapping[int, Runs | None]:
    """Which steps a click on a figure of each process can be told to ask for, as far as there is room to list them."""
    indices = ((each.number, places.steps_of(each.process.label)) for each in shown)
    told = {number: runs_of(index) for number, index in indices if index is not None}
    return told if room.takes(data_of(told)) else dict.fromkeys(told)


def _page(title: str, main: Html, figures: Sequence[Figure], verifies: Mapping[int, Runs | None]) -> str:
    plotly, script = get_plotlyjs(), _asset("page.js")
    return Template(_asset("page.html")).substitute(
        policy=_policy(script, plotly),
        version=__version__,
        title=text(title),
        style=_asset("page.css"),
        main=main,
        data=data_block("figures-data", {"figures": [_data(each) for each in figures], "verifies": verifies}),
        plotly=plotly,
        script=script,
    )


def _data(figure: Figure) -> dict[str, object]:
    return {"id": figure.id, "span": figure.span, **figure.body}


def _policy(*scripts: str) -> str:
    """Only these two scripts may run, and nothing may be loaded, whatever a recording's text says."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (files("speckv_debug.viewers.html") / name).read_text(encoding="utf-8")


def _navigation(roots: Sequence[RootCause]) -> Html:
    found = [("findings", kind_of(roots[0]))] if roots else []
    links = [element("a", word, href=f"#{id}") for id, word in (*found, *SECTIONS)]
    return element("nav", *links, aria_label="Sections")


def _facts(recording: Recording, steps: tuple[int, int] | None) -> str:
    """Name, engine, algorithm, page size, ranks and size of the recording, as far as they are known."""
    parts = [recording.path.name, *described([process.info for process in recording.processes])]
    parts.append(amount(len(recording.processes), "process", "processes"))
    if steps is not None:
        parts.append(f"steps {steps[0]} to {steps[1]}")
    return " · ".join(parts)
