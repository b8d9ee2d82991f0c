"""One root cause as a card: place, message, drawing beside law and numbers, evidence, then what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import Evidence, Finding, Severity
from speckv_debug.model.text import amount
from speckv_debug.viewers.html.budget import OPTION
from speckv_debug.viewers.html.headline import place_of
from speckv_debug.viewers.html.markup import Html, element, facts, table, text
from speckv_debug.viewers.html.place_tables import place_tables
from speckv_debug.viewers.html.proof import Place, prove

MOST_CONSEQUENCES, MOST_ROWS = 20, 100


class Law(Protocol):
    """A rule in words, as `checks.rule.Rule` has them."""

    @property
    def law(self) -> str:
        """The law in one sentence."""

    @property
    def look_at(self) -> str:
        """The engine function to look at, or empty."""


class Places(Protocol):
    """Finds what shows a finding."""

    def of(self, finding: Finding) -> Place:
        """Its verify, its pages and what else the recording has around it."""


def cards(
    number: int, root: RootCause, laws: Mapping[str, Law], places: Places, strip: Html, several: bool
) -> Iterator[Html]:
    """The card, and the same with less and less of what a reader can do without; each says what it leaves out.

    `strip`, all steps with the bad ones marked, stands below the proof. `several`: each finding has to name its process.
    """
    place = places.of(root.finding)
    drawing = (*_drawing(root.finding, place), list(place_tables(root.finding, place)))
    for proven, follows in ((True, True), (True, False), (False, False)):
        consequences = _consequences(root.consequences, several, proven=follows)
        yield _card(number, root, laws, drawing, strip, several, consequences, proven=proven)


def _card(
    number: int,
    root: RootCause,
    laws: Mapping[str, Law],
    drawing: tuple[Html, list[Html], list[Html]],
    strip: Html,
    several: bool,
    consequences: Html,
    *,
    proven: bool,
) -> Html:
    finding, name, (drawn, notes, around) = root.finding, f"finding-{number}", drawing
    above = number == 1 and finding.severity is not Severity.NOTE  # the page's title has its message
    proof = [drawn] if drawn else []
    body = [
        element("h3", _heading(finding, several), id=name),
        element("p", finding.message, class_="message") if not above else Html(),
        _repeats(finding),
        element("div", *proof, _numbers(finding, laws.get(finding.rule)), class_="proof" if proof else None),
        *notes,
        strip,
        _proof(finding, proven=proven),
        _around(around, proven=proven),
        consequences,
    ]
    return element("article", *body, class_=f"finding {finding.severity}", aria_labelledby=name, tabindex=-1)


def _heading(finding: Finding, several: bool) -> Html:
    badge = element("span", finding.severity.value, class_=f"badge {finding.severity}")
    rule = element("code", finding.rule)
    return element("span", badge, rule, element("span", place_of(finding, several)), class_="heading")


def _repeats(finding: Finding) -> Html:
    if not finding.repeats:
        return Html()
    return element(
        "p", f"And {amount(finding.repeats, 'more time', 'more times')} in the same way.", class_="aside"
    )


def _drawing(finding: Finding, place: Place) -> tuple[Html, list[Html]]:
    """The pictures, and what has to be said about them."""
    shown, drawn, notes = place.shown, prove(finding, place), []
    if shown is not None and drawn:
        if not shown.exact:
            notes.append(f"Drawn of a verify: the last one before it, step {shown.step.step}.")
        if shown.step.simulated:
            notes.append("Acceptance was simulated in this step: its path is no real one.")
    return drawn, [element("p", note, class_="aside") for note in notes]


def _numbers(finding: Finding, law: Law | None) -> Html:
    process = element("code", finding.process)
    pairs: list[tuple[str, object]] = [("law", law.law)] if law else []
    pairs += [("due", finding.expected)] if finding.expected else []
    pairs += [("engine", finding.actual)] if finding.actual else []
    pairs += [("about", finding.about)] if finding.about else []
    pairs += [("look at", element("code", law.look_at))] if law and law.look_at else []
    return facts([*pairs, ("where", element("span", process, *_where(finding)))])


def _where(finding: Finding) -> Iterator[str]:
    for name in ("step", "request", "row", "epoch", "pool"):
        if (value := getattr(finding, name)) is not None:
            yield f" · {name} {value}"
    for name in ("slots", "pages"):
        if numbers := getattr(finding, name):
            yield f" · {name} {_listed(numbers)}"
    if finding.ranks:
        yield " · ranks " + ", ".join(f"tp{r.tp} pp{r.pp} dp{r.dp}" for r in finding.ranks)
    yield f" · event {finding.first_seq}"


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:12]))
    return shown if len(numbers) <= 12 else f"{shown} and {len(numbers) - 12} more"


def _proof(finding: Finding, *, proven: bool) -> Html:
    """The tables; `proven` is false where they are left out."""
    if finding.evidence and not proven:
        words = f"{amount(len(finding.evidence), 'table')} left out for size; "
        return element("p", words, element("code", OPTION), " has all.", class_="aside")
    tables = [*map(_evidence, finding.evidence)]
    return element("div", *tables, class_="evidence") if tables else Html()


def _around(tables: Sequence[Html], *, proven: bool) -> Html:
    """The numbers of what is drawn of the recording around the finding."""
    if tables and not proven:
        return element("p", "The numbers of these drawings are left out for size.", class_="aside")
    return element("div", *tables, class_="evidence") if tables else Html()


def _evidence(evidence: Evidence) -> Html:
    """The first rows and every marked one, up to a number of each."""
    kept = sorted({*range(min(MOST_ROWS, len(evidence.rows))), *evidence.marked[:MOST_ROWS]})
    marked = [at for at, index in enumerate(kept) if index in evidence.marked]
    grid = table(evidence.columns, [evidence.rows[i] for i in kept], caption=evidence.title, marked=marked)
    if len(kept) == len(evidence.rows):
        return grid
    more = f"{amount(len(evidence.rows) - len(kept), 'more row')} not shown here."
    return element("div", grid, element("p", more, class_="aside"))


def _consequences(findings: Sequence[Finding], several: bool, *, proven: bool) -> Html:
    if not findings:
        return Html()
    entries = [_consequence(finding, several, proven) for finding in findings[:MOST_CONSEQUENCES]]
    hidden = len(findings) - len(entries)
    if hidden:
        entries.append(element("li", f"{hidden} more, not shown here"))
    title = element("summary", f"Follows from it: {amount(len(findings), 'finding')}")
    return element("details", title, element("ul", *entries), open=True, class_="consequences")


def _consequence(finding: Finding, several: bool, proven: bool) -> Html:
    words = [element("code", finding.rule), text(f" {place_of(finding, several)}: {finding.message}")]
    if finding.repeats:
        words.append(text(f" (and {amount(finding.repeats, 'more time', 'more times')})"))
    if not finding.evidence:
        return element("li", *words)
    if not proven:
        return element("li", *words, _proof(finding, proven=False))
    proof = element("details", element("summary", "Evidence"), _proof(finding, proven=True))
    return element("li", *words, proof)
