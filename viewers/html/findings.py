"""Findings as sections: place, message, law, drawing, numbers, evidence, then what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import Evidence, Finding, Severity
from speckv_debug.model.text import amount
from speckv_debug.viewers.html.headline import place_of
from speckv_debug.viewers.html.markup import Html, element, facts, joined, table, text
from speckv_debug.viewers.html.proof import Place, prove

NOTHING = Html()
MOST_ROOTS, MOST_CONSEQUENCES, MOST_ROWS = 50, 20, 100


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


def findings_section(
    roots: Sequence[RootCause],
    laws: Mapping[str, Law],
    places: Places,
    strip: Html = NOTHING,
    *,
    several: bool = False,
) -> Html:
    """All root causes with their consequences; what is left out is counted in words.

    `strip`, all steps with the bad ones marked, stands below the first proof. `several`: each finding has to name its process.
    """
    if not roots:
        return Html()
    cards = [
        joined(
            [
                _title(number, roots),
                _root(number, root, laws, places, strip if number == 1 else NOTHING, several),
            ]
        )
        for number, root in enumerate(roots[:MOST_ROOTS], 1)
    ]
    hidden = len(roots) - len(cards)
    option = element("code", "speckv-debug check --format json")
    more = element(
        "p", f"{amount(hidden, 'more root cause')} not shown here; ", option, " lists all.", class_="aside"
    )
    tail = [more] if hidden else []
    return element("section", *cards, *tail, id="findings")


def kind_of(root: RootCause) -> str:
    """What a root cause stands under: a note is no fault."""
    return "Notes" if root.finding.severity is Severity.NOTE else "Where it went wrong"


def _title(number: int, roots: Sequence[RootCause]) -> Html:
    """The heading above the first fault and above the first note; they come in this order."""
    kind = kind_of(roots[number - 1])
    return Html() if number > 1 and kind == kind_of(roots[number - 2]) else element("h2", kind)


def _root(
    number: int, root: RootCause, laws: Mapping[str, Law], places: Places, strip: Html, several: bool
) -> Html:
    finding, name = root.finding, f"finding-{number}"
    drawn, notes = _drawing(finding, places)
    above = number == 1 and finding.severity is not Severity.NOTE  # the page's title has its message
    proof = [drawn] if drawn else []
    body = [
        element("h3", _heading(finding, several), id=name),
        element("p", finding.message, class_="message") if not above else Html(),
        _repeats(finding),
        element("div", *proof, _numbers(finding, laws.get(finding.rule)), class_="proof" if proof else None),
        *notes,
        strip,
        _proof(finding),
        _consequences(root.consequences, several),
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


def _drawing(finding: Finding, places: Places) -> tuple[Html, list[Html]]:
    """The pictures, and what has to be said about them."""
    place = places.of(finding)
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


def _proof(finding: Finding) -> Html:
    tables = [*map(_evidence, finding.evidence)]
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


def _consequences(findings: Sequence[Finding], several: bool) -> Html:
    if not findings:
        return Html()
    entries = [_consequence(finding, several) for finding in findings[:MOST_CONSEQUENCES]]
    hidden = len(findings) - len(entries)
    if hidden:
        entries.append(element("li", f"{hidden} more, not shown here"))
    title = element("summary", f"Follows from it: {amount(len(findings), 'finding')}")
    return element("details", title, element("ul", *entries), open=True, class_="consequences")


def _consequence(finding: Finding, several: bool) -> Html:
    words = [element("code", finding.rule), text(f" {place_of(finding, several)}: {finding.message}")]
    if finding.repeats:
        words.append(text(f" (and {amount(finding.repeats, 'more time', 'more times')})"))
    if not finding.evidence:
        return element("li", *words)
    proof = element("details", element("summary", "Evidence"), _proof(finding))
    return element("li", *words, proof)
