"""The first screenful in words: is it broken, where, since which step, and what could not be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import CheckResult, Finding, Severity
from speckv_debug.model.left_out import left_out
from speckv_debug.model.text import amount, cut, plural
from speckv_debug.viewers.html.markup import Html, element

MARKS = {"findings": "✗ found", "clean": "✓ {}", "unknown": "? can't be judged"}
NOTHING = Html()
MOST_UNKNOWN, MOST_REQUESTS, MOST_OF_NAME, MOST_OF_REASON = 3, 6, 120, 400


def mark(result: CheckResult, damaged: bool) -> str:
    """The verdict in two words; no tick where there is doubt."""
    if doubt := result.doubt(damaged):
        return f"? {result.nothing_found}, {doubt}"
    return MARKS[result.verdict].format(result.nothing_found)


def headline(
    result: CheckResult,
    roots: Sequence[RootCause],
    about: str = "",
    judged: Html = NOTHING,
    *,
    damaged: bool = False,
    several: bool = False,
) -> Html:
    """Verdict, the first root cause in a sentence, since when, who, how much was judged, and what was recorded.

    `about` is the recording in a line; `judged` what was judged and what was not, which opens below its line; `damaged`: a file of the recording is lost. `several`: a finding has
    to name its process.
    """
    lines = [
        element("p", mark(result, damaged), class_="verdict"),
        element("h1", _sentence(result, roots, several)),
    ]
    lines += [element("p", f"{name}: {said}.", class_="lead") for name, said in left_out(result)]
    lines += [element("p", line, class_="lead") for line in _counts(result, roots)]
    open_ = result.verdict == "unknown"
    lines += [
        element(
            "details", element("summary", _judged(result)), judged, id="judged", class_="lead", open=open_
        )
    ]
    lines += [element("p", about, class_="recording")] if about else []
    look = "unknown" if result.doubt(damaged) else result.verdict
    return element("header", *lines, class_=f"headline {look}")


def place_of(finding: Finding, several: bool) -> str:
    """Process (where there are `several`), step and request, or whatever else is known of where it is."""
    parts: list[tuple[str, object]] = [("process", finding.process)] if several else []
    parts += [("step", finding.step), ("request", finding.request)]
    if finding.request is None:
        parts += [("row", finding.row), ("pool", finding.pool)]
    if all(value is None for name, value in parts if name != "process"):
        parts.append(("event", finding.first_seq))
    return ", ".join(f"{name} {value}" for name, value in parts if value is not None)


def _sentence(result: CheckResult, roots: Sequence[RootCause], several: bool) -> str:
    if result.verdict == "findings":
        place = place_of(roots[0].finding, several)
        return f"{place[0].upper()}{place[1:]}: {roots[0].finding.message}"
    if result.verdict == "clean":
        rules = sum(count > 0 for count in result.checked.values())
        return f"{result.nothing_found.capitalize()} in {amount(result.judged_instances, 'instance')} of {amount(rules, 'rule')}"
    reasons = _reasons(result)
    return f"Nothing could be judged: {reasons[0] if reasons else 'no event that a rule judges was recorded'}"


def _counts(result: CheckResult, roots: Sequence[RootCause]) -> Iterator[str]:
    bad = [root for root in roots if root.finding.severity is not Severity.NOTE]
    if bad:
        steps = [root.finding.step for root in bad if root.finding.step is not None]
        consequences = sum(each.severity is not Severity.NOTE for root in bad for each in root.consequences)
        since = f", since step {min(steps)}" if steps else ""
        follows = f", {amount(consequences, 'consequence')}" if consequences else ""
        yield f"{amount(len(bad), 'root cause')}{follows}{since}{_requests(bad)}."
    if notes := sum(finding.severity is Severity.NOTE for finding in result.findings):
        yield f"{amount(notes, 'note')}; notes never change the verdict."


def _requests(bad: Sequence[RootCause]) -> str:
    """Whose requests the findings name, those of the root causes first."""
    findings = [root.finding for root in bad] + [each for root in bad for each in root.consequences]
    names = list(dict.fromkeys(each.request for each in findings if each.request is not None))
    more = f" and {len(names) - MOST_REQUESTS} more" if len(names) > MOST_REQUESTS else ""
    return (
        f"; {plural(len(names), 'request')} {', '.join(cut(name, MOST_OF_NAME) for name in names[:MOST_REQUESTS])}{more}"
        if names
        else ""
    )


def _judged(result: CheckResult) -> str:
    rules = sum(count > 0 for count in result.checked.values())
    if not result.instances:
        return "Nothing was judged."
    said = f"Judged {result.judged_percent:g} % of {amount(result.instances, 'instance')}, by {amount(rules, 'rule')}. "
    if not result.unknown:
        return f"{said}Nothing was left unjudged."
    why = [cut(reason, MOST_OF_REASON) for reason in _reasons(result)]
    more = f"; and {amount(len(why) - MOST_UNKNOWN, 'more reason')}" if len(why) > MOST_UNKNOWN else ""
    return f"{said}Can't be judged: {'; '.join(why[:MOST_UNKNOWN])}{more}."


def _reasons(result: CheckResult) -> list[str]:
    """Why instances can't be judged, the reason with the most instances first, with the rules it concerns."""
    weight: Counter[str] = Counter()
    rules: dict[str, list[str]] = {}
    for entry in result.unknown:
        weight[entry.why] += entry.instances
        rules.setdefault(entry.why, []).append(entry.rule)
    ordered = sorted(weight, key=lambda why: (-weight[why], why))
    return [f"{_names(rules[why])} ({why})" for why in ordered]


def _names(rules: list[str]) -> str:
    names = sorted(set(rules))
    return ", ".join(names) if len(names) <= MOST_UNKNOWN else f"{len(names)} rules"
