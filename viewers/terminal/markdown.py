"""A check as Markdown: short, with the numbers, for an issue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from speckv_debug.model.causes import RootCause, root_causes, worst_first
from speckv_debug.model.consequences import summary
from speckv_debug.model.finding import CheckResult, Finding
from speckv_debug.model.left_out import left_out
from speckv_debug.model.text import amount
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.terminal.headline import headline
from speckv_debug.viewers.terminal.markdown_text import block, plain
from speckv_debug.viewers.terminal.table import table_lines
from speckv_debug.viewers.terminal.text import judged_line, verdict_line, where

SHOWN_ROOTS, SHOWN_ROWS = 5, 12


def render(recording: Recording, result: CheckResult, out: TextIO) -> None:
    """Write it; the same recording and result give the same characters.

    Args:
        recording: What was checked.
        result: What the check says.
        out: Where it goes.
    """
    roots = worst_first(root_causes(result.findings))
    parts = [f"**{plain(_mark(result, recording))}** · {plain(headline(recording))}"]
    parts.append(plain(" · ".join(_verdict(result))))
    parts += [f"{name}: {plain(said)}" for name, said in left_out(result)]
    several = result.names_processes(len(recording.processes))
    for root in roots[:SHOWN_ROOTS]:
        parts += _root(root, result, several)
    if hidden := len(roots[SHOWN_ROOTS:]):
        parts.append(f"{amount(hidden, 'more root cause')}: `speckv-debug check --verbose` shows all.")
    if any(" characters\\]" in part for part in parts):
        parts.append("Overlong texts are cut: `speckv-debug check --format json` has them whole.")
    out.write("\n\n".join(parts) + "\n")


def _mark(result: CheckResult, recording: Recording) -> str:
    """The verdict, with a tick only where nothing speaks against it."""
    if result.verdict == "findings":
        return "✗ found"
    if result.verdict == "unknown":
        return "? can't be judged"
    doubt = result.doubt(recording.damaged)
    return f"? {result.nothing_found}, {doubt}" if doubt else f"✓ {result.nothing_found}"


def _verdict(result: CheckResult) -> Iterator[str]:
    if result.verdict != "clean":
        yield verdict_line(result)
    yield judged_line(result)


def _root(root: RootCause, result: CheckResult, several: bool) -> Iterator[str]:
    finding = root.finding
    place = where(finding, several)
    yield f"### {finding.rule}{plain(place)} ({finding.severity})"
    yield plain(finding.message)
    if facts := "\n".join(_facts(finding, result)):
        yield facts
    for evidence in finding.evidence:
        yield plain(evidence.title)
        yield block(table_lines(evidence, SHOWN_ROWS))
    if then := summary(root.consequences):
        yield f"Then: {plain(then)}"


def _facts(finding: Finding, result: CheckResult) -> Iterator[str]:
    law = result.laws.get(finding.rule)
    known = (
        ("law", law and law.law),
        ("due", finding.expected),
        ("engine", finding.actual),
        ("about", finding.about),
        ("look at", law and law.look_at),
        ("again", finding.repeats and f"{amount(finding.repeats, 'more instance')} of the same"),
    )
    yield from (f"- {name}: {plain(str(said))}" for name, said in known if said)
