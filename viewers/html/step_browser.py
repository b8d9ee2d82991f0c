"""Steps one by one: what each request drafted, accepted, moved and holds, as the inspector shows a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import Finding, Severity
from speckv_debug.model.text import amount, printable
from speckv_debug.model.verify import VerifyStep
from speckv_debug.model.verify_words import verify_facts
from speckv_debug.recording.reader import Recording
from speckv_debug.replay.verify_details import CompactedTensor, Recomputed
from speckv_debug.replay.verify_table import VerifyTable
from speckv_debug.viewers.html.budget import LARGEST, Budget, size_of
from speckv_debug.viewers.html.compaction import draw_compactions
from speckv_debug.viewers.html.drawing import of_every_step, said_of
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.places import RecordedPlaces
from speckv_debug.viewers.html.shown_processes import ShownProcess, hidden_processes, shown_processes
from speckv_debug.viewers.html.step_choice import MOST_VERIFIES, Chosen, choose
from speckv_debug.viewers.html.tabs import tabs
from speckv_debug.viewers.html.verify_tables import move_table, replay_table, strip_table, tree_table

NOT_REPLAYED = "What the bundled kernels make of each verify is not shown: replay was off."


def step_section(
    recording: Recording,
    roots: Sequence[RootCause],
    places: RecordedPlaces,
    asked: tuple[int, int] | None,
    room: Budget | None = None,
    *,
    replayed: bool = False,
) -> Html:
    """The embedded steps of each process, a tab a step, and plainly what is left out and how to get it.

    `replayed`: each verify's result stands beside what the kernels make of its inputs, which imports torch.
    """
    room = room or Budget(LARGEST)
    parts = []
    serious = [root for root in roots if root.finding.severity is not Severity.NOTE]
    several = shown_processes(recording, serious)
    for at, each in enumerate(several):
        index = places.steps_of(each.process.label)
        if index is None or not len(index):
            continue
        title = (
            element("h3", "Process ", element("code", each.name)) if len(recording.processes) > 1 else Html()
        )
        share = room.left // (len(several) - at)
        parts += [title, _fitting(each, index, asked, len(several), share, replayed)]
        room.takes(parts[-1])
    if not parts:
        parts.append(element("p", "No verify was recorded.", class_="aside"))
    parts += hidden_processes(recording)
    if not replayed:
        parts.insert(0, element("p", NOT_REPLAYED, class_="aside"))
    said = element("p", "", id="told", class_="aside", role="status")
    return element("section", element("h2", "Step by step"), said, *parts, id="steps")


def _fitting(
    shown: ShownProcess,
    index: VerifyTable,
    asked: tuple[int, int] | None,
    sharing: int,
    room: int,
    replayed: bool,
) -> Html:
    """The steps of a process with as many of their verifies as there is room for."""
    most = MOST_VERIFIES // sharing
    while True:
        chosen = choose(index, shown.roots, asked, sharing, most)
        panels = [_panel(step, index, chosen, shown.roots, replayed) for step in chosen.steps]
        made = _process(shown.number, chosen, panels, _embedded(shown.roots, asked))
        if (size := size_of(made)) <= room or not most:
            return made
        most = min(most - 1, most * room // size)


def _process(number: int, chosen: Chosen, panels: Sequence[tuple[str, Html]], shown: str) -> Html:
    words = element("p", *_words(chosen, shown), class_="aside")
    if not panels:
        return element("div", words)
    return element("div", words, tabs(f"step-{number}", panels, "Steps", keys=chosen.steps))


def _panel(
    step: int, index: VerifyTable, chosen: Chosen, roots: Sequence[RootCause], replayed: bool
) -> tuple[str, Html]:
    """The name of a step's tab, and what it shows."""
    broken = [root.finding for root in roots if root.finding.step == step]
    name = f"{step} ✗" if broken else str(step)
    return name, element("div", *_step(step, index, chosen, broken, replayed))


def _embedded(roots: Sequence[RootCause], asked: tuple[int, int] | None) -> str:
    if asked:
        return f"Embedded as asked for: steps {asked[0]} to {asked[1]}"
    if any(root.finding.step is not None for root in roots):
        return "Embedded: the steps around each finding"
    return f"Embedded: the first steps, as {'no finding names a step' if roots else 'nothing was found'}"


def _words(chosen: Chosen, shown: str) -> Iterator[Html | str]:
    if not chosen.left_out:
        yield f"{shown}. Nothing is left out."
        return
    yield f"{shown}. Not in this file: {chosen.left_out}. "
    yield element("code", "speckv-debug report RECORDING --steps A:B")
    yield " embeds steps A to B instead."


def _step(
    step: int, index: VerifyTable, chosen: Chosen, broken: Sequence[Finding], replayed: bool
) -> Iterator[Html]:
    verifies, recorded = chosen.verifies[step], chosen.recorded[step]
    part = f"{len(verifies):,} of " if len(verifies) < recorded else ""
    yield element("h3", f"Step {step}, {part}{amount(recorded, 'verify', 'verifies')}")
    for finding in broken:
        yield element("p", "✗ ", element("code", finding.rule), f" {finding.message}", class_="message")
    if not recorded:
        yield element("p", "No verify in this step.", class_="aside")
    for at in verifies:
        verify = index.verify(at)
        own = [finding for finding in broken if finding.request == verify.request]
        yield _verify(verify, index.compacted(at), own, index.recomputed(at) if replayed else ())


def _verify(
    step: VerifyStep,
    tensors: Sequence[CompactedTensor],
    findings: Sequence[Finding],
    replayed: Sequence[Recomputed],
) -> Html:
    request = f"row {step.row}" if step.request is None else f"request {printable(step.request)}"
    length = "unknown" if step.accept_len is None else step.accept_len
    head = f"{'✗ ' if findings else ''}{request}: accept length {length}"
    if step.simulated:
        head += ", simulated: no real acceptance"
    told = said_of(step, findings)
    drawn = [*of_every_step(step, told), *draw_compactions(tensors)]
    figures = [
        element("figure", element("figcaption", title), picture) for title, picture in drawn if picture
    ]
    drawings = element("div", *figures, class_="drawings")
    tables = element(
        "div",
        move_table(step, told.lost, told.kept),
        replay_table(replayed),
        _fold("The numbers of tree and strips", tree_table(step, told.notes), strip_table(step, told.kept)),
        class_="evidence",
    )
    facts = element("p", " · ".join(verify_facts(step)), class_="aside")
    summary = element("summary", head)
    return element("details", summary, facts, drawings, tables, open=bool(findings), class_="verify")


def _fold(title: str, *tables: Html) -> Html:
    return element("details", element("summary", title), *tables) if any(tables) else Html()
